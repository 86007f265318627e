package convert

import (
	"io"
	"iter"
	"slices"
	"sync"

	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
	"github.com/anamnesis-go/anamnesis/quant"
)

// decoded is a model whose quantized weights are read as F32, as if it had not been
// quantized. Rows are decoded when they are read.
type decoded struct {
	tensor.Model
	b       *limits.Budget
	bound   *quant.Bound
	infos   []tensor.Info
	weights []*quant.Weight // parallel to infos; nil for a tensor that is not quantized
	names   *wire.NameSet
	idle    idleRows
}

// maxIdle is how many idle readers are kept. Each may hold a strip of a weight whose rows
// are columns of what is stored.
const maxIdle = 8

// decode returns a model as it is without quantization, with the names of transformers.
func decode(b *limits.Budget, m tensor.Model, o quant.Options) (*decoded, error) {
	o.Folder, o.Target = true, quant.F32
	bound, err := quant.Plan(b, m, o)
	if err != nil {
		return nil, err
	}
	d := &decoded{Model: m, b: b, bound: bound}
	n := len(bound.Plain) + len(bound.Weights)
	if d.infos, err = limits.Make[tensor.Info](b, n); err != nil {
		return nil, err
	}
	if d.weights, err = limits.Make[*quant.Weight](b, n); err != nil {
		return nil, err
	}
	if d.names, err = wire.NewNameSet(b, n, func(i int) string { return d.infos[i].Name }); err != nil {
		return nil, err
	}
	copy(d.infos, bound.Plain)
	for i, w := range bound.Weights {
		if err := w.Check(b, m); err != nil {
			return nil, err
		}
		at := len(bound.Plain) + i
		d.infos[at] = tensor.Info{Name: w.Name, DType: tensor.F32, Shape: w.Shape, Span: tensor.Span{Len: w.Size(quant.F32)}, Part: w.Parts[0].Part}
		d.weights[at] = w
	}
	for i := range d.infos {
		if _, added, err := d.names.Add(i); err != nil {
			return nil, err
		} else if !added {
			return nil, wire.ErrDuplicate.Errorf("two tensors are named %s", wire.Quote(d.infos[i].Name))
		}
	}
	return d, nil
}

func (d *decoded) Len() int                       { return len(d.infos) }
func (d *decoded) Tensors() iter.Seq[tensor.Info] { return slices.Values(d.infos) }

func (d *decoded) weight(i *tensor.Info) *quant.Weight {
	if n, ok := d.names.Find(i.Name); ok {
		return d.weights[n]
	}
	return nil
}

// At reads a weight at any offset. A weight in a deflated archive is decoded from its
// beginning whenever the reader goes back.
func (d *decoded) At(i tensor.Info) (io.ReaderAt, bool) {
	if w := d.weight(&i); w != nil {
		return &decodedReader{d, w}, true
	}
	return d.Model.At(i)
}

// Body reads a weight from its beginning.
func (d *decoded) Body(b *limits.Budget, i tensor.Info) (io.ReadCloser, error) {
	if w := d.weight(&i); w != nil {
		return io.NopCloser(io.NewSectionReader(&decodedReader{d, w}, 0, w.Size(quant.F32))), nil
	}
	return d.Model.Body(b, i)
}

// Close closes the idle readers.
func (d *decoded) Close() error {
	d.idle.keep(0)
	return d.Model.Close()
}

// decodedReader reads one weight.
type decodedReader struct {
	d *decoded
	w *quant.Weight
}

// ReadAt implements [io.ReaderAt].
func (r *decodedReader) ReadAt(p []byte, off int64) (int, error) {
	want := len(p)
	if p = p[:min(int64(want), max(0, r.w.Size(quant.F32)-off))]; len(p) == 0 {
		return 0, io.EOF
	}
	rows, err := r.d.idle.take(r.d.b, r.d.Model, r.w)
	if err != nil {
		return 0, err
	}
	defer r.d.idle.give(rows)
	row := 4 * r.w.Cols()
	done := 0
	for done < len(p) {
		at := off + int64(done)
		rows.Goto(at / row)
		into, within := p[done:], at%row
		if within == 0 && int64(len(into)) >= row {
			n, err := rows.Next(into)
			if done += n; err != nil {
				return done, err
			}
			continue
		}
		if rows.line, err = sized(rows.b, rows.line, int(row)); err != nil {
			return done, err
		}
		if _, err := rows.Next(rows.line[:row]); err != nil {
			return done, err
		}
		done += copy(into, rows.line[within:])
	}
	if done < want {
		return done, io.EOF
	}
	return done, nil
}

// lineRows is a reader of a weight's rows with an account of its own.
type lineRows struct {
	*quant.Rows
	b    *limits.Budget
	w    *quant.Weight
	line []byte // one row, of which a part was read
}

func (r *lineRows) close() {
	r.Close()
	r.b.Close()
}

// idleRows are idle readers, the most recently used at the end.
type idleRows struct {
	mu   sync.Mutex
	list []*lineRows
}

// take returns an unused reader of a weight.
func (l *idleRows) take(b *limits.Budget, m tensor.Model, w *quant.Weight) (*lineRows, error) {
	l.mu.Lock()
	for i, r := range slices.Backward(l.list) {
		if r.w == w {
			l.list = slices.Delete(l.list, i, i+1)
			l.mu.Unlock()
			return r, nil
		}
	}
	l.mu.Unlock()
	r := &lineRows{b: b.Probe(), w: w}
	var err error
	if r.Rows, err = quant.NewRows(r.b, m, w, quant.F32, 0); err != nil {
		r.b.Close()
		return nil, err
	}
	return r, nil
}

// give returns a reader to the idle ones.
func (l *idleRows) give(r *lineRows) {
	l.mu.Lock()
	l.list = append(l.list, r)
	l.mu.Unlock()
	l.keep(maxIdle)
}

// keep closes all but the most recently used readers.
func (l *idleRows) keep(most int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for len(l.list) > most {
		l.list[0].close()
		l.list = slices.Delete(l.list, 0, 1)
	}
}
