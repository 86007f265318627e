package lora

import (
	"slices"

	"github.com/anamnesis-go/anamnesis/asm"
	"github.com/anamnesis-go/anamnesis/internal/model"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/gguf"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

func rawBytes(f []float32) []byte { return asm.Raw(f) }

// A weight is a tensor of the result that is computed when it is read.
type weight struct {
	info     tensor.Info // the base's
	elements int64
	source   *model.Numbers   // the numbers of the base, or of the tensor that replaces it
	copies   []*model.Numbers // must equal the source
	copied   []string         // their names
	rows     []*rowReader     // replace rows of the source
	same     bool             // the source has the base's type
	once     bool             // round once after all adapters, as llama.cpp, not after each
	products []int            // indices of the products
	held     *model.Held[*matrices]
	rooms    *model.Rooms[float32]
}

// buffers are those of one reader.
type buffers struct {
	rooms        *model.Rooms[float32]
	w, sum, also []float32
}

func (w *weight) takeBuffers() (*buffers, error) {
	r := &buffers{rooms: w.rooms}
	for _, to := range []*[]float32{&r.w, &r.sum, &r.also} {
		var err error
		if *to, err = w.rooms.Take(); err != nil {
			r.release()
			return nil, err
		}
	}
	return r, nil
}

func (r *buffers) release() {
	for _, one := range [][]float32{r.w, r.sum, r.also} {
		if one != nil {
			r.rooms.Back(one)
		}
	}
}

// readBase reads numbers of the source from index first on, rounded to the base's type.
func (w *weight) readBase(dst []float32, r *buffers, first int64) error {
	if err := w.source.Read(dst, rawBytes(r.also), first); err != nil {
		return err
	}
	for k := range w.copies {
		if err := w.rooms.Step(); err != nil {
			return err
		}
		if err := equalNumbers(dst, r.sum, w.copies[k], r, first, w.copied[k]); err != nil {
			return err
		}
	}
	if !w.same {
		w.round(dst, r)
	}
	return w.replaceRows(dst, r, first)
}

// round rounds numbers to the base's type.
func (w *weight) round(f []float32, r *buffers) {
	if w.info.DType == tensor.F32 {
		return
	}
	raw := rawBytes(r.also)[:int64(len(f))*model.Size(w.info.DType)]
	model.Round(raw, w.info.DType, f)
	model.Widen(f, w.info.DType, raw)
}

// ReadAt implements [io.ReaderAt]; ranges are of whole elements.
func (w *weight) ReadAt(p []byte, off int64) (int, error) {
	size := model.Size(w.info.DType)
	if off%size != 0 || int64(len(p))%size != 0 {
		return 0, wire.ErrInternal.Errorf("a read splits an element")
	}
	r, err := w.takeBuffers()
	if err != nil {
		return 0, err
	}
	defer r.release()
	for done := 0; done < len(p); {
		n := min(len(r.w), (len(p)-done)/int(size))
		if err := w.piece(p[done:done+n*int(size)], r, (off+int64(done))/size); err != nil {
			return done, err
		}
		done += n * int(size)
	}
	return len(p), nil
}

// piece computes one piece of the weight.
func (w *weight) piece(p []byte, r *buffers, first int64) error {
	n := int64(len(p)) / model.Size(w.info.DType)
	f, sum := r.w[:n], r.sum[:n]
	if err := w.readBase(f, r, first); err != nil {
		return err
	}
	for k, i := range w.products {
		x, done, err := w.held.Use(i)
		if err != nil {
			return err
		}
		x.multiply(sum, first)
		if x.roundsSum {
			w.round(sum, r)
		}
		for k := range f {
			f[k] += sum[k]
		}
		x.applyFactors(f, first)
		done()
		if k+1 < len(w.products) && !w.once {
			w.round(f, r)
		}
	}
	model.Round(p, w.info.DType, f)
	return w.checkFinite(p, r, first)
}

// checkFinite refuses a number that is not finite although the base's, or that of the tensor
// that replaces it, is: the product overflows float32 or the base's type.
func (w *weight) checkFinite(p []byte, r *buffers, first int64) error {
	n := int64(len(p)) / model.Size(w.info.DType)
	f, was := r.w[:n], r.sum[:n]
	model.Widen(f, w.info.DType, p)
	if !slices.ContainsFunc(f, infinite) {
		return nil
	}
	if err := w.source.Read(was, rawBytes(r.also), first); err != nil {
		return err
	}
	for k := range f {
		if infinite(f[k]) && !infinite(was[k]) {
			return wire.At("merge", "tensor "+wire.Quote(w.info.Name), wire.NoOffset, wire.ErrRange.Errorf("element %d of the result is too large for %s: the adapter's lora_alpha, or its weight, is too large", first+int64(k), w.info.DType))
		}
	}
	return nil
}

// infinite reports an infinity or NaN.
func infinite(f float32) bool { return f-f != 0 }

// applyFactors multiplies by DoRA's factors, if there are any.
func (x *matrices) applyFactors(f []float32, first int64) {
	for k := 0; x.factor != nil && k < len(f); {
		row, col := (first+int64(k))/x.cols, (first+int64(k))%x.cols
		n := int(min(int64(len(f)-k), x.cols-col))
		if x.byColumn() {
			for j := range f[k : k+n] {
				f[k+j] *= x.factor[col+int64(j)]
			}
		} else {
			for j := range f[k : k+n] {
				f[k+j] *= x.factor[row]
			}
		}
		k += n
	}
}

// newWeight returns one tensor of the result.
func newWeight(b *limits.Budget, x *binder, i int, t *target, sources []tensor.Model) (*weight, error) {
	w := &weight{info: x.infos[i], elements: x.infos[i].Elements(), same: true, once: x.base.Format() == gguf.Format}
	from, info := sources[0], w.info
	if t.whole.Name != "" {
		from, info, w.same = sources[1+t.from], t.whole, t.whole.DType == w.info.DType
	}
	if err := b.Hold(512); err != nil {
		return nil, err
	}
	var err error
	if w.source, err = model.NewNumbers(from, info); err != nil {
		return nil, err
	}
	for _, i := range t.copies {
		if err := b.Hold(128); err != nil {
			return nil, err
		}
		numbers, err := model.NewNumbers(from, i)
		if err != nil {
			return nil, err
		}
		w.copies, w.copied = append(w.copies, numbers), append(w.copied, i.Name)
	}
	for _, list := range t.rows {
		if err := b.Hold(128); err != nil {
			return nil, err
		}
		reader, err := list.reader(sources[1+list.from])
		if err != nil {
			return nil, err
		}
		w.rows = append(w.rows, reader)
	}
	return w, nil
}
