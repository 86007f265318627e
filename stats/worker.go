package stats

import (
	"encoding/binary"
	"io"
	"math"

	"github.com/anamnesis-go/anamnesis/internal/elements"
	"github.com/anamnesis-go/anamnesis/internal/number"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
	"github.com/anamnesis-go/anamnesis/quant"
)

// pieceElements is how many elements are read at a time: a multiple of every type's
// block.
const pieceElements = 32 << 10

// A worker reads one tensor at a time.
type worker struct {
	j      *job
	bytes  []byte         // a piece as it is stored, or decoded
	tile   []float32      // its numbers
	values []number.Value // or those of types that float32 does not hold
	counts counts
}

func newWorker(j *job) (w *worker, err error) {
	w = &worker{j: j}
	if w.bytes, err = limits.Make[byte](j.b, pieceElements*16); err != nil {
		return nil, err
	}
	if w.tile, err = limits.Make[float32](j.b, pieceElements); err != nil {
		return nil, err
	}
	w.values, err = limits.Make[number.Value](j.b, pieceElements)
	return w, err
}

// work reads tensors until there are none left.
func (w *worker) work() {
	j := w.j
	for !j.failed.Load() {
		i := int(j.next.Add(1)) - 1
		if i >= len(j.items) {
			return
		}
		t, err := w.read(&j.items[i])
		if err != nil {
			j.errs[i] = located(j.m, t.Name, err)
			j.failed.Store(true)
			return
		}
		j.list[i] = t
	}
}

// tensorSteps are those of a tensor, whatever its size: opening and closing an account and a
// reader, and what is kept of it, takes some ten microseconds.
const tensorSteps = 120

func (w *worker) read(i *item) (t Tensor, err error) {
	account := w.j.b.Probe() // what reading needs is given back
	defer account.Close()
	if err := account.Step(tensorSteps); err != nil {
		return t, err
	}
	w.counts = counts{first: -1}
	if i.weight != nil {
		t = Tensor{Name: i.weight.Name, Type: typeOf(i.weight), Shape: i.weight.Shape, Numbers: true}
		err = w.weight(account, i.weight)
	} else {
		t = Tensor{Name: i.info.Name, Type: i.info.TypeName(), Shape: i.info.Shape}
		t.Numbers, err = w.tensor(account, &i.info)
		t.Elements = i.info.Elements()
	}
	if err != nil {
		return t, err
	}
	if t.Numbers {
		t.Elements = w.counts.seen
	}
	return t, w.counts.finish(w.j.b, &t)
}

// typeOf names the type of blocks that hold their own scales, such as Q4_K, and the scheme of a
// weight that several tensors hold.
func typeOf(q *quant.Weight) string {
	if len(q.Parts) == 1 && len(q.Extra) == 0 {
		return q.Parts[0].TypeName()
	}
	return q.Scheme
}

// weight decodes a weight to float32.
func (w *worker) weight(b *limits.Budget, q *quant.Weight) error {
	rows, err := quant.NewRows(b, w.j.m, q, quant.F32, 0)
	if err != nil {
		return err
	}
	defer rows.Close()
	p := w.bytes
	if most := rows.Most(); most > int64(len(p)) { // a single row is longer
		if p, err = limits.Make[byte](b, int(most)); err != nil {
			return err
		}
	}
	stored, size := q.Stored(), q.Size(quant.F32)
	for {
		if err := b.Step(1); err != nil {
			return err
		}
		n, err := rows.Next(p)
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		for at := 0; at < n; at += 4 * pieceElements {
			part := p[at:min(n, at+4*pieceElements)]
			tile := w.tile[:len(part)/4]
			for k := range tile {
				tile[k] = math.Float32frombits(binary.LittleEndian.Uint32(part[4*k:]))
			}
			w.counts.floats(tile)
		}
		w.done(int64(float64(n) / float64(size) * float64(stored)))
	}
}

// tensor reads a tensor's own elements; it returns false if they are not numbers.
func (w *worker) tensor(b *limits.Budget, i *tensor.Info) (bool, error) {
	codec, floats := quant.CodecOf(i.DType)
	load := number.Of(i.DType)
	if i.DType == tensor.F64 || !floats && load == nil {
		floats = false
	}
	if !floats && load == nil {
		w.done(i.Bytes())
		return false, nil
	}
	src, err := elements.Open(b, w.j.m, *i)
	if err != nil {
		return false, err
	}
	defer src.Close()
	for left := i.Elements(); left > 0; {
		if err := b.Step(1); err != nil {
			return false, err
		}
		n := min(left, pieceElements)
		p := w.bytes[:elements.Size(i.DType, n)]
		if err := src.Read(p); err != nil {
			return false, err
		}
		if floats {
			codec.Decode(w.tile[:whole(i.DType, int64(len(p)))], p)
			w.counts.floats(w.tile[:n])
		} else {
			load(w.values[:n], p, w.tile)
			w.counts.values(w.values[:n])
		}
		left -= n
		w.done(int64(len(p)))
	}
	return true, nil
}

// whole returns the number of elements in n bytes, which end with a whole block.
func whole(t tensor.DType, n int64) int64 {
	g, _ := t.Geometry()
	return n / int64(g.Bytes) * int64(g.Elems)
}

func (w *worker) done(n int64) {
	if w.j.o.Done != nil {
		w.j.o.Done.Add(n)
	}
}
