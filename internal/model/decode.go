package model

import (
	"io"
	"slices"
	"sync"

	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
	"github.com/anamnesis-go/anamnesis/quant"
)

// Decode returns a model whose quantized weights are read as F32, as if it had not been
// quantized, with the names of transformers. Rows are decoded when they are read. It owns m.
func Decode(b *limits.Budget, m tensor.Model, o quant.Options) (*Model, error) {
	o.Folder, o.Target = true, quant.F32
	bound, err := quant.Plan(b, m, o)
	if err != nil {
		return nil, err
	}
	d, err := New(b, len(bound.Plain)+len(bound.Weights), m)
	if err != nil {
		return nil, err
	}
	idle := &idleRows{b: b, m: m}
	d.Also, d.Bound = idle, bound
	for _, i := range bound.Plain {
		if err := d.Add(b, Same(m, i, i.Name)); err != nil {
			return nil, err
		}
	}
	for _, w := range bound.Weights {
		if err := w.Check(b, m); err != nil {
			return nil, err
		}
		i := Plain(w.Name, tensor.F32, w.Shape)
		i.Part = w.Parts[0].Part
		if err := d.Add(b, Tensor{Info: i, Source: &Decoded{i, w, idle}, Weight: w}); err != nil {
			return nil, err
		}
	}
	return d, nil
}

// Decoded is a quantized weight whose numbers are read as F32.
type Decoded struct {
	info tensor.Info
	w    *quant.Weight
	idle *idleRows
}

// Info implements [Source], as do At, Body and Costly.
func (d *Decoded) Info() *tensor.Info { return &d.info }

// At reads at any offset. A weight in a deflated archive is decoded from its beginning
// whenever the reader goes back.
func (d *Decoded) At() (io.ReaderAt, bool) { return decodedReader{d}, true }

// Body reads from the beginning.
func (d *Decoded) Body(*limits.Budget) (io.ReadCloser, error) {
	return io.NopCloser(io.NewSectionReader(decodedReader{d}, 0, d.w.Size(quant.F32))), nil
}

// Costly is true: a read decodes whole rows.
func (*Decoded) Costly() bool { return true }

// maxIdle is how many idle readers are kept. Each may hold a strip of a weight whose rows
// are columns of what is stored.
const maxIdle = 8

type decodedReader struct{ *Decoded }

// ReadAt implements [io.ReaderAt].
func (r decodedReader) ReadAt(p []byte, off int64) (int, error) {
	want := len(p)
	if p = p[:min(int64(want), max(0, r.w.Size(quant.F32)-off))]; len(p) == 0 {
		return 0, io.EOF
	}
	rows, err := r.idle.take(r.w)
	if err != nil {
		return 0, err
	}
	defer r.idle.give(rows)
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
		if int64(cap(rows.line)) < row {
			if rows.line, err = limits.Make[byte](rows.b, int(row)); err != nil {
				return done, err
			}
		}
		if _, err := rows.Next(rows.line[:row]); err != nil {
			return done, err
		}
		done += copy(into, rows.line[within:row])
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
	b    *limits.Budget
	m    tensor.Model
	mu   sync.Mutex
	list []*lineRows
}

// take returns an unused reader of a weight.
func (l *idleRows) take(w *quant.Weight) (*lineRows, error) {
	l.mu.Lock()
	for i, r := range slices.Backward(l.list) {
		if r.w == w {
			l.list = slices.Delete(l.list, i, i+1)
			l.mu.Unlock()
			return r, nil
		}
	}
	l.mu.Unlock()
	r := &lineRows{b: l.b.Probe(), w: w}
	var err error
	if r.Rows, err = quant.NewRows(r.b, l.m, w, quant.F32, 0); err != nil {
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

// Close closes the idle readers.
func (l *idleRows) Close() error {
	l.keep(0)
	return nil
}
