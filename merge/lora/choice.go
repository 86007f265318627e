package lora

import (
	"errors"
	"slices"
	"strings"

	"github.com/anamnesis-go/anamnesis/internal/jsontree"
	"github.com/anamnesis-go/anamnesis/internal/strictjson"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
)

// A moduleSelector selects modules by a list of names, or by an expression for whole names.
type moduleSelector struct {
	given  bool
	names  []string
	expr   *expression // nil for a list and for allLinear
	linear bool        // allLinear
}

// allLinear is PEFT's word for all linear layers.
const allLinear = "all-linear"

// modules reads a key that says which modules are adapted; is is false for other keys.
func (c *config) modules(b *limits.Budget, name string, v jsontree.Value) (is bool, err error) {
	switch name {
	case "modules_to_save":
		c.saved, err = names(b, v)
		if i := slices.IndexFunc(c.saved, func(name string) bool { return !isName(name) }); err == nil && i >= 0 {
			err = wire.ErrUnsupported.Errorf("%s is not the name of a module", wire.Quote(c.saved[i]))
		}
	case "target_modules":
		if strings.ToLower(v.String()) == allLinear {
			c.targets = moduleSelector{given: true, linear: true}
			return true, nil
		}
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
func (c *config) readChoice(b *limits.Budget, v jsontree.Value) (x moduleSelector, err error) {
	text := v.String()
	switch {
	case !v.IsString():
		x.names, err = names(b, v)
	default:
		x.expr, err = readExpression(b, text)
		if c.usesExpressions = true; errors.Is(err, errExpression) {
			err = wire.ErrUnsupported.Errorf("%s is not a supported expression, so it is unknown which modules PEFT would adapt", wire.Quote(text))
		}
	}
	x.given = true
	return x, err
}

// lists reports whether the list names a module.
func (x *moduleSelector) lists(module string) bool { return listsModule(x.names, module) }

// matches reports whether the expression matches a module.
func (x *moduleSelector) matches(steps *limits.Steps, m *module) (bool, error) {
	if x.expr == nil {
		return x.linear && !m.embedding && !listsModule(heads, m.name), nil
	}
	return x.expr.fits(steps, m.name)
}

// heads are output modules, which PEFT does not count among all linear layers. Modules of other
// models with these names are rejected too.
var heads = []string{"lm_head", "embed_out", "output_layer", "score", "classifier", "cls", "qa_outputs"}

// whyLeftOut returns why PEFT does not adapt a module although the adapter has matrices for it,
// or "". It follows check_target_module_exists in PEFT's tuners_utils.py.
func (c *config) whyLeftOut(steps *limits.Steps, m *module) (string, error) {
	isList := c.targets.names != nil
	if c.excludes.expr != nil {
		if out, err := c.excludes.matches(steps, m); out || err != nil {
			return "exclude_modules takes it out", err
		}
	}
	if c.targets.given && !isList {
		if in, err := c.targets.matches(steps, m); err != nil {
			return "", err
		} else if !in {
			return "target_modules does not fit it", nil
		}
	}
	switch {
	case c.excludes.lists(m.name):
		return "exclude_modules takes it out", nil
	case c.within(m.name), c.mayBeWithin(m.name):
		return "modules_to_save has it", nil
	case isList && !c.targets.lists(m.name):
		return "target_modules does not name it", nil
	case isList && !slices.Contains(c.targets.names, m.name) && !c.inLayers(m.name):
		return "layers_to_transform leaves its layer out", nil
	}
	return "", nil
}

// inLayers reports whether the layer of a module is adapted. PEFT takes the first number in a
// name for the layer; before 0.21 it took the last.
func (c *config) inLayers(module string) bool {
	if len(c.layers) == 0 {
		return true
	}
	first, last, before := "", "", ""
	for i, rest := 0, module; ; i++ {
		part, after, more := strings.Cut(rest, ".")
		if !more { // the last part is the module's own name
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

// beforeLayer reports whether part i of a name, after the part before, may be a layer's number:
// without layers_pattern, the third part or a later one; else a part after one of these names.
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

// readLayers reads layers_to_transform: a number or a list of numbers.
func (c *config) readLayers(b *limits.Budget, v jsontree.Value) error {
	list := []jsontree.Value{v}
	if v.Kind == strictjson.Array {
		list = v.List()
	}
	for _, one := range list {
		n, ok := one.Int()
		if !ok || n < 0 {
			return wire.ErrRange.Errorf("a layer must be an integer of at least 0")
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

// readLayerNames reads layers_pattern. PEFT takes it for an expression, of which only plain
// names are supported.
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
		err = wire.ErrUnsupported.Errorf("%s is not the name of a list of layers", wire.Quote(c.layerNames[i]))
	}
	return err
}
