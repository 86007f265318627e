package convert

import (
	"sync/atomic"

	"github.com/anamnesis-go/anamnesis/asm"
	"github.com/anamnesis-go/anamnesis/quant"
)

// specials counts the special values of one weight.
type specials struct{ over, nan, inf atomic.Int64 }

func (s *specials) any() bool { return s.over.Load()|s.nan.Load()|s.inf.Load() != 0 }

// kinds are the kernels' names of the targets.
var kinds = [...]asm.Type{quant.BF16: asm.BF16, quant.F16: asm.F16, quant.F32: asm.F32}

// piece decodes some rows of the range that was read, and counts special values. A NaN is
// NaN in every type, but an infinity of a narrower type may have been finite, so pieces
// with infinities are also decoded to F32 and counted there.
func (t *weightTask) piece(w *worker, dst []byte, lo, hi int64) error {
	ops, kind := asm.Best(), kinds[t.to]
	if err := t.decode(w, dst, t.to, lo, hi); err != nil {
		return err
	}
	nan, inf := ops.Special(kind, dst)
	if inf == 0 || kind == asm.F32 {
		w.counted(t.specials, 0, int64(nan), int64(inf))
		return nil
	}
	full, err := w.full.at(w.s, 0, int64(len(dst)/kind.Size()*asm.F32.Size()))
	if err != nil {
		return err
	}
	if err := t.decode(w, full, quant.F32, lo, hi); err != nil {
		return err
	}
	_, before := ops.Special(asm.F32, full)
	w.counted(t.specials, int64(inf-before), int64(nan), int64(before))
	return nil
}
