package neural

import (
	"fmt"
	"math"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/ktrdr/ktrdr/num"
)

// machine runs the text of the generated matrix products, instruction by
// instruction. It stands in for a CPU with AVX-512 where the machine has no AVX-512, and on any
// CPU it sees what the real one does not tell: a read or a write outside the
// matrices. That it is a faithful CPU is shown by the AVX2 text, which it runs to
// the bits of the real one.
type machine struct {
	code    []instruction
	labels  map[string]int
	general map[string]int64
	vector  [16][16]float32
	args    map[int]uint64 // by offset
	locals  map[int]int64
	memory  []region
	diff    int64 // what the last comparison left: left minus right
}

type instruction struct {
	op       string
	operands []string
}

// region is a matrix at an address.
type region struct {
	base int64
	data []float32
}

// loadText reads one function of an assembly file.
func loadText(t *testing.T, file, function string) *machine {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	m := &machine{labels: map[string]int{}}
	_, body, ok := strings.Cut(string(text), "TEXT ·"+function+"(SB)")
	if !ok {
		t.Fatalf("%s has no %s", file, function)
	}
	body, _, _ = strings.Cut(body, "\nTEXT ")
	for line := range strings.Lines(body[strings.Index(body, "\n")+1:]) {
		line = strings.TrimSpace(line)
		if name, ok := strings.CutSuffix(line, ":"); ok {
			m.labels[name] = len(m.code)
			continue
		}
		if line == "" || strings.HasPrefix(line, "//") {
			continue
		}
		op, operands, _ := strings.Cut(line, " ")
		i := instruction{op: op}
		if operands != "" {
			i.operands = strings.Split(operands, ", ")
		}
		m.code = append(m.code, i)
	}
	return m
}

// at finds the element at an address; it panics if no element is there.
func (m *machine) at(address int64) *float32 {
	for _, r := range m.memory {
		if i := (address - r.base) / 4; address >= r.base && i < int64(len(r.data)) && address%4 == 0 {
			return &r.data[i]
		}
	}
	panic(fmt.Sprintf("no memory at %#x", address))
}

// address is that of an operand such as 32(R13)(R8*2).
func (m *machine) address(operand string) int64 {
	offset, rest, _ := strings.Cut(operand, "(")
	sum, _ := strconv.ParseInt(offset, 0, 64)
	for part := range strings.SplitSeq(strings.TrimSuffix(rest, ")"), ")(") {
		name, factor, scaled := strings.Cut(part, "*")
		n := int64(1)
		if scaled {
			n, _ = strconv.ParseInt(factor, 10, 64)
		}
		value, ok := m.general[name]
		if !ok {
			panic("register " + name + " was never set")
		}
		sum += n * value
	}
	return sum
}

// place is the offset in an operand such as n+8(FP) or left-16(SP).
func place(operand string) int {
	s := operand[strings.IndexAny(operand, "+-"):strings.Index(operand, "(")]
	n, err := strconv.Atoi(s)
	if err != nil {
		panic(operand)
	}
	return n
}

// read is the value of an operand of an integer instruction.
func (m *machine) read(operand string) int64 {
	switch {
	case strings.HasPrefix(operand, "$"):
		n, err := strconv.ParseInt(operand[1:], 0, 64)
		if err != nil {
			panic(operand)
		}
		return n
	case strings.HasSuffix(operand, "(FP)"):
		return int64(m.args[place(operand)])
	case strings.HasSuffix(operand, "(SP)"):
		return m.locals[place(operand)]
	}
	return m.general[operand]
}

func (m *machine) write(operand string, value int64) {
	if strings.HasSuffix(operand, "(SP)") {
		m.locals[place(operand)] = value
		return
	}
	m.general[operand] = value
}

// lanesOf is a vector register and its width: Y has 8 lanes, Z 16.
func (m *machine) lanesOf(name string) (*[16]float32, int) {
	n, err := strconv.Atoi(name[1:])
	if err != nil {
		panic(name)
	}
	return &m.vector[n], map[byte]int{'Y': 8, 'Z': 16}[name[0]]
}

// run executes until RET.
func (m *machine) run() {
	for pc := 0; m.code[pc].op != "RET"; pc++ {
		i := m.code[pc]
		if strings.HasPrefix(i.op, "J") {
			if (i.op == "JMP") || (i.op == "JEQ" && m.diff == 0) || (i.op == "JNE" && m.diff != 0) || (i.op == "JLT" && m.diff < 0) {
				pc = m.labels[i.operands[0]] - 1
			}
			continue
		}
		if strings.HasPrefix(i.op, "V") {
			m.vectorOp(i)
			continue
		}
		m.integerOp(i)
	}
}

func (m *machine) integerOp(i instruction) {
	o := i.operands
	last := o[len(o)-1]
	set := func(v int64) { m.write(last, v); m.diff = v }
	switch i.op {
	case "MOVQ", "MOVL":
		m.write(last, m.read(o[0]))
	case "LEAQ":
		m.write(last, m.address(o[0]))
	case "ADDQ":
		set(m.read(last) + m.read(o[0]))
	case "SUBQ":
		set(m.read(last) - m.read(o[0]))
	case "DECQ":
		set(m.read(last) - 1)
	case "ORL":
		set(m.read(last) | m.read(o[0]))
	case "TESTQ":
		m.diff = m.read(o[0]) & m.read(last)
	case "CMPQ", "CMPL":
		m.diff = m.read(o[0]) - m.read(o[1])
	case "STMXCSR":
		m.write(last, 0x1f80)
	case "LDMXCSR":
		m.locals[0] = m.read(last)
	default:
		panic("unknown instruction " + i.op)
	}
}

func (m *machine) vectorOp(i instruction) {
	o := i.operands
	if i.op == "VZEROUPPER" {
		return
	}
	last := o[len(o)-1]
	if i.op == "VMOVUPS" && strings.Contains(last, "(") { // a store
		r, n := m.lanesOf(o[0])
		for l := range n {
			*m.at(m.address(last) + int64(4*l)) = r[l]
		}
		return
	}
	dst, n := m.lanesOf(last)
	var out [16]float32 // what lies past the width becomes 0
	for l := range n {
		src := func(k int) float32 {
			r, _ := m.lanesOf(o[k])
			return r[l]
		}
		switch i.op {
		case "VMOVUPS":
			out[l] = *m.at(m.address(o[0]) + int64(4*l))
		case "VBROADCASTSS":
			if strings.HasSuffix(o[0], "(FP)") {
				out[l] = math.Float32frombits(uint32(m.read(o[0])))
			} else {
				out[l] = *m.at(m.address(o[0]))
			}
		case "VXORPS":
			if o[0] != o[1] {
				panic("VXORPS is known as a way to clear a register only")
			}
		case "VFMADD231PS":
			out[l] = num.FMA32FTZ(src(1), src(0), src(2))
		case "VMULPS":
			out[l] = num.Mul32FTZ(src(1), src(0))
		case "VMAXPS":
			out[l] = src(0)
			if src(1) > src(0) {
				out[l] = src(1)
			}
		default:
			panic("unknown instruction " + i.op)
		}
	}
	*dst = out
}

// gemm runs the text as the function that Go would call.
func (m *machine) gemm(g gemm) {
	m.general, m.locals = map[string]int64{}, map[int]int64{}
	address := func(i int, data []float32) uint64 {
		if data == nil {
			return 0
		}
		base := int64(i) << 32
		m.memory = append(m.memory, region{base, data})
		return uint64(base)
	}
	m.memory = nil
	m.args = map[int]uint64{
		0: uint64(g.m), 8: uint64(g.n), 16: uint64(g.k),
		24: address(1, g.a), 32: uint64(4 * g.aRow), 40: uint64(4 * g.aCol),
		48: address(2, g.b), 56: uint64(4 * g.bRow),
		64: address(3, g.c), 72: uint64(4 * g.cRow),
		80: address(4, g.bias), 88: uint64(math.Float32bits(g.slope)),
	}
	m.run()
}

func TestTheTextOfTheMatrixProductsIsRight(t *testing.T) {
	for file, function := range map[string]string{
		"gemm_avx2_amd64.s": "gemmAVX2", "gemm_avx512_amd64.s": "gemmAVX512",
	} {
		text := loadText(t, file, function)
		r := num.NewRand(8)
		for range 150 {
			g := gemm{
				m: strip * int(1+r.Uint64n(4)), n: lanes * int(1+r.Uint64n(6)), k: int(r.Uint64n(9)),
				slope: []float32{0, leakySlope, 1}[r.Uint64n(3)],
			}
			g.aRow, g.aCol, g.bRow, g.cRow = g.k, 1, g.n, g.n
			if r.Uint64()&1 == 0 {
				g.aRow, g.aCol = 1, g.m
			}
			// Exactly as long as they must be, so that a step outside shows.
			g.a, g.b, g.c = anyNumbers(r, g.m*g.k), anyNumbers(r, g.k*g.n), make([]float32, g.m*g.n)
			if r.Uint64()&1 == 0 {
				g.bias = numbers(r, g.n)
			}
			want := g
			want.c = make([]float32, len(g.c))
			gemmReference(want)
			text.gemm(g)
			sameBits(t, fmt.Sprintf("%s %dx%dx%d", function, g.m, g.n, g.k), g.c, want.c)
			if text.locals[0] != 0x1f80 {
				t.Fatalf("%s leaves the CPU's floating-point mode changed", function)
			}
		}
	}
}
