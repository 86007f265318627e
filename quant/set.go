package quant

import (
	"io"
	"regexp"
	"slices"
	"strings"

	"github.com/anamnesis-go/anamnesis/internal/config"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// A set is the tensors of a model by name, with what is known about them.
type set struct {
	b        *limits.Budget
	m        tensor.Model
	o        Options
	rows     *table
	infos    []tensor.Info
	names    *wire.NameSet
	claimed  []bool
	config   *config.Config
	known    []*scheme          // the schemes that know the whole configuration
	others   map[string]string  // tensors that an index beside the file places in other files; read on demand
	indexed  bool               // an index beside the file lists its tensors
	beside   []sibling          // the other files of its folder, without an index
	lost     error              // error of reading others and beside
	ignored  []string           // unknown names that the caller declared harmless
	scratch  []byte             // buffer of small
	texts    map[string]string  // texts of the model's metadata
	counts   map[string][]int64 // integers of the model's metadata, only used for HQQ
	comfy    *config.Object     // layers that ComfyUI's metadata describes, or nil
	ofMLX    bool               // a weight of MLX was bound
	hollow   *tensor.Info       // an empty companion of the current tensor
	patterns map[string]*regexp.Regexp
	// What the configuration says about modules by name; read on demand.
	aimed      *aims
	overrides  *overrides
	exclusions *exclusions
}

// maxElements is more than any file system can hold, and leaves room for arithmetic on
// shapes.
const maxElements = 1 << 50

func newSet(b *limits.Budget, m tensor.Model, o Options) (s *set, err error) {
	s = &set{b: b, m: m, o: o, rows: rows}
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
		if err := b.Step(1); err != nil {
			return nil, err
		}
		s.infos[at] = i
		if n, ok := wire.Product(i.Shape); !ok || n > maxElements {
			return nil, wire.ErrOverflow.Errorf("tensor %s has shape %v", wire.Quote(i.Name), i.Shape)
		}
		if _, added, err := s.names.Add(at); err != nil {
			return nil, err
		} else if !added {
			return nil, wire.ErrDuplicate.Errorf("tensor %s", wire.Quote(i.Name))
		}
		at++
	}
	if s.config, err = config.Load(b, m.Configs(), o.GPTQZeros); err != nil {
		return nil, err
	}
	if err = s.loadMeta(); err != nil {
		return nil, err
	}
	return s, s.loadComfy()
}

// find returns a tensor by name. A tensor without elements explains nothing and counts as
// missing; a weight bound without it is an error.
func (s *set) find(name string) (*tensor.Info, bool) {
	i, ok := s.names.Find(name)
	if !ok {
		return nil, false
	}
	if s.infos[i].Elements() == 0 {
		s.hollow = &s.infos[i]
		return nil, false
	}
	return &s.infos[i], true
}

// asStored refuses a part whose bytes are not its elements in order: codes of a
// transposed view, or in the other byte order, would decode to other numbers.
func asStored(p *tensor.Info) error {
	g, _ := p.DType.Geometry()
	switch {
	case p.Strides != nil:
		return wire.ErrUnsupported.Errorf("%s is a view with strides: save the model with contiguous tensors", wire.Quote(p.Name))
	case p.Order == tensor.Big && g.Bytes > 1:
		return wire.ErrUnsupported.Errorf("%s is big-endian %s: convert it with gguf's convert-endian script", wire.Quote(p.Name), p.TypeName())
	}
	return nil
}

// companion returns a tensor that must exist and have one of the types and the shape; a
// negative dimension matches any.
func (s *set) companion(name string, shape []int64, types ...tensor.DType) (*tensor.Info, error) {
	info, ok := s.find(name)
	if !ok {
		return nil, wire.ErrMissing.Errorf("its companion %s", wire.Quote(name))
	}
	if !slices.Contains(types, info.DType) {
		return nil, wire.ErrUnsupported.Errorf("its companion %s is %s", wire.Quote(name), info.TypeName())
	}
	if !shaped(info.Shape, shape) {
		return nil, wire.ErrMismatch.Errorf("its companion %s has shape %v, expected %v", wire.Quote(name), info.Shape, shape)
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

// small reads a whole tensor that describes others. The result is valid until the next
// call.
func (s *set) small(info *tensor.Info) ([]byte, error) { return s.prefix(info, info.Span.Len) }

// prefix reads the first n bytes of a tensor, like small.
func (s *set) prefix(info *tensor.Info, n int64) ([]byte, error) {
	if int64(cap(s.scratch)) < n {
		p, err := sized[byte](s.b, n)
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
	_, err = io.ReadFull(body, s.scratch[:n])
	return s.scratch[:n], err
}
