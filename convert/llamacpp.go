package convert

import (
	"io"
	"iter"

	"github.com/anamnesis-go/anamnesis/asm"
	"github.com/anamnesis-go/anamnesis/internal/family"
	"github.com/anamnesis-go/anamnesis/internal/form"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser"
	"github.com/anamnesis-go/anamnesis/parser/gguf"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
	"github.com/anamnesis-go/anamnesis/quant"
)

// LlamaCPP says how a model of transformers becomes one of llama.cpp.
type LlamaCPP struct {
	// Name is general.name.
	Name string
	// Pre names the pre-tokenizer, where llama.cpp's table does not know it.
	Pre string
	// TensorsAlone leaves keys and vocabulary out: to compare tensors.
	TensorsAlone bool
}

// Stated reports that a model lies in a folder of transformers, whose config.json
// says what it is.
func Stated(m tensor.Model) bool { return m.Format() != gguf.Format && family.Stated(m.Configs()) }

// Model gives a model of transformers as llama.cpp knows it: names, the order of
// rows, stacked experts, tensors that come of the configuration, keys and
// vocabulary. Nothing of a tensor is read. What is given takes m over: closing it
// closes m. An architecture that is not known is refused by its name.
func (l LlamaCPP) Model(b *limits.Budget, m tensor.Model) (tensor.Model, error) {
	r, err := l.model(b, m)
	if err != nil {
		return nil, wire.At("convert", "", wire.NoOffset, err)
	}
	return r, nil
}

func (l LlamaCPP) model(b *limits.Budget, m tensor.Model) (*rewritten, error) {
	if quant.Any(m) {
		return nil, wire.ErrUnsupported.With("the weights are quantized: decode them first, or write names as they are (%s)", wire.OptionRawNames)
	}
	if m.Format() == "pth" {
		if err := parser.Verify(b, m); err != nil {
			return nil, err
		}
	}
	plan, err := family.New(b, m, family.Options{Name: l.Name, Pre: l.Pre, TensorsAlone: l.TensorsAlone})
	if err != nil {
		return nil, err
	}
	r := &rewritten{Model: m, b: b, straight: &straight{Model: m, b: b}, format: gguf.Format, plan: plan}
	if r.names, err = wire.NewNameSet(b, len(plan.Tensors), func(i int) string { return plan.Tensors[i].Name }); err != nil {
		return nil, err
	}
	for i := range plan.Tensors {
		if _, added, err := r.names.Add(i); err != nil {
			return nil, err
		} else if !added {
			return nil, wire.ErrDuplicate.With("tensor %s", wire.Quote(plan.Tensors[i].Name))
		}
	}
	return r, nil
}

// rewritten is a model whose tensors are made of another's while they are read.
type rewritten struct {
	tensor.Model
	b        *limits.Budget
	straight *straight
	format   string
	plan     *family.Plan
	names    *wire.NameSet
}

func (r *rewritten) Format() string { return r.format }
func (r *rewritten) Len() int       { return len(r.plan.Tensors) }

// Place, Placed and Note are those of the source.
func (r *rewritten) Placed() io.Closer {
	if p, ok := r.Model.(tensor.Placer); ok {
		return p.Placed()
	}
	return nil
}

// Tensors lists what there is to read.
func (r *rewritten) Tensors() iter.Seq[tensor.Info] {
	return func(yield func(tensor.Info) bool) {
		for i := range r.plan.Tensors {
			if !yield(infoOf(&r.plan.Tensors[i])) {
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
		for _, k := range r.plan.Keys {
			if !yield(k.Key, k.Value) {
				return
			}
		}
	}
}

func (r *rewritten) find(i tensor.Info) *family.Tensor {
	n, ok := r.names.Find(i.Name)
	if !ok {
		return nil
	}
	return &r.plan.Tensors[n]
}

// At reads what is made at any place, if all of which it is made can be.
func (r *rewritten) At(i tensor.Info) (io.ReaderAt, bool) {
	t := r.find(i)
	if t == nil {
		return nil, false
	}
	m := &made{r: r, t: t}
	for k := range t.Parts {
		if _, ok := r.straight.At(t.Parts[k].Info); !ok {
			return nil, false
		}
	}
	return m, true
}

// Body reads what is made from its beginning.
func (r *rewritten) Body(b *limits.Budget, i tensor.Info) (io.ReadCloser, error) {
	t := r.find(i)
	if t == nil {
		return nil, wire.ErrInternal.With("no tensor %s", wire.Quote(i.Name))
	}
	return &madeBody{made: made{r: r, t: t}, b: b}, nil
}

// made is one tensor in the making. Its numbers are those of its parts, cast where
// its type is another one.
type made struct {
	r *rewritten
	t *family.Tensor
}

func sizeOf(d tensor.DType) int64 {
	g, _ := d.Geometry()
	return int64(g.Bytes)
}

// ReadAt implements [io.ReaderAt]; offsets and lengths are those of whole elements.
func (m *made) ReadAt(p []byte, off int64) (int, error) {
	if m.t.Data != nil {
		return copy(p, m.t.Data[min(off, int64(len(m.t.Data))):]), nil
	}
	elem := sizeOf(m.t.DType)
	if off%elem != 0 || int64(len(p))%elem != 0 {
		return 0, wire.ErrInternal.With("an element is read in parts")
	}
	done, at := 0, int64(0)
	for k := range m.t.Parts {
		part := &m.t.Parts[k]
		size := partElements(part) * elem
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

// partElements is how many numbers a part gives.
func partElements(p *family.Part) int64 {
	n := p.Info.Elements()
	if p.Rows > 0 {
		n = n / p.Info.Shape[0] * p.Rows
	}
	return n
}

// part reads numbers of one part, from a place in it on.
func (m *made) part(part *family.Part, p []byte, first int64) error {
	src, ok := m.r.straight.At(part.Info)
	if !ok {
		return wire.ErrInternal.With("a part that is read in order")
	}
	from := sizeOf(part.Info.DType)
	g := &gather{r: src, part: part, size: from}
	if part.Info.DType == m.t.DType && m.t.Add == 0 {
		return g.read(p, first*from)
	}
	room, err := m.r.straight.room()
	if err != nil {
		return err
	}
	defer m.r.straight.back(room)
	to := sizeOf(m.t.DType)
	var numbers [4096]float32
	for n := int64(len(p)) / to; n > 0; {
		some := min(n, int64(len(numbers)))
		raw := room[:some*from]
		if err := g.read(raw, first*from); err != nil {
			return err
		}
		if err := m.cast(p[:some*to], raw, part.Info.DType, numbers[:some]); err != nil {
			return err
		}
		p, n, first = p[some*to:], n-some, first+some
	}
	return nil
}

// cast makes stored numbers those of the tensor's type, which is F32.
func (m *made) cast(dst, src []byte, from tensor.DType, numbers []float32) error {
	c, ok := form.CodecOf(from)
	if !ok || m.t.DType != tensor.F32 {
		return wire.ErrInternal.With("%v is made %v", from, m.t.DType)
	}
	c.Decode(numbers, src)
	if m.t.Add != 0 {
		for i := range numbers {
			numbers[i] += m.t.Add
		}
		if from == tensor.F16 { // the converter adds in the type that is stored
			putF32(dst, numbers)
			asm.Best().Cast(asm.F32, asm.F16, src, dst)
			c.Decode(numbers, src)
		}
	}
	putF32(dst, numbers)
	return nil
}

// madeBody reads a tensor in order.
type madeBody struct {
	made
	b    *limits.Budget
	part int
	at   int64 // bytes that were given
	body io.ReadCloser
}

// Read gives the next bytes: all of which can be read at any place so, the other
// parts one after the other.
func (m *madeBody) Read(p []byte) (int, error) {
	info := infoOf(m.t)
	if m.at >= info.Span.Len {
		return 0, io.EOF
	}
	p = p[:min(int64(len(p)), info.Span.Len-m.at)]
	if r, ok := m.r.At(info); ok {
		p = p[:int64(len(p))/sizeOf(m.t.DType)*sizeOf(m.t.DType)]
		n, err := r.ReadAt(p, m.at)
		m.at += int64(n)
		return n, err
	}
	for m.part < len(m.t.Parts) {
		one := &m.t.Parts[m.part]
		if one.Info.DType != m.t.DType || m.t.Add != 0 || one.Head != 0 || one.Rows != 0 {
			return 0, wire.ErrUnsupported.With("tensor %s lies in an archive that is compressed, or is too large to be transposed: write it as safetensors first", wire.Quote(one.Info.Name))
		}
		if m.body == nil {
			var err error
			if m.body, err = m.r.straight.Body(m.b, one.Info); err != nil {
				return 0, err
			}
		}
		n, err := m.body.Read(p)
		m.at += int64(n)
		if err == io.EOF {
			err = m.Close()
			m.part++
			if n == 0 && err == nil {
				continue
			}
		}
		return n, err
	}
	return 0, io.ErrUnexpectedEOF
}

// Close ends the part that is being read.
func (m *madeBody) Close() error {
	if m.body == nil {
		return nil
	}
	body := m.body
	m.body = nil
	return body.Close()
}
