package merge

import (
	"math"

	"github.com/anamnesis-go/anamnesis/asm"
	"github.com/anamnesis-go/anamnesis/internal/derive"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// A group is one tensor of the result and what it is made of.
type group struct {
	info     tensor.Info
	elements int64
	method   *method
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
		if err := g.inputs[i].numbers.Read(r.in[i][:n], asm.Raw(r.raw), first); err != nil {
			return err
		}
	}
	return nil
}

// pieces reads all numbers of the inputs, piece by piece.
func (g *group) pieces(r *room, step func() error, each func(first int64, n int)) error {
	for first := int64(0); first < g.elements; {
		if err := step(); err != nil {
			return err
		}
		n := int(min(int64(len(r.raw)), g.elements-first))
		if err := g.read(r, first, n); err != nil {
			return err
		}
		each(first, n)
		first += int64(n)
	}
	return nil
}

// ReadAt implements [io.ReaderAt]; ranges are of whole elements.
func (g *group) ReadAt(p []byte, off int64) (int, error) {
	size := derive.Size(g.info.DType)
	if off%size != 0 || int64(len(p))%size != 0 {
		return 0, wire.ErrInternal.With("an element is read in parts")
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

// angle finds the two factors: of the tensors as vectors of norm 1 the angle, or t
// itself where they are nearly parallel. Sums are float64.
func (g *group) angle(w *work) error {
	r, err := g.take()
	if err != nil {
		return err
	}
	defer r.back()
	var aa, bb, ab float64
	err = g.pieces(r, g.step, func(_ int64, n int) {
		a, b := r.in[g.base][:n], r.in[1-g.base][:n]
		for k := range a {
			x, y := float64(a[k]), float64(b[k])
			aa += float64(x * x)
			bb += float64(y * y)
			ab += float64(x * y)
		}
	})
	const eps, parallel = 1e-8, 0.9995
	norm := func(sum float64) float64 {
		if n := math.Sqrt(sum); n > eps {
			return n
		}
		return 1
	}
	t := g.shared["t"]
	dot := max(-1, min(1, ab/norm(aa)/norm(bb)))
	w.angles = [2]float32{float32(1 - t), float32(t)}
	if math.Abs(dot) <= parallel {
		theta := math.Acos(dot)
		w.angles = [2]float32{float32(math.Sin((1-t)*theta) / math.Sin(theta)), float32(math.Sin(t*theta) / math.Sin(theta))}
	}
	return err
}

// differences adds what the inputs differ from the base by: each difference
// thinned, scaled again, and weighed; where signs are elected, only those of the sign
// of the sum.
func (g *group) differences(r *room, first int64) {
	n := len(r.sum)
	base := r.in[g.base][:n]
	var total float32
	for i := range g.inputs {
		if i == g.base {
			continue
		}
		total += g.inputs[i].weight
		g.difference(r, i, base, first)
	}
	clear(r.sum)
	for i := range g.inputs {
		for k := 0; i != g.base && k < n; k++ {
			r.sum[k] += r.in[i][k]
		}
	}
	normalize, lambda := g.shared["normalize"] != 0, float32(g.shared["lambda"])
	if g.method.elect {
		g.elect(r)
	} else {
		if math.Abs(float64(total)) < 1e-8 {
			total = 1
		}
		for k := range r.div {
			r.div[k] = total
		}
	}
	for k := range r.sum {
		f := r.sum[k]
		if normalize {
			f /= r.div[k]
		}
		f *= lambda // by 1 nothing changes
		r.sum[k] = base[k] + f
	}
}

// elect keeps of each number those differences that have the sign of their sum, a
// sum of zero being positive; div is the sum of their weights, 1 for none.
func (g *group) elect(r *room) {
	for k, sum := range r.sum {
		var mixed, weights float32
		for i := range g.inputs {
			if d := r.in[i][k]; i != g.base && (d > 0 && sum >= 0 || d < 0 && !(sum >= 0)) {
				mixed += d
				weights += g.inputs[i].weight
			}
		}
		if weights == 0 {
			weights = 1
		}
		r.sum[k], r.div[k] = mixed, weights
	}
}

// difference makes an input's numbers those by which it differs.
func (g *group) difference(r *room, i int, base []float32, first int64) {
	d := r.in[i][:len(base)]
	for k := range d {
		d[k] -= base[k]
	}
	w := g.inputs[i].weight
	var keep kept
	if r.work != nil {
		keep = r.work.keep[i]
		keep.thin(d, first, &g.inputs[i])
	}
	for k := range d {
		f := d[k]
		if keep.scale != 0 {
			f *= keep.scale
		}
		d[k] = f * w
	}
}
