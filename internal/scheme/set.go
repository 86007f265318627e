package scheme

import (
	"io"
	"regexp"
	"slices"
	"strings"

	"github.com/anamnesis-go/anamnesis/internal/config"
	"github.com/anamnesis-go/anamnesis/internal/strictjson"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// A Set is the tensors of a model by name, with what is known about them.
type Set struct {
	Budget   *limits.Budget
	Model    tensor.Model
	Options  Options
	Table    *Table
	Infos    []tensor.Info
	Names    *wire.NameSet
	Config   *config.Config
	others   map[string]string  // tensors that an index beside the file places in other files; read on demand
	indexed  bool               // an index beside the file lists its tensors
	beside   []sibling          // the other files of its folder, without an index
	lost     error              // error of reading others and beside
	Ignored  []string           // unknown names that the caller declared harmless
	scratch  []byte             // buffer of small
	Texts    map[string]string  // texts of the model's metadata
	counts   map[string][]int64 // integers of the model's metadata
	Kept     map[string]any     // what schemes have read of the model, by names of theirs: see [Scheme].Load
	Hollow   *tensor.Info       // an empty companion of the current tensor
	patterns map[string]*regexp.Regexp
	// What the configuration says about modules by name; read on demand.
	overrides  *overrides
	exclusions *exclusions
}

// maxElements is more than any file system can hold, and leaves room for arithmetic on
// shapes.
const maxElements = 1 << 50

// NewSet returns the tensors of a model, for the rows of a table.
func NewSet(b *limits.Budget, m tensor.Model, o Options, rows *Table) (s *Set, err error) {
	s = &Set{Budget: b, Model: m, Options: o, Table: rows, Kept: map[string]any{}}
	if s.Infos, err = limits.Make[tensor.Info](b, m.Len()); err != nil {
		return nil, err
	}
	if s.Names, err = wire.NewNameSet(b, m.Len(), func(i int) string { return s.Infos[i].Name }); err != nil {
		return nil, err
	}
	at := 0
	for i := range m.Tensors() {
		if err := b.Step(1); err != nil {
			return nil, err
		}
		s.Infos[at] = i
		if n, ok := wire.Product(i.Shape); !ok || n > maxElements {
			return nil, wire.ErrOverflow.Errorf("tensor %s has shape %v", wire.Quote(i.Name), i.Shape)
		}
		if _, added, err := s.Names.Add(at); err != nil {
			return nil, err
		} else if !added {
			return nil, wire.ErrDuplicate.Errorf("tensor %s", wire.Quote(i.Name))
		}
		at++
	}
	if s.Config, err = config.Load(b, m.Configs(), o.GPTQZeros); err != nil {
		return nil, err
	}
	if err = s.loadMeta(); err != nil {
		return nil, err
	}
	for _, row := range rows.Rows {
		if row.Load == nil {
			continue
		}
		if s.Kept[row.Name], err = row.Load(s); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// Find returns a tensor by name. A tensor without elements explains nothing and counts as
// missing; a weight bound without it is an error.
func (s *Set) Find(name string) (*tensor.Info, bool) {
	i, ok := s.Names.Find(name)
	if !ok {
		return nil, false
	}
	if s.Infos[i].Elements() == 0 {
		s.Hollow = &s.Infos[i]
		return nil, false
	}
	return &s.Infos[i], true
}

// AsStored refuses a part whose bytes are not its elements in order: codes of a
// transposed view, or in the other byte order, would decode to other numbers.
func AsStored(p *tensor.Info) error {
	g, _ := p.DType.Geometry()
	switch {
	case p.Strides != nil:
		return wire.ErrUnsupported.Errorf("%s is a view with strides: save the model with contiguous tensors", wire.Quote(p.Name))
	case p.Order == tensor.Big && g.Bytes > 1:
		return wire.ErrUnsupported.Errorf("%s is big-endian %s: convert it with gguf's convert-endian script", wire.Quote(p.Name), p.TypeName())
	}
	return nil
}

// Companion returns a tensor that must exist and have one of the types and the shape; a
// negative dimension matches any.
func (s *Set) Companion(name string, shape []int64, types ...tensor.DType) (*tensor.Info, error) {
	info, ok := s.Find(name)
	if !ok {
		return nil, wire.ErrMissing.Errorf("its companion %s", wire.Quote(name))
	}
	if !slices.Contains(types, info.DType) {
		return nil, wire.ErrUnsupported.Errorf("its companion %s is %s", wire.Quote(name), info.TypeName())
	}
	if !Shaped(info.Shape, shape) {
		return nil, wire.ErrMismatch.Errorf("its companion %s has shape %v, expected %v", wire.Quote(name), info.Shape, shape)
	}
	return info, nil
}

func Shaped(have, want []int64) bool {
	return slices.EqualFunc(have, want, func(h, w int64) bool { return w < 0 || h == w })
}

// Suffix cuts a suffix off the name of a tensor.
func Suffix(info *tensor.Info, suffix string) (stem string, ok bool) {
	return strings.CutSuffix(info.Name, suffix)
}

// Small reads a whole tensor that describes others. The result is valid until the next
// call.
func (s *Set) Small(info *tensor.Info) ([]byte, error) { return s.Prefix(info, info.Span.Len) }

// Prefix reads the first n bytes of a tensor, like small.
func (s *Set) Prefix(info *tensor.Info, n int64) ([]byte, error) {
	if int64(cap(s.scratch)) < n {
		p, err := Sized[byte](s.Budget, n)
		if err != nil {
			return nil, err
		}
		s.scratch = p
	}
	body, err := s.Model.Body(s.Budget, *info)
	if err != nil {
		return nil, err
	}
	defer body.Close()
	_, err = io.ReadFull(body, s.scratch[:n])
	return s.scratch[:n], err
}

// MaxState bounds the description of a weight, which has about 300 bytes.
const MaxState = 64 << 10

// Text reads a small tensor that holds text.
func (s *Set) Text(info *tensor.Info, limit int64) (strictjson.Text, error) {
	if info.Span.Len > limit {
		return strictjson.Text{}, &limits.Error{Axis: limits.SingleAlloc, Want: info.Span.Len, Left: limit}
	}
	p, err := s.Small(info)
	if err != nil {
		return strictjson.Text{}, err
	}
	body, err := limits.String(s.Budget, p)
	return strictjson.Text{Format: "tensor " + wire.Quote(info.Name), Body: body, Off: info.Span.Off}, err
}

// AllZero reports whether a tensor is all zeros. Some versions of compressed-tensors
// wrote such zero points for symmetric codes.
func (s *Set) AllZero(name string) (bool, error) {
	info, ok := s.Find(name)
	if !ok {
		return true, nil
	}
	p, err := s.Small(info)
	if err != nil {
		return false, err
	}
	if err := s.Budget.Step(int64(len(p))); err != nil {
		return false, err
	}
	return !slices.ContainsFunc(p, func(c byte) bool { return c != 0 }), nil
}

// GroupIndex reads the tensor with the group of each of n inputs, nil if there is none.
func (s *Set) GroupIndex(name string, n int64) (*tensor.Info, []byte, error) {
	if _, ok := s.Find(name); !ok {
		return nil, nil, nil
	}
	index, err := s.Companion(name, []int64{n}, tensor.I32)
	if err != nil {
		return nil, nil, err
	}
	p, err := s.Small(index)
	if err != nil {
		return nil, nil, err
	}
	return index, p, nil
}

// ConfigName returns the name of the configuration's file for messages.
func (s *Set) ConfigName() string {
	if s.Config.File == "" {
		return "the absent configuration"
	}
	return s.Config.File
}

// Claimed reports whether a tensor is that of a scheme that claims it.
func (s *Set) Claimed(info *tensor.Info) bool {
	return slices.ContainsFunc(s.Table.Rows, func(r *Scheme) bool { return r.Claims != nil && r.Claims(s, info) })
}

// MethodOfOthers returns the configuration's method if it stands for schemes whose main
// tensor has this name, but is not one of own.
func (s *Set) MethodOfOthers(own []Method, codes string) string {
	method := s.Config.Method()
	stands := func(r *Scheme) bool {
		return r.Stands(method) && slices.ContainsFunc(r.Mains, func(m Main) bool { return m.Codes == codes })
	}
	if slices.ContainsFunc(own, func(m Method) bool { return m.Name == method }) || !slices.ContainsFunc(s.Table.Rows, stands) {
		return ""
	}
	return method
}

// Architecture returns the model_type of config.json, or of the language model in it.
func (s *Set) Architecture() string {
	if t := s.Config.Model.Within("text_config").Get("model_type").String(); t != "" {
		return t
	}
	return s.Config.Model.Get("model_type").String()
}
