package quant

import (
	"io"
	"slices"
	"strings"

	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// Options decide what the tensors and the configuration leave open.
type Options struct {
	Target Target
	// Scheme is the row of the table to prefer where several bind a tensor.
	Scheme string
	// GPTQZeros says how GPTQ stores zero points: "v1", "v2", or "" to find out.
	GPTQZeros string
	// Block is rows and columns of an FP8 scale's block, or zero to find out.
	Block [2]int64
	// KeepScales passes activation and cache scales through.
	KeepScales bool
}

// A Bound is what a model's tensors are: quantized weights, tensors that pass
// through byte for byte, and scales that the unquantized model has no use for.
type Bound struct {
	Weights []*Weight
	Plain   []tensor.Info
	LeftOut []tensor.Info
}

// Plan binds the tensors of a model, across its shards, to logical weights.
// Nothing of a body is read but the few parts that say how others are stored.
func Plan(b *limits.Budget, m tensor.Model, o Options) (*Bound, error) {
	s, err := newSet(b, m, o)
	if err != nil {
		return nil, wire.At("quant", "", wire.NoOffset, err)
	}
	out := &Bound{}
	for i := range s.infos {
		if s.claimed[i] {
			continue
		}
		w, err := s.bind(i)
		if err != nil {
			return nil, wire.At("quant", "tensor "+wire.Quote(s.infos[i].Name), wire.NoOffset, err)
		}
		if w == nil {
			continue
		}
		if out.Weights, err = limits.Append(b, out.Weights, w); err != nil {
			return nil, wire.At("quant", "", wire.NoOffset, err)
		}
	}
	if err := s.rest(out); err != nil {
		return nil, wire.At("quant", "", wire.NoOffset, err)
	}
	return out, nil
}

// rest sorts what no weight is made of.
func (s *set) rest(out *Bound) error {
	bound, err := out.weightNames(s.b)
	if err != nil {
		return err
	}
	for i, info := range s.infos {
		if s.claimed[i] {
			continue
		}
		if err := s.unexplained(&info); err != nil {
			return wire.At("quant", "tensor "+wire.Quote(info.Name), wire.NoOffset, err)
		}
		list := &out.Plain
		if !s.o.KeepScales && s.explained(&info, bound) {
			list = &out.LeftOut
		}
		if *list, err = limits.Append(s.b, *list, info); err != nil {
			return err
		}
	}
	return nil
}

// A set is the tensors of one model by name.
type set struct {
	b       *limits.Budget
	m       tensor.Model
	o       Options
	infos   []tensor.Info
	names   *wire.NameSet
	claimed []bool
	config  *config
	scratch []byte            // of small
	texts   map[string]string // of the model's own metadata
	comfy   *object           // layers that ComfyUI's metadata describes, or nil
}

func newSet(b *limits.Budget, m tensor.Model, o Options) (s *set, err error) {
	s = &set{b: b, m: m, o: o}
	if s.infos, err = limits.Make[tensor.Info](b, m.Len()); err != nil {
		return nil, err
	}
	if s.claimed, err = limits.Make[bool](b, m.Len()); err != nil {
		return nil, err
	}
	if s.names, err = wire.NewNameSet(b, m.Len(), func(i int) string { return s.infos[i].Name }); err != nil {
		return nil, err
	}
	at := 0
	for i := range m.Tensors() {
		s.infos[at] = i
		if _, added, err := s.names.Add(at); err != nil {
			return nil, err
		} else if !added {
			return nil, wire.ErrDuplicate.With("tensor %s", wire.Quote(i.Name))
		}
		at++
	}
	if s.config, err = loadConfig(b, m.Configs()); err != nil {
		return nil, err
	}
	if err = s.loadTexts(); err != nil {
		return nil, err
	}
	return s, s.loadComfy()
}

// loadTexts keeps the texts of the model's own metadata.
func (s *set) loadTexts() error {
	s.texts = map[string]string{}
	for k, v := range s.m.Meta() {
		if text, ok := v.(string); ok {
			if err := s.b.Hold(treeCost); err != nil {
				return err
			}
			s.texts[k] = text
		}
	}
	return nil
}

// find returns a tensor by its name.
func (s *set) find(name string) (*tensor.Info, bool) {
	i, ok := s.names.Find(name)
	if !ok {
		return nil, false
	}
	return &s.infos[i], true
}

// bind asks every row of the table about one tensor. Two rows that both bind it
// are an error that names both, unless the options or the file itself decide.
func (s *set) bind(i int) (*Weight, error) {
	var found *Weight
	for k, row := range schemes {
		w, err := row.bind(s, &s.infos[i])
		if err != nil {
			return nil, err
		}
		if w == nil {
			continue
		}
		w.Scheme = row.name
		if k == 0 {
			found = w
			break
		}
		switch {
		case found == nil || s.o.Scheme == row.name:
			found = w
		case s.o.Scheme != found.Scheme:
			return nil, wire.ErrUnsupported.With("two readings, %s and %s: --scheme decides", found.Scheme, w.Scheme)
		}
	}
	if found == nil {
		return nil, nil
	}
	return found, s.claim(found)
}

// claim marks the parts as taken and proves that the weight can be held.
func (s *set) claim(w *Weight) error {
	n, ok := wire.Product(w.Shape)
	if _, fits := wire.Mul(n, 4); !ok || !fits {
		return wire.ErrOverflow.With("shape %v", w.Shape)
	}
	w.cols = 1
	if len(w.Shape) > 0 {
		w.cols = w.Shape[len(w.Shape)-1]
	}
	if w.cols > 0 {
		w.rows = int64(n) / w.cols
	}
	for _, list := range [...][]tensor.Info{w.Parts, w.Extra} {
		for _, p := range list {
			i, _ := s.names.Find(p.Name)
			s.claimed[i] = true
		}
	}
	if err := s.b.Items(1); err != nil {
		return err
	}
	return s.b.Expand(int64(n) * int64(s.o.Target.Size()))
}

// companion returns a tensor that must be there, of one of the types and of the
// shape; a negative dimension is any.
func (s *set) companion(name string, shape []int64, types ...tensor.DType) (*tensor.Info, error) {
	info, ok := s.find(name)
	if !ok {
		return nil, wire.ErrMissing.With("its companion %s", wire.Quote(name))
	}
	if !slices.Contains(types, info.DType) {
		return nil, wire.ErrUnsupported.With("its companion %s is %s", wire.Quote(name), info.TypeName())
	}
	if !shaped(info.Shape, shape) {
		return nil, wire.ErrMismatch.With("its companion %s has shape %v, wanted %v", wire.Quote(name), info.Shape, shape)
	}
	return info, nil
}

func shaped(have, want []int64) bool {
	return slices.EqualFunc(have, want, func(h, w int64) bool { return w < 0 || h == w })
}

// suffix cuts a suffix off the name of a tensor.
func suffix(info *tensor.Info, suffix string) (stem string, ok bool) {
	return strings.CutSuffix(info.Name, suffix)
}

// small reads a tensor whole: one that says how others are stored. What it
// returns is valid until the next call.
func (s *set) small(info *tensor.Info) ([]byte, error) {
	size, ok := wire.Int(uint64(info.Span.Len), wire.MaxSize)
	if !ok {
		return nil, wire.ErrOverflow.With("%d bytes", info.Span.Len)
	}
	if cap(s.scratch) < size {
		p, err := limits.Make[byte](s.b, size)
		if err != nil {
			return nil, err
		}
		s.scratch = p
	}
	body, err := s.m.Body(s.b, *info)
	if err != nil {
		return nil, err
	}
	defer body.Close()
	_, err = io.ReadFull(body, s.scratch[:size])
	return s.scratch[:size], err
}

// maxIntegers bounds a companion that is a shape or a property.
const maxIntegers = 16

// integers reads a companion of a few whole numbers and binds it to the weight.
func (s *set) integers(name string, w *Weight) ([]int64, error) {
	info, ok := s.find(name)
	if !ok {
		return nil, wire.ErrMissing.With("its companion %s", wire.Quote(name))
	}
	g, _ := info.DType.Geometry()
	n := info.Elements()
	if n > maxIntegers || info.DType != tensor.I64 && info.DType != tensor.I32 {
		return nil, wire.ErrUnsupported.With("its companion %s is %d of %s", wire.Quote(name), n, info.TypeName())
	}
	p, err := s.small(info)
	if err != nil {
		return nil, err
	}
	out := make([]int64, 0, maxIntegers)
	for i := range n {
		v := int64(int32(u32(p[i*int64(g.Bytes):])))
		if info.DType == tensor.I64 {
			v = int64(uint64(u32(p[8*i:])) | uint64(u32(p[8*i+4:]))<<32)
		}
		if v < 0 {
			return nil, wire.ErrRange.With("its companion %s says %d", wire.Quote(name), v)
		}
		out = append(out, v)
	}
	w.Extra = append(w.Extra, *info)
	return out, nil
}
