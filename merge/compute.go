package merge

import (
	"math"

	"github.com/anamnesis-go/anamnesis/asm"
	"github.com/anamnesis-go/anamnesis/internal/model"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// A group computes one tensor of the result from tensors of several models.
type group struct {
	info     tensor.Info
	elements int64
	method   *method
	dtype    tensor.DType // the type that inputs and results are rounded to, or Unknown
	inputs   []input
	base     int // index of the base in inputs, -1 for none
	shared   map[string]float64
	index    int // index of its work in held
	held     *model.Held[*work]
	rooms    *model.Rooms[float32]
}

// An input is one of the merged tensors.
type input struct {
	numbers *model.Numbers
	rounded bool // the numbers are rounded to the dtype when they are read
	model   string
	key     uint64 // key of its random numbers
	weight  float32
	density float64
	scale   float32
}

// work holds what depends on whole tensors of a group.
type work struct {
	keep   []selection // for each input
	angles [2]float32
	runner *phaseRunner // that finds it
	b      *limits.Budget
}

// buffers are those of one reader: one for the numbers of each input, and three more.
type buffers struct {
	rooms         *model.Rooms[float32]
	in            [][]float32
	sum, div, raw []float32
	work          *work
}

func (g *group) takeBuffers() (*buffers, error) {
	r := &buffers{rooms: g.rooms, in: make([][]float32, 0, maxParts)}
	for range len(g.inputs) + 3 {
		one, err := g.rooms.Take()
		if err != nil {
			r.release()
			return nil, err
		}
		r.in = append(r.in, one)
	}
	n := len(g.inputs)
	r.sum, r.div, r.raw = r.in[n], r.in[n+1], r.in[n+2]
	return r, nil
}

func (r *buffers) release() {
	for _, one := range r.in {
		r.rooms.Back(one)
	}
}

// readInputs reads n numbers of each input.
func (g *group) readInputs(r *buffers, first int64, n int) error {
	for i := range g.inputs {
		if err := g.readInput(r, i, first, n); err != nil {
			return err
		}
	}
	return nil
}

// readInput reads n numbers of one input.
func (g *group) readInput(r *buffers, i int, first int64, n int) error {
	in := &g.inputs[i]
	if err := in.numbers.Read(r.in[i][:n], asm.Raw(r.raw), first); err != nil {
		return err
	}
	if in.rounded {
		g.round(r, r.in[i][:n])
	}
	return nil
}

// needsRounding reports whether the dtype may not represent numbers of type t.
func (g *group) needsRounding(t tensor.DType) bool {
	return g.dtype != tensor.Unknown && g.dtype != tensor.F32 && g.dtype != t
}

// round rounds numbers to the dtype.
func (g *group) round(r *buffers, numbers []float32) {
	raw := asm.Raw(r.raw)[:int64(len(numbers))*model.Size(g.dtype)]
	model.Round(raw, g.dtype, numbers)
	model.Widen(numbers, g.dtype, raw)
}

// forEachPiece calls each for every piece of a span; a piece costs a step.
func (g *group) forEachPiece(from, to int64, each func(first int64, n int) error) error {
	for first := from; first < to; first += model.PieceElements {
		if err := g.rooms.Step(); err != nil {
			return err
		}
		if err := each(first, int(min(model.PieceElements, to-first))); err != nil {
			return err
		}
	}
	return nil
}

// ReadAt implements [io.ReaderAt]; ranges are of whole elements.
func (g *group) ReadAt(p []byte, off int64) (int, error) {
	size := model.Size(g.info.DType)
	if off%size != 0 || int64(len(p))%size != 0 {
		return 0, wire.ErrInternal.Errorf("a read splits an element")
	}
	r, err := g.takeBuffers()
	if err != nil {
		return 0, err
	}
	defer r.release()
	if g.method.prepare != nil {
		w, done, err := g.held.Use(g.index)
		if err != nil {
			return 0, err
		}
		defer done()
		if err := w.runner.join(r, g.elements); err != nil {
			return 0, err
		}
		r.work = w
	}
	for done := 0; done < len(p); {
		n := min(len(r.raw), (len(p)-done)/int(size))
		first := (off + int64(done)) / size
		if err := g.readInputs(r, first, n); err != nil {
			return done, err
		}
		piece := *r
		piece.sum, piece.div = r.sum[:n], r.div[:n]
		g.method.compute(g, &piece, first)
		if g.needsRounding(g.info.DType) {
			g.round(r, piece.sum)
		}
		model.Round(p[done:done+n*int(size)], g.info.DType, piece.sum)
		done += n * int(size)
	}
	return len(p), nil
}

// linear computes sum(weight*x), in the order of the inputs, and with normalize divides it by
// the sum of the weights.
func (g *group) linear(r *buffers, _ int64) {
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

func (g *group) passthrough(r *buffers, _ int64) {
	for k, f := range r.in[0][:len(r.sum)] {
		r.sum[k] = f * g.inputs[0].scale
	}
}

// slerp interpolates between two inputs by the angle between them.
func (g *group) slerp(r *buffers, _ int64) {
	a, b := r.in[g.base][:len(r.sum)], r.in[1-g.base][:len(r.sum)]
	for k := range r.sum {
		r.sum[k] = float32(r.work.angles[0]*a[k]) + float32(r.work.angles[1]*b[k])
	}
}

// products are dot products over a span of two tensors, in float64.
type products struct{ aa, bb, ab float64 }

// angle returns the phase that computes the two factors of slerp from the angle between the
// tensors as vectors, or from t alone if they are nearly parallel.
func (g *group) angle(w *work) ([]phase, error) {
	sums, err := limits.Make[products](w.b, w.runner.spans)
	span := func(r *buffers, k int, from, to int64) error {
		return g.forEachPiece(from, to, func(first int64, n int) error {
			err := g.readInputs(r, first, n)
			sums[k].add(r.in[g.base][:n], r.in[1-g.base][:n])
			return err
		})
	}
	end := func(*buffers) error {
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
