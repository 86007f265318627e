package quant

import "github.com/anamnesis-go/anamnesis/asm"

// A direct form has a kernel that writes rows in a type without a tile of
// float32 between. It reports false where it has none for this weight.
type direct interface {
	direct(o *asm.Ops, dst []byte, to asm.Type, parts [][]byte, lo, hi int64, scratch []float32) bool
}

// decode writes rows by a table of kernels.
func (w *Weight) decode(o *asm.Ops, dst []byte, to Target, parts [][]byte, lo, hi int64, tile []float32) {
	dst, tile = dst[:(hi-lo)*w.cols*int64(to.Size())], tile[:(hi-lo)*w.cols]
	if f, ok := w.form.(*turned); ok {
		f.put(dst, to, parts, lo, hi, tile)
		return
	}
	decodeForm(o, w.form, dst, to, parts, lo, hi, tile)
}

func decodeForm(o *asm.Ops, f form, dst []byte, to Target, parts [][]byte, lo, hi int64, tile []float32) {
	if d, ok := f.(direct); ok && d.direct(o, dst, targets[to].kind, parts, lo, hi, tile) {
		return
	}
	f.decode(tile, parts, lo, hi)
	o.Put(targets[to].kind, dst, tile)
}

func (f *blockForm) direct(o *asm.Ops, dst []byte, to asm.Type, parts [][]byte, lo, hi int64, _ []float32) bool {
	if f.codes.kernel == nil || f.matrixRows != 0 {
		return false
	}
	f.codes.kernel(o, to, dst, parts[0][:(hi-lo)*f.codes.rowBytes])
	return true
}
