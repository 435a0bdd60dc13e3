package main

import "fmt"

// gemm writes the matrix product C = max(S, slope*S), S = bias + A*B, by tiles of
// 4 rows by 2 vectors: eight sums in registers, as many as hide the latency of a
// fused multiply-add. Columns that do not fill two vectors get tiles of one.
//
// SI, DX and CX walk over the columns of B, C and bias; DI and R15 over the rows
// of A and C; R12 and R13 over the terms of a sum.
func (f *file) gemm(name, v string, width int) {
	f.text("func "+name+"(m, n, k int, a *float32, aRow, aCol int, b *float32, bRow int, c *float32, cRow int, bias *float32, slope float32)",
		name, 8, 92)
	f.flushOn()
	f.moves("n+8(FP), AX", "AX, left-16(SP)", "b+48(FP), SI", "c+64(FP), DX", "bias+80(FP), CX", "aRow+32(FP), R8")
	f.op("LEAQ", "(R8)(R8*2)", "R9")
	f.moves("aCol+40(FP), R10", "bRow+56(FP), R11")
	f.op("VBROADCASTSS", "slope+88(FP)", v+"15")
	columns, narrow, done := f.label("columns"), f.label("narrow"), f.label("done")
	f.line("%s:", columns)
	pair := 2 * width / 4 // columns of a tile of two vectors
	f.op("CMPQ", "left-16(SP)", fmt.Sprintf("$%d", pair))
	f.op("JLT", narrow)
	f.tiles(v, width, 2)
	f.op("SUBQ", fmt.Sprintf("$%d", pair), "left-16(SP)")
	f.op("JMP", columns)
	f.line("%s:", narrow)
	if pair > 16 {
		f.op("CMPQ", "left-16(SP)", "$0")
		f.op("JEQ", done)
		f.tiles(v, width, 1)
	}
	f.line("%s:", done)
	f.leave()
}

// tile is a block of sums: 4 rows by some vectors.
type tile struct {
	*file
	v       string // Y or Z
	width   int    // of a vector, in bytes
	vectors int
}

// sum is the register of a sum; temp that of something else.
func (f tile) sum(row, vec int) string { return f.temp(row*f.vectors + vec) }

func (f tile) temp(i int) string { return fmt.Sprintf("%s%d", f.v, i) }

// at is an operand some vectors behind an address.
func (f tile) at(vec int, address string) string { return fmt.Sprintf("%d%s", vec*f.width, address) }

// tiles goes down the rows with tiles of some vectors, then moves the column pointers behind them.
func (f *file) tiles(v string, width, vectors int) {
	t := tile{f, v, width, vectors}
	rows := f.label("rows")
	f.moves("m+0(FP), BX", "a+24(FP), DI", "DX, R15")
	f.line("%s:", rows)
	t.begin()
	t.sums()
	t.end()
	f.op("LEAQ", "(R15)(AX*4)", "R15")
	f.op("LEAQ", "(DI)(R8*4)", "DI")
	f.again(rows, "SUBQ", "$4", "BX")

	skip, size := f.label("skip"), fmt.Sprintf("$%d", vectors*width)
	f.op("ADDQ", size, "SI")
	f.op("ADDQ", size, "DX")
	f.op("TESTQ", "CX", "CX")
	f.op("JEQ", skip)
	f.op("ADDQ", size, "CX")
	f.line("%s:", skip)
}

// begin sets the sums to the bias, or to 0.
func (f tile) begin() {
	zero, done := f.label("zero"), f.label("begin")
	f.op("TESTQ", "CX", "CX")
	f.op("JEQ", zero)
	for row := range 4 {
		for vec := range f.vectors {
			f.op("VMOVUPS", f.at(vec, "(CX)"), f.sum(row, vec))
		}
	}
	f.op("JMP", done)
	f.line("%s:", zero)
	for i := range 4 * f.vectors {
		y := fmt.Sprintf("Y%d", i) // clears the whole register, however wide
		f.op("VXORPS", y, y, y)
	}
	f.line("%s:", done)
}

func (f tile) sums() {
	loop, done := f.label("loop"), f.label("end")
	f.moves("DI, R12", "SI, R13", "k+16(FP), AX")
	f.op("TESTQ", "AX", "AX")
	f.op("JEQ", done)
	f.line("%s:", loop)
	for vec := range f.vectors {
		f.op("VMOVUPS", f.at(vec, "(R13)"), f.temp(8+vec))
	}
	for row, a := range []string{"(R12)", "(R12)(R8*1)", "(R12)(R8*2)", "(R12)(R9*1)"} {
		f.op("VBROADCASTSS", a, f.temp(10+row))
		for vec := range f.vectors {
			f.op("VFMADD231PS", f.temp(8+vec), f.temp(10+row), f.sum(row, vec))
		}
	}
	f.op("ADDQ", "R10", "R12")
	f.op("ADDQ", "R11", "R13")
	f.again(loop, "DECQ", "AX")
	f.line("%s:", done)
}

// end bends the sums and stores them. It leaves the stride of C in AX.
func (f tile) end() {
	store := f.label("store")
	f.op("MOVL", "slope+88(FP)", "AX")
	f.op("CMPL", "AX", "$0x3f800000") // 1: nothing to bend
	f.op("JEQ", store)
	for i := range 4 * f.vectors {
		s, t := f.temp(i), f.temp(8)
		f.op("VMULPS", f.temp(15), s, t)
		f.op("VMAXPS", s, t, s) // s unless t is greater: NaN stays
	}
	f.line("%s:", store)
	f.op("MOVQ", "cRow+72(FP)", "AX")
	f.op("LEAQ", "(AX)(AX*2)", "R12")
	for row, c := range []string{"(R15)", "(R15)(AX*1)", "(R15)(AX*2)", "(R15)(R12*1)"} {
		for vec := range f.vectors {
			f.op("VMOVUPS", f.sum(row, vec), f.at(vec, c))
		}
	}
}

// peak writes a loop of fused multiply-adds that never touches memory: what the
// CPU could do at best. Benchmarks compare with it.
func (f *file) peak(name, v string) {
	f.text("func "+name+"(rounds int)", name, 0, 8)
	f.op("MOVQ", "rounds+0(FP)", "AX")
	for i := range 14 {
		y := fmt.Sprintf("Y%d", i)
		f.op("VXORPS", y, y, y)
	}
	loop := f.mark("loop")
	for i := range 12 {
		f.op("VFMADD231PS", v+"12", v+"13", fmt.Sprintf("%s%d", v, i))
	}
	f.again(loop, "DECQ", "AX")
	f.op("VZEROUPPER")
	f.op("RET")
}
