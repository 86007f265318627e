package lora

import (
	"regexp"
	"slices"
	"strings"

	"github.com/anamnesis-go/anamnesis/internal/jsontree"
	"github.com/anamnesis-go/anamnesis/internal/strictjson"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
)

// A choice is modules by a list of names, or by an expression for all of a name.
type choice struct {
	given bool
	names []string
	// looks are what the expression asks of the beginning of a name before it, and re
	// the rest. Of one that is not read here re is nil: nothing is known of it then.
	looks []look
	re    *regexp.Regexp
}

// A look is an expression that a name begins with, or must not.
type look struct {
	not bool
	re  *regexp.Regexp
}

// allLinear is the word that PEFT takes for all linear layers.
const allLinear = "all-linear"

// modules reads what says to which modules an adapter belongs; is is false for another
// key.
func (c *config) modules(b *limits.Budget, name string, v jsontree.Value) (is bool, err error) {
	switch name {
	case "modules_to_save":
		c.saved, err = names(b, v)
	case "target_modules":
		c.targets, err = c.readChoice(b, v)
		if err == nil && !v.IsString() && len(c.targets.names) == 0 {
			c.targets.names = []string{}
		}
	case "exclude_modules":
		c.excludes, err = c.readChoice(b, v)
	case "layers_to_transform":
		err = c.readLayers(b, v)
	case "layers_pattern":
		err = c.readLayerNames(b, v)
	case "target_parameters":
		c.parameters, err = names(b, v)
	default:
		return false, nil
	}
	return true, err
}

// readChoice reads target_modules or exclude_modules.
func (c *config) readChoice(b *limits.Budget, v jsontree.Value) (x choice, err error) {
	x.given = true
	if !v.IsString() {
		x.names, err = names(b, v)
		return x, err
	}
	text := v.String()
	if strings.ToLower(text) == allLinear || !portable(text) {
		return x, nil
	}
	rest := strings.TrimPrefix(text, "^")
	for strings.HasPrefix(rest, "(?!") || strings.HasPrefix(rest, "(?=") {
		inner, after, ok := cutGroup(rest)
		if !ok {
			return choice{given: true}, nil
		}
		re, err := c.expression(b, `^(?:`+inner+`)`)
		if re == nil || err != nil {
			return choice{given: true}, err
		}
		x.looks = append(x.looks, look{rest[2] == '!', re})
		rest = after
	}
	if len(x.looks) == 0 {
		rest = text
	}
	if x.re, err = c.expression(b, `^(?:`+rest+`)$`); x.re == nil {
		x.looks = nil
	}
	return x, err
}

// expression compiles one that is asked of each module's name; nil is one that is not
// read here.
func (c *config) expression(b *limits.Budget, text string) (*regexp.Regexp, error) {
	p, err := compile(b, text)
	if err != nil || p.re == nil {
		return nil, err
	}
	c.expressions += p.size
	return p.re, nil
}

// cutGroup cuts the text in the parentheses that an assertion begins with off.
func cutGroup(text string) (inner, rest string, ok bool) {
	depth, class := 0, false
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c == '\\':
			i++
		case class:
			class = c != ']'
		case c == '[':
			class = true
			if i+1 < len(text) && text[i+1] == '^' {
				i++
			}
			i++ // a bracket that closes is a character at the beginning
		case c == '(':
			depth++
		case c == ')':
			if depth--; depth == 0 {
				return text[len("(?!"):i], text[i+1:], true
			}
		}
	}
	return "", "", false
}

// named reports a module that a list names.
func (x *choice) named(module string) bool { return ends(x.names, module) }

// takes reports a module that the expression fits, or that nothing is known of.
func (x *choice) takes(module string) bool {
	if x.re == nil {
		return true
	}
	fails := func(l look) bool { return l.re.MatchString(module) == l.not }
	return !slices.ContainsFunc(x.looks, fails) && x.re.MatchString(module)
}

// leftOut says why PEFT adds nothing to a module, though the adapter has matrices for
// it: check_target_module_exists of its tuners_utils.py.
func (c *config) leftOut(module string) string {
	isList := c.targets.names != nil
	switch {
	case c.excludes.named(module), c.excludes.re != nil && c.excludes.takes(module):
		return "exclude_modules takes it out"
	case c.within(module):
		return "modules_to_save has it"
	case c.targets.given && !isList && !c.targets.takes(module):
		return "target_modules does not fit it"
	case isList && !c.targets.named(module):
		return "target_modules does not name it"
	case isList && !slices.Contains(c.targets.names, module) && !c.inLayers(module):
		return "layers_to_transform leaves its layer out"
	}
	return ""
}

// inLayers reports a module of a layer that is adapted, or that all layers are. PEFT
// takes the first number of a name behind a name for the layer's; before 0.21 it took
// the last.
func (c *config) inLayers(module string) bool {
	if len(c.layers) == 0 {
		return true
	}
	first, last, before := "", "", ""
	for i, rest := 0, module; ; i++ {
		part, after, more := strings.Cut(rest, ".")
		if !more { // what is behind the last dot is the module's own name
			return c.hasLayer(first) || c.hasLayer(last)
		}
		if isNumber(part) && c.beforeLayer(i, before) {
			if last = part; first == "" {
				first = last
			}
		}
		before, rest = part, after
	}
}

func isNumber(s string) bool { return s != "" && strings.Trim(s, "0123456789") == "" }

// beforeLayer reports whether a layer's number may stand at place i of a name, behind
// another: at the third or later, or behind one of layers_pattern, which have no dots.
func (c *config) beforeLayer(i int, before string) bool {
	if len(c.layerNames) == 0 {
		return i > 1
	}
	return i > 0 && slices.Contains(c.layerNames, before)
}

func (c *config) hasLayer(number string) bool {
	number = strings.TrimLeft(number[:max(len(number)-1, 0)], "0") + number[max(len(number)-1, 0):]
	return number != "" && slices.Contains(c.layers, number)
}

// readLayers reads layers_to_transform: a number or a list of some.
func (c *config) readLayers(b *limits.Budget, v jsontree.Value) error {
	list := []jsontree.Value{v}
	if v.Kind == strictjson.Array {
		list = v.List()
	}
	for _, one := range list {
		n, ok := one.Int()
		if !ok || n < 0 {
			return wire.ErrRange.With("a layer is a whole number from 0 on")
		}
		if err := b.Step(1); err != nil {
			return err
		}
		var err error
		if c.layers, err = limits.Append(b, c.layers, one.Number()); err != nil {
			return err
		}
	}
	return nil
}

// readLayerNames reads layers_pattern. PEFT takes what is here for an expression.
func (c *config) readLayerNames(b *limits.Budget, v jsontree.Value) (err error) {
	if v.IsString() {
		if v.String() != "" {
			c.layerNames = []string{v.String()}
		}
	} else {
		c.layerNames, err = names(b, v)
	}
	other := func(name string) bool { return !isName(name) || strings.Contains(name, ".") }
	if i := slices.IndexFunc(c.layerNames, other); err == nil && i >= 0 {
		err = wire.ErrUnsupported.With("%s is not the name of a list of layers", wire.Quote(c.layerNames[i]))
	}
	return err
}
