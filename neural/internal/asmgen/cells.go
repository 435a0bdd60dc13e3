package main

// The cells of recurrent layers. AX and BX walk over z and zh, whose gates lie R8
// bytes apart; the other pointers over one row behind the other.

// cell writes a loop over the rows and columns of a cell with that many gates.
// fields are the pointers that the body uses besides z, as register and field.
func (f *file) cell(name string, gates int, fields map[string]string, body func()) {
	f.text("func "+name+"(c *cell)", name, 0, 8)
	f.flushOn()
	f.moves("c+0(FP), R13", "cell_z(R13), AX")
	moving := []string{"AX"}
	for _, r := range []string{"BX", "DX", "SI", "DI", "R9", "R11"} {
		if field, ok := fields[r]; ok {
			f.op("MOVQ", "cell_"+field+"(R13)", r)
			moving = append(moving, r)
		}
	}
	f.op("MOVQ", "cell_cols(R13)", "R8")
	f.op("SHLQ", "$2", "R8")
	f.op("LEAQ", "(R8)(R8*2)", "R10")
	f.op("MOVQ", "cell_rows(R13)", "R12")
	rows := f.mark("rows")
	f.op("MOVQ", "cell_cols(R13)", "CX")
	f.each(body, moving...)
	skip := map[int]string{3: "(R8*2)", 4: "(R10*1)"}[gates] // the gates behind the first
	f.op("LEAQ", "(AX)"+skip, "AX")
	if fields["BX"] == "zh" {
		f.op("LEAQ", "(BX)"+skip, "BX")
	}
	f.again(rows, "DECQ", "R12")
	f.leave()
}

// gate is the place of a gate in z or zh.
func gate(pointer string, i int) string {
	return pointer + []string{"", "(R8*1)", "(R8*2)", "(R10*1)"}[i]
}

// gateSum replaces z of a gate by fn(z + zh).
func (f *file) gateSum(i int, fn func(reg)) reg {
	r := f.load(gate("(AX)", i))
	f.op("VADDPS", gate("(BX)", i), r, r)
	fn(r)
	f.store(r, gate("(AX)", i))
	return r
}

func (f *file) lstm() {
	fields := map[string]string{"BX": "zh", "DX": "prev", "SI": "state", "DI": "keep", "R9": "h"}
	f.cell("lstmAVX2", 4, fields, func() {
		in := f.gateSum(0, f.sigmoid)
		fresh := f.gateSum(2, f.tanh)
		f.op("VMULPS", fresh, in, in)
		f.free(fresh)
		s := f.gateSum(1, f.sigmoid)
		f.op("VMULPS", "(DX)", s, s)
		f.op("VADDPS", in, s, s)
		f.free(in)
		f.store(s, "(SI)")
		f.tanh(s)
		f.store(s, "(DI)")
		out := f.gateSum(3, f.sigmoid)
		f.op("VMULPS", s, out, out)
		f.store(out, "(R9)")
		f.free(s, out)
	})
}

func (f *file) lstmGrad() {
	fields := map[string]string{"BX": "carry", "DX": "prev", "SI": "dOut", "DI": "keep", "R9": "dRec"}
	f.cell("lstmGradAVX2", 4, fields, func() {
		in, forget := f.load(gate("(AX)", 0)), f.load(gate("(AX)", 1))
		fresh, out := f.load(gate("(AX)", 2)), f.load(gate("(AX)", 3))
		dh := f.load("(SI)")
		f.op("VADDPS", "(R9)", dh, dh)
		keep, t := f.load("(DI)"), f.take()
		f.op("VMULPS", keep, dh, t)
		dc := f.take()
		f.op("VMULPS", out, dh, dc)
		f.free(dh)
		f.sigmoidGrad(out)
		f.op("VMULPS", out, t, t)
		f.store(t, gate("(AX)", 3))
		f.free(out)
		f.tanhGrad(keep)
		f.op("VMULPS", keep, dc, dc)
		f.op("VADDPS", "(BX)", dc, dc)
		f.free(keep)
		f.op("VMULPS", forget, dc, t)
		f.store(t, "(BX)")
		f.op("VMULPS", "(DX)", dc, t)
		f.sigmoidGrad(forget)
		f.op("VMULPS", forget, t, t)
		f.store(t, gate("(AX)", 1))
		f.free(forget)
		f.op("VMULPS", fresh, dc, t)
		f.op("VMULPS", in, dc, dc)
		f.tanhGrad(fresh)
		f.op("VMULPS", fresh, dc, dc)
		f.store(dc, gate("(AX)", 2))
		f.sigmoidGrad(in)
		f.op("VMULPS", in, t, t)
		f.store(t, gate("(AX)", 0))
		f.free(in, fresh, t, dc)
	})
}

func (f *file) gru() {
	fields := map[string]string{"BX": "zh", "DX": "prev", "DI": "keep", "R9": "h"}
	f.cell("gruAVX2", 3, fields, func() {
		reset := f.gateSum(0, f.sigmoid)
		keep := f.load(gate("(BX)", 2))
		f.store(keep, "(DI)")
		f.op("VMULPS", keep, reset, reset)
		f.free(keep)
		fresh := f.load(gate("(AX)", 2))
		f.op("VADDPS", reset, fresh, fresh)
		f.free(reset)
		f.tanh(fresh)
		f.store(fresh, gate("(AX)", 2))
		update := f.gateSum(1, f.sigmoid)
		t := f.load("(DX)")
		f.op("VSUBPS", fresh, t, t)
		f.op("VMULPS", t, update, update)
		f.op("VADDPS", update, fresh, fresh)
		f.store(fresh, "(R9)")
		f.free(fresh, update, t)
	})
}

func (f *file) gruGrad() {
	fields := map[string]string{"BX": "zh", "DX": "prev", "SI": "dOut", "DI": "keep", "R9": "dRec", "R11": "carry"}
	f.cell("gruGradAVX2", 3, fields, func() {
		reset, update, fresh := f.load(gate("(AX)", 0)), f.load(gate("(AX)", 1)), f.load(gate("(AX)", 2))
		dh := f.load("(SI)")
		f.op("VADDPS", "(R9)", dh, dh)
		f.op("VADDPS", "(R11)", dh, dh)
		t := f.take()
		f.op("VMULPS", update, dh, t)
		f.store(t, "(R11)")
		dUpdate := f.load("(DX)")
		f.op("VSUBPS", fresh, dUpdate, dUpdate)
		f.op("VMULPS", dUpdate, dh, dUpdate)
		f.op("VMOVUPS", f.f32(1), t)
		f.op("VSUBPS", update, t, t)
		f.op("VMULPS", t, dh, dh)
		f.sigmoidGrad(update)
		f.op("VMULPS", update, dUpdate, dUpdate)
		f.store(dUpdate, gate("(AX)", 1))
		f.store(dUpdate, gate("(BX)", 1))
		f.free(update, dUpdate)
		f.tanhGrad(fresh)
		f.op("VMULPS", fresh, dh, dh) // the new gate's
		f.store(dh, gate("(AX)", 2))
		f.free(fresh)
		f.op("VMULPS", reset, dh, t)
		f.store(t, gate("(BX)", 2))
		f.op("VMULPS", "(DI)", dh, dh)
		f.sigmoidGrad(reset)
		f.op("VMULPS", reset, dh, dh)
		f.store(dh, gate("(AX)", 0))
		f.store(dh, gate("(BX)", 0))
		f.free(reset, dh, t)
	})
}
