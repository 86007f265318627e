package quant

import (
	"errors"
	"fmt"
	"io/fs"
	"math"

	"github.com/anamnesis-go/anamnesis/internal/strictjson"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// MaxConfig bounds one configuration file: those of mixed models name thousands
// of modules.
const MaxConfig = 32 << 20

// An object is a JSON object in the order of its text. Its values are string,
// bool, float64, nil, []any or *object. A nil object has no members.
type object struct {
	order  []string
	values map[string]any
}

// A config is what the files beside a model, and its own metadata, say about
// how it is quantized. It is a hypothesis: the tensors decide.
type config struct {
	file  string  // where it was found, for messages
	quant *object // the quantization's own object
	// sources are all objects that describe the quantization, quant the first.
	sources []source
	model   *object // the whole config.json
}

// configPlaces are the files and the objects in them that may hold a
// quantization, in the order in which they are asked.
var configPlaces = []struct {
	file string
	path []string
}{
	{"config.json", []string{"quantization_config"}},
	{"config.json", []string{"text_config", "quantization_config"}},
	{"config.json", []string{"llm_config", "quantization_config"}},
	{"config.json", []string{"compression_config"}},
	{"config.json", []string{"quantization"}},
	{"hf_quant_config.json", []string{"quantization"}},
	{"quantize_config.json", nil},
	{"quant_config.json", nil},
	{"quantization_config.json", nil},
}

// loadConfig reads the configuration of a model. A file that is there and
// cannot be read is an error: guessing without it could be wrong. zeros is what
// the caller says of GPTQ's zero points.
func loadConfig(b *limits.Budget, files fs.FS, zeros string) (*config, error) {
	c := &config{}
	read := map[string]*object{}
	for _, place := range configPlaces {
		root, seen := read[place.file]
		if !seen {
			var err error
			if root, err = readObject(b, files, place.file); err != nil {
				return nil, err
			}
			read[place.file] = root
			if place.file == "config.json" {
				c.model = root
			}
		}
		o := root.at(place.path...)
		if o != nil {
			var err error
			if c.sources, err = limits.Append(b, c.sources, source{place.file, o}); err != nil {
				return nil, err
			}
		}
		switch {
		case o == nil:
		case c.quant == nil:
			c.file, c.quant = place.file, o
		case place.file != c.file:
			if err := c.agree(place.file, o, zeros); err != nil {
				return nil, err
			}
		}
	}
	return c, nil
}

func readObject(b *limits.Budget, files fs.FS, name string) (*object, error) {
	h, err := tensor.OpenFile(files, name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, wire.At("quant", name, wire.NoOffset, err)
	}
	defer h.Close()
	if h.Size > MaxConfig {
		return nil, wire.At("quant", name, wire.NoOffset, &limits.Error{Axis: limits.SingleAlloc, Want: h.Size, Left: MaxConfig})
	}
	c := wire.NewCursor(b, "quant", h, h.Size)
	body, err := c.String(uint64(h.Size))
	if err != nil {
		return nil, err
	}
	v, err := parseTree(b, strictjson.Text{Format: name, Body: body, Whole: true})
	if err != nil {
		return nil, err
	}
	o, ok := v.(*object)
	if !ok {
		return nil, wire.At("quant", name, 0, wire.ErrSyntax.With("not a JSON object"))
	}
	return o, nil
}

// parseTree reads a JSON value whole.
func parseTree(b *limits.Budget, text strictjson.Text) (v any, err error) {
	err = strictjson.Decode(b, text, func(d *strictjson.Decoder) error {
		v, err = tree(b, d)
		return err
	})
	return v, err
}

// treeCost is what one value of a tree takes beside its text: an entry of a map
// or a slot of a list.
const treeCost = 64

func tree(b *limits.Budget, d *strictjson.Decoder) (any, error) {
	if err := b.Hold(treeCost); err != nil {
		return nil, err
	}
	kind, err := d.Kind()
	if err != nil {
		return nil, err
	}
	switch kind {
	case strictjson.Object:
		o := &object{values: map[string]any{}}
		return o, d.Object(func(name string) (err error) {
			if o.values[name], err = tree(b, d); err == nil {
				o.order, err = limits.Append(b, o.order, name)
			}
			return err
		})
	case strictjson.Array:
		var list []any
		err := d.Array(func(int) error {
			v, err := tree(b, d)
			if err == nil {
				list, err = limits.Append(b, list, v)
			}
			return err
		})
		return list, err
	case strictjson.String:
		return d.String()
	case strictjson.Bool:
		return d.Bool()
	case strictjson.Null:
		return nil, d.Null()
	default:
		return d.Float()
	}
}

// get is a member, or nil.
func (o *object) get(name string) any {
	if o == nil {
		return nil
	}
	return o.values[name]
}

// names lists the members in the order of the text.
func (o *object) names() []string {
	if o == nil {
		return nil
	}
	return o.order
}

// at follows names to an object, or gives nil.
func (o *object) at(path ...string) *object {
	for _, name := range path {
		o, _ = o.get(name).(*object)
	}
	return o
}

func (o *object) text(name string) string {
	s, _ := o.get(name).(string)
	return s
}

func (o *object) list(name string) []any {
	list, _ := o.get(name).([]any)
	return list
}

// Whole is an integer of the object; ok is false where there is none.
func (o *object) whole(name string) (n int64, ok bool) { return wholeOf(o.get(name)) }

// wholeOf is a value that is an integer, of those that every float64 up to it is.
func wholeOf(v any) (n int64, ok bool) {
	f, isNumber := v.(float64)
	if !isNumber || math.Abs(f) > 1<<53 {
		return 0, false
	}
	n = int64(f)
	return n, float64(n) == f
}

// method is the quantization's name for itself.
func (c *config) method() string { return c.quant.text("quant_method") }

// since reports that the library that wrote the configuration is of this
// version or later.
func (c *config) since(major, minor int64) bool {
	var a, b int64
	if n, _ := fmt.Sscanf(c.quant.text("version"), "%d.%d", &a, &b); n != 2 {
		return false
	}
	return a > major || a == major && b >= minor
}
