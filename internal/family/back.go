package family

import (
	"cmp"
	"encoding/binary"
	"io/fs"
	"math"
	"slices"
	"strings"

	"github.com/anamnesis-go/anamnesis/internal/jsontree"
	"github.com/anamnesis-go/anamnesis/internal/strictjson"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// A Folder is a model of llama.cpp under transformers' names.
type Folder struct {
	Tensors []Tensor
	Files   fs.FS    // config.json, the tokenizer, chat templates
	Left    []string // what could not be restored, and why
	Moved   bool     // experts are MXFP4 blocks that are copied unchanged
}

// keysUnread is why a row without other obstacles cannot be restored.
const keysUnread = "its keys are not read"

// Back plans the conversion of a GGUF file to a folder of transformers. Everything that the row
// does not cover is refused: a tensor, a key of the architecture, a shape that does not follow from
// the keys. dtype is the torch_dtype of config.json. With blocks, experts in MXFP4 are copied
// unchanged if transformers has them too.
func Back(b *limits.Budget, m tensor.Model, dtype string, blocks bool) (*Folder, error) {
	s, err := newSettings(b, m)
	if err != nil {
		return nil, err
	}
	arch, _ := s.keys["general.architecture"].(string)
	if s.row = s.rowOf(arch); s.row == nil {
		return nil, wire.At(m.Format(), "key general.architecture", wire.NoOffset, wire.ErrUnsupported.Errorf("no model type of transformers is known for the architecture %s", wire.Quote(arch)))
	}
	if s.row.back.members == nil {
		why := "llama.cpp has not " + s.row.back.lost
		if s.row.back.lost == keysUnread {
			why = keysUnread
		}
		return nil, wire.At(m.Format(), "key general.architecture", wire.NoOffset, wire.ErrUnsupported.Errorf("%s of transformers cannot be restored: %s", s.row.names[0], why))
	}
	s.put("torch_dtype", `"`+dtype+`"`)
	files := &memory{}
	p, err := s.planner(m, files)
	if err != nil {
		return nil, err
	}
	p.keepBlocks = blocks
	names, err := p.back()
	if err != nil {
		return nil, err
	}
	if p.Moved && p.decodedExperts {
		return nil, wire.At(m.Format(), "", wire.NoOffset, wire.ErrUnsupported.Errorf("some stacks of experts are MXFP4 and others are not: transformers has all or none"))
	}
	if err := cmp.Or(p.checkComplete(names), p.c.checkMembers()); err != nil {
		return nil, err
	}
	f := &Folder{Tensors: p.Tensors, Files: files, Moved: p.Moved}
	f.Left, err = s.tokenizer(files)
	if one := s.lostPooling(); one != "" {
		f.Left = append(f.Left, one)
	}
	if s.row.back.row != nil {
		f.Left = append(f.Left, "the vision part (a GGUF file of its own), so the folder is of "+s.architecture())
	}
	if s.row.back.left != "" {
		f.Left = append(f.Left, s.row.back.left)
	}
	return f, err
}

// rowOf returns the row of an architecture.
func (s *settings) rowOf(arch string) *row {
	for _, r := range slices.Concat(rows, picked) {
		if r.arch == arch && (r.back.members != nil || r.back.lost != "") && (r.back.matches == nil || r.back.matches(s)) {
			return r
		}
	}
	return nil
}

// planner writes config.json and returns a planner that read it back.
func (s *settings) planner(m tensor.Model, files *memory) (*planner, error) {
	p := &planner{Plan: &Plan{Arch: s.row.arch}, b: s.b, m: m}
	p.nameOf = p.target
	text, err := s.config()
	if err != nil {
		return nil, err
	}
	if p.c, err = s.read(text); err != nil {
		return nil, err
	}
	if err := p.checkRankHead(s); err != nil {
		return nil, err
	}
	factors := s.row.back.factors
	if factors == nil {
		factors = (*planner).readLlama3
	}
	found, err := factors(p, s)
	if err != nil {
		return nil, err
	}
	if found {
		if text, err = s.encode(); err != nil {
			return nil, err
		}
	}
	files.add(configName, text)
	return p, nil
}

// read reads config.json as it was written.
func (s *settings) read(text []byte) (*config, error) {
	root, err := parseJSON(s.b, string(text))
	if err != nil {
		return nil, err
	}
	c, err := configOf(root)
	if err == nil {
		c.mtpLayers = c.int("mtp_num_hidden_layers")
	}
	if err == nil && c.row != s.outRow() {
		// The keys decide some of the members that choose a row, so a file can contradict its architecture.
		err = wire.ErrMismatch.Errorf("its keys describe a model that is not of the architecture %s", wire.Quote(s.row.arch))
	}
	return c, wire.At("gguf", "", wire.NoOffset, err)
}

// parseJSON reads a text that was written here.
func parseJSON(b *limits.Budget, text string) (v jsontree.Value, err error) {
	err = strictjson.Decode(b, strictjson.Text{Format: configName, Body: text, Whole: true}, func(d *strictjson.Decoder) (err error) {
		v, err = jsontree.Decode(b, d)
		return err
	})
	return v, err
}

// back plans every tensor and returns the names of the source.
func (p *planner) back() (*wire.NameSet, error) {
	infos, err := limits.Make[tensor.Info](p.b, p.m.Len())
	if err != nil {
		return nil, err
	}
	names, err := wire.NewNameSet(p.b, p.m.Len(), func(i int) string { return infos[i].Name })
	if err != nil {
		return nil, err
	}
	n := 0
	for i := range p.m.Tensors() {
		infos[n] = i
		if _, added, err := names.Add(n); err != nil {
			return nil, err
		} else if !added {
			return nil, wire.At(p.m.Format(), "tensor "+wire.Quote(i.Name), i.Span.Off, wire.ErrDuplicate)
		}
		n++
		if p.isMember(i.Name) {
			continue
		}
		if err := p.planSource(&i); err != nil {
			return nil, wire.At(p.m.Format(), "tensor "+wire.Quote(i.Name), i.Span.Off, err)
		}
	}
	return names, nil
}

// isMember reports a tensor that became a member of config.json.
func (p *planner) isMember(name string) bool {
	return name == ropeFreqs || p.madeRankHead && name == rankHead || slices.Contains(p.c.row.back.consumed, name)
}

// locateGGUF returns the location of a name of llama.cpp.
func (p *planner) locateGGUF(full string) (location, bool) {
	r := p.c.row
	at := location{expert: -1, outer: true}
	list, rest := r.outer, full
	for _, one := range p.c.towers() {
		if n, tail, ok := numbered(full, one.prefix+"blk.#."); ok {
			at.outer, at.layer, list, rest = false, one.number(p.c, n), r.layers(), tail
		}
	}
	for i := range list {
		if one := at; one.matches(&list[i], rest) {
			at, at.name, at.index = one, &list[i], i
			if at.exists(p.c) {
				break
			}
		}
	}
	return at, at.name != nil
}

// matches reports whether a tensor of llama.cpp is that of the mapping, or a view of it,
// and sets at accordingly.
func (at *location) matches(n *mapping, rest string) bool {
	stem := strings.TrimSuffix(rest, ".weight")
	if s, ok := strings.CutSuffix(rest, ".bias"); ok {
		stem, at.bias = s, true
	}
	if len(n.views) == 0 {
		if n.gguf == stem && stem != rest {
			return true
		}
		at.bias = at.bias && n.gguf != rest // a bias by itself
		return n.gguf == rest
	}
	for at.view = range n.views {
		switch g := n.views[at.view].gguf; {
		case g == rest: // a bias by itself
			at.bias = false
			return true
		case g == stem && stem != rest && !(n.noSuffix && at.bias):
			return true
		}
	}
	return false
}

// planSource plans one tensor of the file.
func (p *planner) planSource(i *tensor.Info) error {
	at, ok := p.locateGGUF(i.Name)
	switch {
	case !ok, at.outer && !at.exists(p.c):
		return wire.ErrUnsupported.Errorf("%s of transformers has no tensor for it", p.c.row.names[0])
	case !at.outer && at.layer >= p.c.layers():
		return wire.ErrMismatch.Errorf("the keys state only %d layers", p.c.layers())
	case i.DType == tensor.Unknown:
		return wire.ErrUnsupported.Errorf("it is %s", i.TypeName())
	case !at.exists(p.c):
		return wire.ErrMismatch.Errorf("by the keys, layer %d does not have it", at.layer)
	case at.name.op.decays() && i.DType != tensor.F32:
		return wire.ErrUnsupported.Errorf("a decay of the type %s", i.TypeName())
	case len(at.name.views) > 0:
		return p.joinViews(i, &at)
	}
	shape, err := p.shape(&at)
	if err != nil {
		return err
	}
	want := shape
	switch {
	case at.name.op == stack:
		if at.bias {
			return wire.ErrUnsupported.Errorf("a bias of experts")
		}
		want = append([]int64{p.c.experts()}, shape...)
	case at.name.op == transpose && !at.bias:
		want = []int64{shape[1], shape[0]}
	}
	if err := sameShape(i.Shape, want); err != nil {
		return err
	}
	if at.name.op == stack {
		return p.unstack(i, &at, shape)
	}
	return p.planWhole(i, &at, shape)
}

// hfName returns the name in transformers.
func (at *location) hfName(c *config) string {
	name := at.name.hf
	if !at.outer {
		layer, _, number := c.tower(at.layer)
		name = strings.ReplaceAll(layer, "#", itoa(number)) + name
	}
	switch {
	case at.name.noSuffix:
	case at.bias:
		name += ".bias"
	default:
		name += ".weight"
	}
	switch {
	case c.row.naming.bare:
		return strings.TrimPrefix(name, c.row.naming.optionalPrefix)
	case c.classifies() && len(c.row.naming.trimPrefixes) > 0:
		return c.headedName(name)
	case c.row.ahead.apart:
		return layerToMTP(c, name)
	}
	return name
}

// planWhole plans a tensor that is made of one tensor.
func (p *planner) planWhole(i *tensor.Info, at *location, shape []int64) error {
	t := p.newHFTensor(at, i, shape)
	part := Part{Info: *i}
	g, _ := i.DType.Geometry()
	switch at.name.op {
	case permuteQ, permuteK:
		part.Head, part.Back = p.c.headDim(), true
		if part.Head%2 != 0 {
			return wire.ErrUnsupported.Errorf("heads of %d numbers", part.Head)
		}
	case addOne:
		if at.bias {
			break
		}
		if i.DType != tensor.F32 {
			return wire.ErrUnsupported.Errorf("a norm of the type %s", i.TypeName())
		}
		t.Add = -1
	case transpose:
		if at.bias {
			break
		}
		if g.Elems != 1 || i.Strides != nil {
			return wire.ErrUnsupported.Errorf("it must be transposed, but is %s: decode the file first, to GGUF of F32, F16 or BF16", i.TypeName())
		}
		part.Info.Shape, part.Info.Strides = shape, []int64{1, shape[0]}
	}
	t.Parts = []Part{part}
	return p.add(t)
}

// unstack plans the experts in a tensor that holds all of them.
func (p *planner) unstack(i *tensor.Info, at *location, shape []int64) error {
	before, after, _ := strings.Cut(at.hfName(p.c), "*")
	for e := range p.c.experts() {
		if err := p.b.Step(1); err != nil {
			return err
		}
		part := Part{Info: *i, From: e, Rows: 1}
		if err := p.add(Tensor{Name: before + itoa(e) + after, Shape: shape, DType: i.DType, Parts: []Part{part}}); err != nil {
			return err
		}
	}
	return nil
}

// floats reads a small F32 tensor, whose size the caller has bounded.
func (p *planner) floats(i *tensor.Info) ([]float32, error) {
	r, direct := p.m.At(*i)
	if !direct {
		return nil, wire.ErrUnsupported.Errorf("it cannot be read at an offset")
	}
	n := int(i.Elements())
	raw, err := limits.Make[byte](p.b, 4*n)
	if err != nil {
		return nil, err
	}
	if err := wire.ReadFull(r, raw, 0); err != nil {
		return nil, err
	}
	order := binary.ByteOrder(binary.LittleEndian)
	if i.Order != tensor.Little {
		order = binary.BigEndian
	}
	list, err := limits.Make[float32](p.b, n)
	for k := range list {
		list[k] = math.Float32frombits(order.Uint32(raw[4*k:]))
	}
	return list, err
}
