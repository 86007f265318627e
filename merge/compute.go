package merge

import (
	"math"

	"github.com/anamnesis-go/anamnesis/asm"
	"github.com/anamnesis-go/anamnesis/internal/derive"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// A group is one tensor of the result and what it is made of.
type group struct {
	info     tensor.Info
	elements int64
	method   *method
	dtype    tensor.DType // what inputs and results are rounded to; Unknown is none
	inputs   []input
	base     int // of the inputs, -1 for none
	shared   map[string]float64
	index    int // of its work
	held     *derive.Held[*work]
	rooms    *derive.Rooms
}

// An input is one tensor that is merged.
type input struct {
	numbers *derive.Numbers
	rounded bool // to the dtype, as they are read
	model   string
	key     uint64 // of its random numbers
	weight  float32
	density float64
	scale   float32
}

// work is what depends on the whole of a group's tensors.
type work struct {
	keep   []kept // of each input
	angles [2]float32
	crew   *crew // that finds it
	b      *limits.Budget
}

// A room is what one reader computes in: the numbers of each input, and three more.
type room struct {
	rooms         *derive.Rooms
	in            [][]float32
	sum, div, raw []float32
	work          *work
}

func (g *group) take() (*room, error) {
	r := &room{rooms: g.rooms, in: make([][]float32, 0, maxParts)}
	for range len(g.inputs) + 3 {
		one, err := g.rooms.Take()
		if err != nil {
			r.back()
			return nil, err
		}
		r.in = append(r.in, one)
	}
	n := len(g.inputs)
	r.sum, r.div, r.raw = r.in[n], r.in[n+1], r.in[n+2]
	return r, nil
}

func (r *room) back() {
	for _, one := range r.in {
		r.rooms.Back(one)
	}
}

// read reads as many numbers of each input as a room has.
func (g *group) read(r *room, first int64, n int) error {
	for i := range g.inputs {
		if err := g.one(r, i, first, n); err != nil {
			return err
		}
	}
	return nil
}

// one reads numbers of one input.
func (g *group) one(r *room, i int, first int64, n int) error {
	in := &g.inputs[i]
	if err := in.numbers.Read(r.in[i][:n], asm.Raw(r.raw), first); err != nil {
		return err
	}
	if in.rounded {
		g.round(r, r.in[i][:n])
	}
	return nil
}

// rounds reports a type whose numbers the dtype may not have.
func (g *group) rounds(t tensor.DType) bool {
	return g.dtype != tensor.Unknown && g.dtype != tensor.F32 && g.dtype != t
}

// round makes numbers those of the dtype.
func (g *group) round(r *room, numbers []float32) {
	raw := asm.Raw(r.raw)[:int64(len(numbers))*derive.Size(g.dtype)]
	derive.Round(raw, g.dtype, numbers)
	derive.Widen(numbers, g.dtype, raw)
}

// pieces goes through a span piece by piece, of which each costs a step.
func (g *group) pieces(from, to int64, each func(first int64, n int) error) error {
	for first := from; first < to; first += derive.PieceElements {
		if err := g.rooms.Step(); err != nil {
			return err
		}
		if err := each(first, int(min(derive.PieceElements, to-first))); err != nil {
			return err
		}
	}
	return nil
}

// ReadAt implements [io.ReaderAt]; ranges are of whole elements.
func (g *group) ReadAt(p []byte, off int64) (int, error) {
	size := derive.Size(g.info.DType)
	if off%size != 0 || int64(len(p))%size != 0 {
		return 0, wire.ErrInternal.Errorf("a read splits an element")
	}
	r, err := g.take()
	if err != nil {
		return 0, err
	}
	defer r.back()
	if g.method.prepare != nil {
		w, done, err := g.held.Use(g.index)
		if err != nil {
			return 0, err
		}
		defer done()
		if err := w.crew.join(r, g.elements); err != nil {
			return 0, err
		}
		r.work = w
	}
	for done := 0; done < len(p); {
		n := min(len(r.raw), (len(p)-done)/int(size))
		first := (off + int64(done)) / size
		if err := g.read(r, first, n); err != nil {
			return done, err
		}
		piece := *r
		piece.sum, piece.div = r.sum[:n], r.div[:n]
		g.method.compute(g, &piece, first)
		if g.rounds(g.info.DType) {
			g.round(r, piece.sum)
		}
		derive.Round(p[done:done+n*int(size)], g.info.DType, piece.sum)
		done += n * int(size)
	}
	return len(p), nil
}

// linear is the sum of weight*x in the order of the inputs, over the sum of weights.
func (g *group) linear(r *room, _ int64) {
	clear(r.sum)
	var total float32
	for i := range g.inputs {
		w := g.inputs[i].weight
		total += w
		for k, f := range r.in[i][:len(r.sum)] {
			r.sum[k] += float32(w * f)
		}
	}
	if g.shared["normalize"] != 0 {
		for k := range r.sum {
			r.sum[k] /= total
		}
	}
}

func (g *group) passthrough(r *room, _ int64) {
	for k, f := range r.in[0][:len(r.sum)] {
		r.sum[k] = f * g.inputs[0].scale
	}
}

// slerp weighs both by the angle between them.
func (g *group) slerp(r *room, _ int64) {
	a, b := r.in[g.base][:len(r.sum)], r.in[1-g.base][:len(r.sum)]
	for k := range r.sum {
		r.sum[k] = float32(r.work.angles[0]*a[k]) + float32(r.work.angles[1]*b[k])
	}
}

// products are sums over a span of two tensors, in float64.
type products struct{ aa, bb, ab float64 }

// angle finds the two factors: of the tensors as vectors of norm 1 the angle, or t
// itself where they are nearly parallel.
func (g *group) angle(w *work) ([]phase, error) {
	sums, err := limits.Make[products](w.b, w.crew.spans)
	span := func(r *room, k int, from, to int64) error {
		return g.pieces(from, to, func(first int64, n int) error {
			err := g.read(r, first, n)
			sums[k].add(r.in[g.base][:n], r.in[1-g.base][:n])
			return err
		})
	}
	end := func(*room) error {
		var all products
		for _, s := range sums {
			all = products{all.aa + s.aa, all.bb + s.bb, all.ab + s.ab}
		}
		w.angles = all.factors(g.shared["t"])
		return nil
	}
	return []phase{{span, end}}, err
}

func (p *products) add(a, b []float32) {
	b = b[:len(a)]
	for k := range a {
		x, y := float64(a[k]), float64(b[k])
		p.aa += float64(x * x)
		p.bb += float64(y * y)
		p.ab += float64(x * y)
	}
}

func (p products) factors(t float64) [2]float32 {
	const eps, parallel = 1e-8, 0.9995
	norm := func(sum float64) float64 {
		if n := math.Sqrt(sum); n > eps {
			return n
		}
		return 1
	}
	dot := max(-1, min(1, p.ab/norm(p.aa)/norm(p.bb)))
	if math.Abs(dot) <= parallel {
		theta := math.Acos(dot)
		return [2]float32{float32(math.Sin((1-t)*theta) / math.Sin(theta)), float32(math.Sin(t*theta) / math.Sin(theta))}
	}
	return [2]float32{float32(1 - t), float32(t)}
}
