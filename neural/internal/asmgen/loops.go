package main

import "fmt"

// each writes a loop over n elements, eight at a time, from pointers which it moves. n is in CX.
func (f *file) each(body func(), pointers ...string) {
	loop := f.mark("loop")
	body()
	for _, p := range pointers {
		f.op("ADDQ", "$32", p)
	}
	f.again(loop, "SUBQ", "$8", "CX")
}

func (f *file) load(at string) reg {
	r := f.take()
	f.op("VMOVUPS", at, r)
	return r
}

func (f *file) broadcast(at string) reg {
	r := f.take()
	f.op("VBROADCASTSS", at, r)
	return r
}

func (f *file) store(r reg, at string) { f.op("VMOVUPS", r, at) }

// transpose writes blocks of 8 by 8: pairs of rows are interleaved, then pairs
// of pairs, then the halves of the registers are exchanged.
func (f *file) transpose() {
	f.text("func transposeAVX2(dst, src *float32, rows, cols, dstStride, srcStride int)", "transposeAVX2", 8, 48)
	f.moves("dst+0(FP), DI", "src+8(FP), SI", "rows+16(FP), BX", "dstStride+32(FP), R8", "srcStride+40(FP), R9")
	f.op("LEAQ", "(R8)(R8*2)", "R10")
	f.op("LEAQ", "(R9)(R9*2)", "R11")
	rows := f.mark("rows")
	f.moves("cols+24(FP), CX", "DI, R12", "SI, R13")
	cols := f.mark("cols")
	f.op("LEAQ", "(R13)(R9*4)", "R15")
	for i, at := range []string{
		"(R13)", "(R13)(R9*1)", "(R13)(R9*2)", "(R13)(R11*1)", "(R15)", "(R15)(R9*1)", "(R15)(R9*2)", "(R15)(R11*1)",
	} {
		f.op("VMOVUPS", at, reg(i))
	}
	for i := reg(0); i < 8; i += 2 {
		f.op("VUNPCKLPS", i+1, i, 8+i)
		f.op("VUNPCKHPS", i+1, i, 9+i)
	}
	for i := reg(0); i < 8; i += 4 {
		for j := range reg(2) { // columns 2j and 2j+1 of four rows
			f.op("VSHUFPS", "$0x44", 10+i+j, 8+i+j, i+2*j)
			f.op("VSHUFPS", "$0xee", 10+i+j, 8+i+j, i+2*j+1)
		}
	}
	f.op("LEAQ", "(R12)(R8*4)", "R15")
	for i, at := range []string{"(R12)", "(R12)(R8*1)", "(R12)(R8*2)", "(R12)(R10*1)"} {
		f.op("VPERM2F128", "$0x20", reg(i+4), reg(i), "Y8")
		f.op("VMOVUPS", "Y8", at)
	}
	for i, at := range []string{"(R15)", "(R15)(R8*1)", "(R15)(R8*2)", "(R15)(R10*1)"} {
		f.op("VPERM2F128", "$0x31", reg(i+4), reg(i), "Y8")
		f.op("VMOVUPS", "Y8", at)
	}
	f.op("LEAQ", "(R12)(R8*8)", "R12")
	f.op("ADDQ", "$32", "R13")
	f.again(cols, "SUBQ", "$8", "CX")
	f.op("ADDQ", "$32", "DI")
	f.op("LEAQ", "(SI)(R9*8)", "SI")
	f.again(rows, "SUBQ", "$8", "BX")
	f.op("VZEROUPPER")
	f.op("RET")
}

func (f *file) colSum() {
	f.text("func colSumAVX2(dst, src *float32, rows, cols, stride int)", "colSumAVX2", 0, 40)
	f.flushOn()
	f.moves("dst+0(FP), DI", "src+8(FP), SI", "cols+24(FP), CX", "stride+32(FP), R8")
	cols := f.mark("cols")
	f.moves("rows+16(FP), BX", "SI, R12")
	f.op("VXORPS", "Y0, Y0, Y0")
	f.op("VXORPS", "Y1, Y1, Y1")
	rows := f.mark("rows")
	f.op("VADDPS", "(R12)", "Y0", "Y0")
	f.op("VADDPS", "32(R12)", "Y1", "Y1")
	f.op("ADDQ", "R8", "R12")
	f.again(rows, "DECQ", "BX")
	f.op("VMOVUPS", "Y0", "(DI)")
	f.op("VMOVUPS", "Y1", "32(DI)")
	f.op("ADDQ", "$64", "SI")
	f.op("ADDQ", "$64", "DI")
	f.again(cols, "SUBQ", "$16", "CX")
	f.leave()
}

// sumSquare keeps sixteen sums of float64. A product of two float32 is exact in
// float64, so that fused or not makes no difference.
func (f *file) sumSquare() {
	f.text("func sumSquareAVX2(x *float32, n int, sums *[16]float64)", "sumSquareAVX2", 0, 24)
	f.flushOn()
	f.moves("x+0(FP), SI", "n+8(FP), CX", "sums+16(FP), DI")
	for i := range reg(4) {
		f.op("VXORPD", i, i, i)
	}
	loop := f.mark("loop")
	for i := range reg(4) {
		f.op("VCVTPS2PD", fmt.Sprintf("%d(SI)", 16*i), 4+i)
		f.op("VFMADD231PD", 4+i, 4+i, i)
	}
	f.op("ADDQ", "$64", "SI")
	f.again(loop, "SUBQ", "$16", "CX")
	for i := range reg(4) {
		f.op("VMOVUPD", i, fmt.Sprintf("%d(DI)", 32*i))
	}
	f.leave()
}

func (f *file) multiply() {
	f.text("func multiplyAVX2(dst, x, y *float32, n int)", "multiplyAVX2", 0, 32)
	f.flushOn()
	f.moves("dst+0(FP), DI", "x+8(FP), SI", "y+16(FP), DX", "n+24(FP), CX")
	f.each(func() {
		x := f.load("(SI)")
		f.op("VMULPS", "(DX)", x, x)
		f.store(x, "(DI)")
		f.free(x)
	}, "DI", "SI", "DX")
	f.leave()
}

func (f *file) apply(name string, fn func(x reg)) {
	f.text("func "+name+"(x *float32, n int)", name, 0, 16)
	f.flushOn()
	f.moves("x+0(FP), DI", "n+8(FP), CX")
	f.each(func() {
		x := f.load("(DI)")
		fn(x)
		f.store(x, "(DI)")
		f.free(x)
	}, "DI")
	f.leave()
}

// log replaces n numbers of 64 bits, four at a time, by their logarithms.
func (f *file) log() {
	f.text("func logAVX2(x *float64, n int)", "logAVX2", 0, 16)
	f.moves("x+0(FP), DI", "n+8(FP), CX")
	loop := f.mark("loop")
	x := f.take()
	f.op("VMOVUPD", "(DI)", x)
	f.log64(x)
	f.op("VMOVUPD", x, "(DI)")
	f.free(x)
	f.op("ADDQ", "$32", "DI")
	f.again(loop, "SUBQ", "$4", "CX")
	f.op("VZEROUPPER")
	f.op("RET")
}

func (f *file) grads() {
	begin := func(name, more string, args int) {
		f.text("func "+name+"(d, y *float32, n int"+more+")", name, 0, args)
		f.flushOn()
		f.moves("d+0(FP), DI", "y+8(FP), SI", "n+16(FP), CX")
	}
	smooth := func(name string, fn func(reg)) {
		begin(name, "", 24)
		f.each(func() {
			y := f.load("(SI)")
			fn(y)
			f.op("VMULPS", "(DI)", y, y)
			f.store(y, "(DI)")
			f.free(y)
		}, "DI", "SI")
		f.leave()
	}
	smooth("tanhGradAVX2", f.tanhGrad)
	smooth("sigmoidGradAVX2", f.sigmoidGrad)

	bent := func(name, more string, args int, dropped bool) {
		begin(name, more+", slope float32", args)
		pointers := []string{"DI", "SI"}
		if dropped {
			f.op("MOVQ", "mask+24(FP)", "DX")
			pointers = append(pointers, "DX")
		}
		slope, zero := f.broadcast(fmt.Sprintf("slope+%d(FP)", args-4)), f.take()
		f.op("VXORPS", zero, zero, zero)
		f.each(func() {
			y, d, low := f.load("(SI)"), f.load("(DI)"), f.take()
			if dropped {
				f.op("VMULPS", "(DX)", d, d)
			}
			f.op("VCMPPS", "$0x1e", zero, y, y) // y > 0
			f.op("VMULPS", slope, d, low)
			f.op("VBLENDVPS", y, d, low, d)
			f.store(d, "(DI)")
			f.free(y, d, low)
		}, pointers...)
		f.free(slope, zero)
		f.leave()
	}
	bent("bentGradAVX2", "", 28, false)
	bent("bentDropGradAVX2", ", mask *float32", 36, true)
}

// drop writes a mask and x under it, sixteen elements a round: each hash serves two. See dropGo.
func (f *file) drop() {
	f.text("func dropAVX2(dst, x, mask *float32, n int, lo, hi, below uint32, scale float32)", "dropAVX2", 0, 48)
	f.flushOn()
	f.moves("dst+0(FP), DI", "x+8(FP), SI", "mask+16(FP), DX", "n+24(FP), CX")
	at, hi, below, scale, eight := f.take(), f.take(), f.take(), f.take(), f.take()
	f.op("VBROADCASTSS", "lo+32(FP)", at)
	f.op("VBROADCASTSS", "hi+36(FP)", hi)
	f.op("VBROADCASTSS", "below+40(FP)", below)
	f.op("VBROADCASTSS", "scale+44(FP)", scale)
	f.op("VPADDD", "iota<>(SB)", at, at)
	f.op("VMOVDQU", f.word(8), eight)
	f.op("VPCMPEQD", "Y15", "Y15", "Y15") // -1
	f.op("VPADDD", "Y15", below, below)   // what is greater stays
	loop := f.mark("loop")
	h, t := f.take(), f.take()
	f.op("VPMULLD", f.word(0x9e3779b1), at, h)
	f.op("VPXOR", hi, h, h)
	for _, s := range []struct {
		shift int
		by    uint32
	}{{16, 0x85ebca6b}, {13, 0xc2b2ae35}, {16, 0}} {
		f.op("VPSRLD", fmt.Sprintf("$%d", s.shift), h, t)
		f.op("VPXOR", t, h, h)
		if s.by != 0 {
			f.op("VPMULLD", f.word(s.by), h, h)
		}
	}
	f.op("VPAND", f.word(1<<16-1), h, t)
	f.op("VPSRLD", "$16", h, h)
	for i, r := range []reg{t, h} {
		f.op("VPCMPGTD", below, r, r)
		f.op("VANDPS", scale, r, r)
		f.store(r, fmt.Sprintf("%d(DX)", 32*i))
		f.op("VMULPS", fmt.Sprintf("%d(SI)", 32*i), r, r)
		f.store(r, fmt.Sprintf("%d(DI)", 32*i))
	}
	f.op("VPADDD", eight, at, at)
	for _, p := range []string{"DI", "SI", "DX"} {
		f.op("ADDQ", "$64", p)
	}
	f.again(loop, "SUBQ", "$16", "CX")
	f.free(h, t, at, hi, below, scale, eight)
	f.leave()
	f.line("")
	for i := range 4 {
		f.line("DATA iota<>+%d(SB)/8, $0x%08x%08x", 8*i, 2*i+1, 2*i)
	}
	f.line("GLOBL iota<>(SB), RODATA|NOPTR, $32")
}

func (f *file) adam() {
	f.text("func adamAVX2(w, m, v, grad *float32, n int, c *adamFactors)", "adamAVX2", 0, 48)
	f.flushOn()
	f.moves("w+0(FP), DI", "m+8(FP), R8", "v+16(FP), R9", "grad+24(FP), SI", "n+32(FP), CX", "c+40(FP), DX")
	factor := func(name string) reg { return f.broadcast("adamFactors_" + name + "(DX)") }
	clip, decay, shrink := factor("clip"), factor("decay"), factor("shrink")
	beta1, keep1, beta2, keep2 := factor("beta1"), factor("keep1"), factor("beta2"), factor("keep2")
	rate, eps := factor("rate"), factor("eps")
	f.each(func() {
		w, g, t := f.load("(DI)"), f.load("(SI)"), f.take()
		f.op("VMULPS", clip, g, g)
		f.op("VMULPS", decay, w, t)
		f.op("VADDPS", t, g, g)
		m := f.take()
		f.op("VMULPS", "(R8)", beta1, m)
		f.op("VMULPS", keep1, g, t)
		f.op("VADDPS", t, m, m)
		f.store(m, "(R8)")
		v := f.take()
		f.op("VMULPS", "(R9)", beta2, v)
		f.op("VMULPS", g, g, t)
		f.op("VMULPS", keep2, t, t)
		f.op("VADDPS", t, v, v)
		f.store(v, "(R9)")
		f.op("VSQRTPS", v, v)
		f.op("VADDPS", eps, v, v)
		f.op("VMULPS", rate, m, m)
		f.op("VDIVPS", v, m, m)
		f.op("VMULPS", shrink, w, w)
		f.op("VSUBPS", m, w, w)
		f.store(w, "(DI)")
		f.free(w, g, t, m, v)
	}, "DI", "R8", "R9", "SI")
	f.free(clip, decay, shrink, beta1, keep1, beta2, keep2, rate, eps)
	f.leave()
}
