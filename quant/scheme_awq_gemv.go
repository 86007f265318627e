package quant

import (
	"strings"

	"github.com/anamnesis-go/anamnesis/asm"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

var gemvScheme = scheme{
	name: "AWQ GEMV", stores: "4 bits in the order of the inputs", oracle: "AutoAWQ's packer",
	goldens: []string{"awq-gemv"}, bind: bindAWQGEMV,
	methods: []method{{"awq", awqKeys}},
	mains:   awqMains,
	scales:  []string{".scales"},
	marks:   []string{".qweight"},
}

var gemvFastScheme = scheme{
	name: "AWQ GEMV_FAST", stores: "llm-awq's layout of 4 bits", oracle: "AutoAWQ's packer",
	goldens: []string{"awq-gemv-fast"}, bind: bindAWQFast,
	methods: []method{{"awq", awqKeys}},
	mains:   awqMains,
	scales:  []string{".scales"},
	marks:   []string{".qweight"},
}

// bindAWQGEMV takes AutoAWQ's GEMV layout: nibbles along the inputs in their
// natural order, rows of zero points and scales padded with zeros.
func bindAWQGEMV(s *set, info *tensor.Info) (*Weight, error) {
	stem, ok := suffix(info, ".qweight")
	scales, hasScales := s.find(stem + ".scales")
	if !ok || !hasScales || info.DType != tensor.I32 || len(info.Shape) != 2 || len(scales.Shape) != 2 ||
		scales.Shape[0] != info.Shape[0] || info.Shape[1]*8 == scales.Shape[1] || scales.Shape[1] == info.Shape[1] && !s.gemv() {
		return nil, nil
	}
	out, in, padded := info.Shape[0], info.Shape[1]*8, scales.Shape[1]
	group, err := s.awqGroup(in, padded)
	if err != nil {
		return nil, err
	}
	if padded%8 != 0 || in == 0 || out == 0 {
		return nil, mismatch(info, scales)
	}
	zeros, err := s.companion(stem+".qzeros", []int64{out, padded / 8}, tensor.I32)
	if err != nil {
		return nil, err
	}
	read, size, err := scaleNumber(scales)
	if err != nil {
		return nil, err
	}
	g := grid{matrixRows: out, blockRows: 1, blockCols: group, cols: padded, size: size, read: read, bulk: bulkOf(scales.DType)}
	z := g
	z.whole, z.bulk, z.read = zeros.Span.Len, nil, func(p []byte, i int64) float32 { return float32(p[i/2] >> (4 * (i % 2)) & 15) }
	return &Weight{
		Name: stem + ".weight", Shape: []int64{out, in}, Layout: "GEMV, " + describe(4, group),
		Parts: []tensor.Info{*info, *scales, *zeros},
		form:  &scaled{cols: in, codes: streamRow(in, 4, in/2, 0), scales: g, seconds: &z, op: opShift},
	}, nil
}

// gemv reports a configuration of AutoAWQ's that says which kernel the tensors
// are for: few inputs have as many words as padded groups, which is how GPTQ
// looks.
func (s *set) gemv() bool {
	return s.config.method() == "awq" && strings.EqualFold(s.config.quant.text("version"), "gemv")
}

// awqGroup is the group size, which padded rows do not tell.
func (s *set) awqGroup(in, padded int64) (int64, error) {
	group, ok := s.config.quant.whole("group_size")
	switch {
	case !ok:
		return 0, wire.ErrMissing.With("group_size in the configuration: rows of scales are padded")
	case group <= 0 || in%group != 0 || in/group > padded:
		return 0, wire.ErrMismatch.With("groups of %d in %d inputs, with room for %d", group, in, padded)
	}
	return group, nil
}

// bindAWQFast takes the GEMV_FAST layout, which is llm-awq's: four outputs in a
// stored row, their nibbles mixed, and zero points already multiplied.
func bindAWQFast(s *set, info *tensor.Info) (*Weight, error) {
	stem, ok := suffix(info, ".qweight")
	if !ok || info.DType != tensor.I16 || len(info.Shape) != 2 {
		return nil, nil
	}
	out, in := info.Shape[0]*4, info.Shape[1]
	scales, err := s.companion(stem+".scales", []int64{-1, out}, tensor.F16, tensor.BF16)
	if err != nil {
		return nil, err
	}
	padded := scales.Shape[0]
	zeros, err := s.companion(stem+".qzeros", []int64{padded, out}, scales.DType)
	if err != nil {
		return nil, err
	}
	group, err := s.awqGroup(in, padded)
	if err != nil {
		return nil, err
	}
	if in%64 != 0 {
		return nil, wire.ErrMismatch.With("%d inputs are no whole blocks of 64", in)
	}
	read, size, err := scaleNumber(scales)
	if err != nil {
		return nil, err
	}
	g := grid{matrixRows: out, blockRows: 1, blockCols: group, cols: padded, size: size, read: read, bulk: bulkOf(scales.DType)}.transposed(out, scales.Span.Len)
	z := g
	z.whole = zeros.Span.Len
	return &Weight{
		Name: stem + ".weight", Shape: []int64{out, in}, Layout: "GEMV_FAST, " + describe(4, group),
		Parts: []tensor.Info{*info, *scales, *zeros},
		form:  &scaled{cols: in, codes: fastRow(in), scales: g, seconds: &z, op: opAffine},
	}, nil
}

// fastRow is four outputs of n inputs in a stored row.
func fastRow(n int64) codes {
	return codes{rowBytes: 2 * n, perRow: 4, pick: fastNibbles, under: underFast, rooms: 2}
}

// underFast puts the codes of a row in their order: of a word's four nibbles
// each belongs to the inputs of its own eight.
func underFast(o *asm.Ops, to asm.Type, dst, row []byte, u under) bool {
	n := len(dst) / to.Size()
	a, b := u.codes[:n], u.codes[n:2*n]
	for at := 0; at < n/2; at += 32 {
		copy(b[at:][:32], row[4*at+32*int(u.sub):])
	}
	o.Spread(a, b[:n/2])
	o.Lanes(b, a, n/4)
	o.Transpose(8, a, b, 4, n/32, 32, n/4)
	return underBytes(asm.Bytes{Unsigned: true})(o, to, dst, a, u)
}

// fastNibbles unpacks output r of the four in a stored row. Input k lies in its
// block of 64 at the place where the kernel's threads want it: of 32 inputs the
// pairs of each eight are gathered by pair, and four inputs share a word.
func fastNibbles(dst []float32, src []byte, r int64) {
	row := src[r/4*2*int64(len(dst)):]
	for k := range int64(len(dst)) {
		k32 := k % 32
		at := 32*(k/32) + k32%8/2*8 + k32%2*4 + k32/8
		slot := r%4*64 + at%64
		word := u16(row[2*(64*(at/64)+slot/4):])
		dst[k] = float32(word >> (4 * (slot % 4)) & 15)
	}
}
