package convert

import (
	"cmp"
	"io"
	"io/fs"
	"iter"

	"github.com/anamnesis-go/anamnesis/internal/family"
	"github.com/anamnesis-go/anamnesis/internal/model"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser"
	"github.com/anamnesis-go/anamnesis/parser/gguf"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
	"github.com/anamnesis-go/anamnesis/quant"
)

// LlamaCPP converts a transformers model to llama.cpp's form.
type LlamaCPP struct {
	// Name is general.name.
	Name string
	// Pre names the pre-tokenizer, if llama.cpp's table does not have it.
	Pre string
	// Template says that the caller gives tokenizer.chat_template, so that a vocabulary
	// for which there is none is not refused.
	Template bool
	// TensorsAlone leaves keys and vocabulary out: to compare tensors.
	TensorsAlone bool
	// Projector writes the vision part of a model instead of its text model, for the file
	// that llama.cpp loads beside the text model.
	Projector bool
	// Quant says how quantized weights are read, and the type they are decoded to.
	Quant quant.Options
	// Blocks keeps experts that are stored in MXFP4 blocks in this type, as llama.cpp's
	// converter does: codes are moved and nothing is rounded.
	Blocks bool
	// All converts all matrices to Quant.Target, including those that were not quantized,
	// as --outtype of llama.cpp's converter does.
	All bool
}

// Stated reports whether a model is in a transformers folder, whose config.json names its
// architecture.
func Stated(m tensor.Model) bool { return m.Format() != gguf.Format && family.Stated(m.Configs()) }

// Model returns a transformers model in the form of llama.cpp: names, order of rows,
// stacked experts, tensors derived from the configuration, keys and vocabulary. No tensor
// is read. The result owns m: closing it closes m. An unknown architecture is refused by
// name.
func (l LlamaCPP) Model(b *limits.Budget, m tensor.Model) (tensor.Model, error) {
	r, err := l.model(b, m)
	if err != nil {
		return nil, wire.At("convert", "", wire.NoOffset, err)
	}
	return r, nil
}

func (l LlamaCPP) model(b *limits.Budget, m tensor.Model) (*rewritten, error) {
	if m.Format() == "pth" {
		if err := parser.Verify(b, m); err != nil {
			return nil, err
		}
	}
	m, err := unstacked(b, m)
	if err != nil {
		return nil, err
	}
	o := family.Options{Name: l.Name, Pre: l.Pre, Template: l.Template, TensorsAlone: l.TensorsAlone, Projector: l.Projector}
	r := &rewritten{Model: m, b: b, files: m.Configs(), all: l.All}
	if l.All {
		o.Type = l.Quant.Target.DType()
	}
	if quant.Any(m) {
		d, err := decode(b, m, l.Quant)
		if err != nil {
			return nil, err
		}
		r.Model, r.decoded, m = d, d, d
		o.Decoded = func(i *tensor.Info) (tensor.DType, bool) { return l.Quant.Target.DType(), d.weight(i) != nil }
		if l.Blocks {
			o.Packed = d.packed
		}
	}
	plan, err := family.New(b, m, o)
	if err != nil {
		return nil, err
	}
	r.straight, r.tensors, r.keys, r.moved = model.NewStraight(b, m), plan.Tensors, plan.Keys, plan.Moved
	return r, r.index()
}

// rewritten is a model whose tensors are computed from another's when they are read.
type rewritten struct {
	tensor.Model
	b        *limits.Budget
	straight *model.Straight
	decoded  *decoded // Model with decoded weights, nil if nothing is quantized
	tensors  []family.Tensor
	keys     []family.Key
	files    fs.FS
	left     []string // files that could not be made, with the reason
	format   string   // format; "" is GGUF
	mlx      *family.MLX
	moved    bool // some tensors stay blocks
	unpacked bool // some tensors stay blocks, in a transformers folder
	all      bool // cast all matrices
	names    *wire.NameSet
}

// index indexes tensors by name; no two may be equal.
func (r *rewritten) index() (err error) {
	if r.names, err = wire.NewNameSet(r.b, len(r.tensors), func(i int) string { return r.tensors[i].Name }); err != nil {
		return err
	}
	for i := range r.tensors {
		if _, added, err := r.names.Add(i); err != nil {
			return err
		} else if !added {
			return wire.ErrDuplicate.Errorf("tensor %s", wire.Quote(r.tensors[i].Name))
		}
	}
	return nil
}

// Format returns the target's format.
func (r *rewritten) Format() string { return cmp.Or(r.format, gguf.Format) }
func (r *rewritten) Len() int       { return len(r.tensors) }

// Configs returns the files of the model, or those made from its keys.
func (r *rewritten) Configs() fs.FS { return r.files }

// Place, Placed and Note are those of the source.
func (r *rewritten) Placed() io.Closer {
	if p, ok := r.Model.(tensor.Placer); ok {
		return p.Placed()
	}
	return nil
}

// Tensors lists the tensors.
func (r *rewritten) Tensors() iter.Seq[tensor.Info] {
	return func(yield func(tensor.Info) bool) {
		for i := range r.tensors {
			if !yield(infoOf(&r.tensors[i])) {
				return
			}
		}
	}
}

func infoOf(t *family.Tensor) tensor.Info {
	i := tensor.Info{Name: t.Name, DType: t.DType, Shape: t.Shape}
	i.Span.Len = i.Bytes()
	return i
}

// Meta lists the keys.
func (r *rewritten) Meta() iter.Seq2[string, any] {
	return func(yield func(string, any) bool) {
		for _, k := range r.keys {
			if !yield(k.Key, k.Value) {
				return
			}
		}
	}
}

// decodes returns the quantized weight that a tensor is made from, or nil.
func (r *rewritten) decodes(i *tensor.Info) *quant.Weight {
	t := r.find(*i)
	if r.decoded == nil || t == nil || len(t.Parts) == 0 {
		return nil // blocks have no parts
	}
	return r.decoded.weight(&t.Parts[0].Info)
}

func (r *rewritten) find(i tensor.Info) *family.Tensor {
	n, ok := r.names.Find(i.Name)
	if !ok {
		return nil
	}
	return &r.tensors[n]
}

// At reads a tensor at any offset, if all of its sources can be.
func (r *rewritten) At(i tensor.Info) (io.ReaderAt, bool) {
	t := r.find(i)
	if t == nil {
		return nil, false
	}
	m := &made{r: r, t: t}
	if t.Packed != nil {
		return r.packed(t)
	}
	if t.Unpacked != nil {
		return r.unpack(t)
	}
	for k := range t.Parts {
		if _, ok := r.straight.At(t.Parts[k].Info); !ok || r.straight.Scattered(&t.Parts[k].Info) {
			return nil, false
		}
	}
	return m, true
}

// Body reads a tensor in order.
func (r *rewritten) Body(b *limits.Budget, i tensor.Info) (io.ReadCloser, error) {
	t := r.find(i)
	if t == nil {
		return nil, wire.ErrInternal.Errorf("no tensor %s", wire.Quote(i.Name))
	}
	return &madeBody{made: made{r: r, t: t}, b: b}, nil
}

// A made tensor is computed from parts, whose numbers are cast if the types differ.
type made struct {
	r *rewritten
	t *family.Tensor
}

func sizeOf(d tensor.DType) int64 {
	g, _ := d.Geometry()
	return int64(g.Bytes)
}

// ReadAt implements [io.ReaderAt]; offsets and lengths must be those of whole elements.
func (m *made) ReadAt(p []byte, off int64) (int, error) {
	if m.t.Data != nil {
		return copy(p, m.t.Data[min(off, int64(len(m.t.Data))):]), nil
	}
	elem := sizeOf(m.t.DType)
	if off%elem != 0 || int64(len(p))%elem != 0 {
		return 0, wire.ErrInternal.Errorf("a read splits an element")
	}
	if m.t.Turns > 0 {
		return m.turns(p, off/elem)
	}
	done, at := 0, int64(0)
	for k := range m.t.Parts {
		part := &m.t.Parts[k]
		size := partBytes(part) / sizeOf(part.Info.DType) * elem
		if from := off + int64(done) - at; from < size && done < len(p) {
			n := int(min(size-from, int64(len(p)-done)))
			if err := m.part(part, p[done:done+n], from/elem); err != nil {
				return done, err
			}
			done += n
		}
		at += size
	}
	if done < len(p) {
		return done, io.EOF
	}
	return done, nil
}

// partBytes returns how many bytes of the source a part takes.
func partBytes(p *family.Part) int64 {
	n := p.Info.Bytes()
	if p.Rows > 0 {
		n = n / p.Info.Shape[0] * p.Rows
	}
	return n
}

// part reads numbers of one part, from number first on.
func (m *made) part(part *family.Part, p []byte, first int64) error {
	src, ok := m.r.straight.At(part.Info)
	if !ok {
		return wire.ErrInternal.Errorf("a part that is read in order")
	}
	from := sizeOf(part.Info.DType)
	g := &gather{r: src, part: part}
	if _, slow := src.(*decodedReader); slow && part.Head > 0 {
		var err error
		if g.whole, err = m.r.straight.Rooms().Take(); err != nil {
			return err
		}
		defer m.r.straight.Rooms().Back(g.whole)
	}
	if m.keeps(part) {
		return g.read(p, first*from)
	}
	room, err := m.r.straight.Rooms().Take()
	if err != nil {
		return err
	}
	defer m.r.straight.Rooms().Back(room)
	to := sizeOf(m.t.DType)
	var numbers [4096]float32
	for n := int64(len(p)) / to; n > 0; {
		some := min(n, int64(len(numbers)))
		raw := room[:some*from]
		if err := g.read(raw, first*from); err != nil {
			return err
		}
		if err := m.cast(p[:some*to], raw, part, numbers[:some]); err != nil {
			return err
		}
		p, n, first = p[some*to:], n-some, first+some
	}
	return nil
}
