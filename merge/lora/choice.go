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

// A choice is modules by a list of names, or by an expression for all of a name.
type choice struct {
	given  bool
	names  []string
	whole  *expression // nil for a list, and for allLinear
	linear bool        // allLinear
}

// allLinear is the word that PEFT takes for all linear layers.
const allLinear = "all-linear"

// modules reads what says to which modules an adapter belongs; is is false for another
// key.
func (c *config) modules(b *limits.Budget, name string, v jsontree.Value) (is bool, err error) {
	switch name {
	case "modules_to_save":
		c.saved, err = names(b, v)
		if i := slices.IndexFunc(c.saved, func(name string) bool { return !isName(name) }); err == nil && i >= 0 {
			err = wire.ErrUnsupported.Errorf("%s is not the name of a module", wire.Quote(c.saved[i]))
		}
	case "target_modules":
		if strings.ToLower(v.String()) == allLinear {
			c.targets = choice{given: true, linear: true}
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
func (c *config) readChoice(b *limits.Budget, v jsontree.Value) (x choice, err error) {
	text := v.String()
	switch {
	case !v.IsString():
		x.names, err = names(b, v)
	default:
		x.whole, err = readExpression(b, text)
		if c.asks = true; errors.Is(err, errExpression) {
			err = wire.ErrUnsupported.Errorf("%s is not an expression that is read here: which modules PEFT would adapt is not known", wire.Quote(text))
		}
	}
	x.given = true
	return x, err
}

// named reports a module that a list names.
func (x *choice) named(module string) bool { return ends(x.names, module) }

// takes reports a module that the expression fits.
func (x *choice) takes(steps *limits.Steps, m *module) (bool, error) {
	if x.whole == nil {
		return x.linear && !m.embedding && !ends(heads, m.name), nil
	}
	return x.whole.fits(steps, m.name)
}

// heads are modules that make the output, which PEFT does not count among all linear
// layers; one of another model that is called so is refused too.
var heads = []string{"lm_head", "embed_out", "output_layer", "score", "classifier", "cls", "qa_outputs"}

// leftOut says why PEFT adds nothing to a module, though the adapter has matrices for
// it: check_target_module_exists of its tuners_utils.py.
func (c *config) leftOut(steps *limits.Steps, m *module) (string, error) {
	isList := c.targets.names != nil
	if c.excludes.whole != nil {
		if out, err := c.excludes.takes(steps, m); out || err != nil {
			return "exclude_modules takes it out", err
		}
	}
	if c.targets.given && !isList {
		if in, err := c.targets.takes(steps, m); err != nil {
			return "", err
		} else if !in {
			return "target_modules does not fit it", nil
		}
	}
	switch {
	case c.excludes.named(m.name):
		return "exclude_modules takes it out", nil
	case c.within(m.name), c.mayBeWithin(m.name):
		return "modules_to_save has it", nil
	case isList && !c.targets.named(m.name):
		return "target_modules does not name it", nil
	case isList && !slices.Contains(c.targets.names, m.name) && !c.inLayers(m.name):
		return "layers_to_transform leaves its layer out", nil
	}
	return "", nil
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
			return wire.ErrRange.Errorf("a layer is a whole number from 0 on")
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
		err = wire.ErrUnsupported.Errorf("%s is not the name of a list of layers", wire.Quote(c.layerNames[i]))
	}
	return err
}
