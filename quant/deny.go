package quant

import (
	"slices"
	"strconv"
	"strings"

	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// What is not explained is refused: a weight is decoded when its scheme knows
// every key of every configuration of the model, and no tensor stands beside it
// that nothing explains.

// A source is one object of a configuration file that describes a quantization.
type source struct {
	file   string
	object *object
}

// method is the quantization's name: ModelOpt's own file does not say it.
func (c *source) method() string {
	if c.file == "hf_quant_config.json" {
		return "modelopt"
	}
	return c.object.text("quant_method")
}

// understood refuses a weight beside a configuration that its scheme does not
// know whole. It is asked once for each scheme.
func (s *set) understood(w *Weight) error {
	if w.row.decides() || slices.Contains(s.known, w.row) {
		return nil
	}
	for i := range s.config.sources {
		if err := s.knows(w.row, &s.config.sources[i]); err != nil {
			return err
		}
	}
	var err error
	s.known, err = limits.Append(s.b, s.known, w.row)
	return err
}

func (s *set) knows(row *scheme, c *source) error {
	method := c.method()
	if method != "" && !s.rows.methods[method] {
		ignored, err := s.ignores("quant_method", c.file)
		if err != nil || ignored {
			return err
		}
		return wire.ErrUnsupported.With("%s says quant_method %s, which nothing here knows; %s quant_method reads the tensors without it",
			c.file, wire.Quote(method), wire.OptionIgnoreUnknown)
	}
	k := keys{set: s, source: c}
	for _, known := range row.under(s.rows, method, s.o.Scheme == row.name) {
		k.patterns = append(k.patterns, newKey(known))
	}
	return k.object(nil, c.object)
}

// under is the keys that a configuration of a method may have. One that names no
// method may have those of any, and so may all where the caller has decided.
func (r *scheme) under(t *table, method string, decided bool) (known []string) {
	known = slices.Clone(anyKeys)
	for _, m := range r.methods {
		if m.name == method || method == "" {
			known = append(known, m.known...)
		}
	}
	if !decided {
		return known
	}
	for _, other := range t.rows {
		for _, m := range other.methods {
			if m.name == method {
				known = append(known, m.known...)
			}
		}
	}
	return known
}

// A key is a pattern of the path of a key, and what its value may be: anything,
// one of some texts, or nothing at all.
type key struct {
	path   []string
	values []string
	mute   bool
}

func newKey(text string) key {
	var k key
	text, k.mute = strings.CutSuffix(text, "?")
	text, values, valued := strings.Cut(text, "=")
	if valued {
		k.values = strings.Split(values, "|")
	}
	k.path = strings.Split(text, ".")
	return k
}

// matches reports that the path is one of the key's.
func (k *key) matches(path []string) bool {
	for i, name := range k.path {
		switch {
		case name == "**":
			return true
		case i == len(path) || name != "*" && name != path[i]:
			return false
		}
	}
	return len(k.path) == len(path)
}

// allows reports a value that the key may have.
func (k *key) allows(v any) bool {
	switch {
	case k.mute:
		return says(v) == ""
	case k.values != nil:
		return slices.Contains(k.values, says(v))
	}
	return true
}

// says is a value as text; what says nothing is empty, a list of several too long
// to be understood.
func says(v any) string {
	switch v := v.(type) {
	case nil:
		return ""
	case bool:
		if v {
			return "true"
		}
		return ""
	case string:
		return v
	case float64:
		return strconv.FormatFloat(v, 'g', -1, 64)
	case []any:
		if len(v) == 0 {
			return ""
		}
	case *object:
		if len(v.order) == 0 {
			return ""
		}
	}
	return "..."
}

// keys walks one configuration.
type keys struct {
	set      *set
	source   *source
	patterns []key
}

func (k *keys) object(path []string, o *object) error {
	for _, name := range o.names() {
		if err := k.value(append(path, name), o.get(name)); err != nil {
			return err
		}
	}
	return nil
}

// value looks at one key. An object is known when all in it is; one in a list is
// a member without a name.
func (k *keys) value(path []string, v any) error {
	if err := k.set.b.Step(int64(len(k.patterns))); err != nil {
		return err
	}
	if o, ok := v.(*object); ok && len(o.order) > 0 && !k.whole(path) {
		return k.object(path, o)
	}
	if list, ok := v.([]any); ok && slices.ContainsFunc(list, isObject) {
		for _, v := range list {
			if err := k.value(append(path, "*"), v); err != nil {
				return err
			}
		}
		return nil
	}
	// Where a pattern of this very name says which values are understood, no wider
	// one allows others.
	known, understood, denied := says(v) == "" && k.begins(path), false, false
	for _, p := range k.patterns {
		switch {
		case !p.matches(path):
		case !p.allows(v):
			denied = denied || p.path[len(p.path)-1] != "*"
		default:
			known, understood = true, understood || p.values != nil || p.mute
		}
	}
	if known && (understood || !denied) {
		return nil
	}
	return k.unknown(path, v)
}

// whole reports an object that is known or not as a whole: nothing is said of
// what is in it.
func (k *keys) whole(path []string) bool {
	return slices.ContainsFunc(k.patterns, func(p key) bool { return p.mute && p.matches(path) }) && !k.begins(path)
}

// begins reports a path that a known one begins with.
func (k *keys) begins(path []string) bool {
	return slices.ContainsFunc(k.patterns, func(p key) bool {
		return len(p.path) > len(path) && (&key{path: p.path[:len(path)]}).matches(path)
	})
}

func isObject(v any) bool {
	_, ok := v.(*object)
	return ok
}

func (k *keys) unknown(path []string, v any) error {
	name := strings.Join(path, ".")
	ignored, err := k.set.ignores(name, k.source.file)
	if err != nil || ignored {
		return err
	}
	value := ""
	if text := says(v); text != "" && text != "..." {
		value = " (" + wire.Quote(text) + ")"
	}
	return wire.ErrUnsupported.With("%s says %s%s of its quantization, and nothing here knows what that does to the numbers: "+
		"start from the unquantized model, or %s %s", k.source.file, wire.Quote(name), value, wire.OptionIgnoreUnknown, wire.Quote(name))
}

// ignores reports a name that the caller takes for harmless, and notes it. A key
// stands for all keys below it.
func (s *set) ignores(name, where string) (bool, error) {
	for _, o := range s.o.IgnoreUnknown {
		if name != o && !strings.HasPrefix(name, o+".") {
			continue
		}
		note := where + ": " + name
		if where == "" {
			note = name
		}
		if slices.Contains(s.ignored, note) {
			return true, nil
		}
		if err := s.b.Hold(int64(len(note))); err != nil {
			return false, err
		}
		var err error
		s.ignored, err = limits.Append(s.b, s.ignored, note)
		return true, err
	}
	return false, nil
}

// besides are ends of names of tensors that stand beside weights of any scheme,
// and beside unquantized ones.
var besides = []string{".bias", "_bias", ".e_score_correction_bias"}

// unplaced refuses a tensor that no weight is made of and that is none itself.
func (s *set) unplaced(info *tensor.Info, owners *nameList) error {
	if err := s.unexplained(info); err != nil {
		return err
	}
	return s.stranger(info, owners)
}

// owns reports a weight that tensors beside it may be part of: blocks of GGUF
// are by themselves, and so are numbers that have been cast.
func (w *Weight) owns() bool { return w.row.declares != byType && len(w.Parts)+len(w.Extra) > 1 }

// stranger refuses a tensor beside a quantized weight that nothing explains: what
// a library wrote there it uses.
func (s *set) stranger(info *tensor.Info, bound *nameList) error {
	owner := bound.owner(info.Name)
	if err := s.b.Step(int64(strings.Count(info.Name, ".") + 1)); err != nil {
		return err
	}
	if owner == "" || endsIn(info.Name, besides) || endsIn(info.Name, cacheScales) || endsIn(info.Name, s.rows.explained) || info.Elements() == 0 {
		return nil
	}
	ignored, err := s.ignores(info.Name[strings.LastIndexByte(info.Name, '.')+1:], "")
	if err != nil || ignored {
		return err
	}
	if ignored, err = s.ignores(info.Name, ""); err != nil || ignored {
		return err
	}
	return wire.ErrUnsupported.With("%s %v beside the quantized %s, and nothing here knows what it does to its numbers: "+
		"start from the unquantized model, or %s %s", info.TypeName(), info.Shape, wire.Quote(owner), wire.OptionIgnoreUnknown, wire.Quote(info.Name[strings.LastIndexByte(info.Name, '.')+1:]))
}

// owner is the weight that a name belongs to: that of its module, or of a module
// around it; or one that the name begins with.
func (n *nameList) owner(name string) string {
	for at := len(name); at > 0; {
		at = strings.LastIndexAny(name[:at], "._")
		if at < 0 {
			return ""
		}
		if name[at] == '.' {
			if module := name[:at] + ".weight"; module != name && n.has(module) {
				return module
			}
		}
		if n.has(name[:at]) {
			return name[:at]
		}
	}
	return ""
}
