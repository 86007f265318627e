// Package config reads what the files beside a model say about its quantization:
// config.json and the files of libraries that have their own. Load finds the objects,
// Known compares their keys with those that a scheme knows.
package config

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"github.com/anamnesis-go/anamnesis/internal/jsontree"
	"github.com/anamnesis-go/anamnesis/internal/strictjson"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// MaxFile bounds one configuration file. Those of mixed models list thousands of modules.
const MaxFile = 32 << 20

// A Config is what the files beside a model, and its own metadata, say about its
// quantization. It is a hypothesis: the tensors decide.
type Config struct {
	File  string         // where it was found, for messages
	Quant jsontree.Value // the quantization's own object
	// Sources are all objects that describe the quantization, Quant the first.
	Sources []Source
	Model   jsontree.Value // the whole config.json
}

// places are the files, and the objects in them, that may describe a quantization, in the
// order in which they are tried.
var places = []struct {
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

// Load reads the configuration of a model. A file that cannot be read is an error, since
// guessing without it could be wrong. zeros is the caller's version of GPTQ's zero
// points.
func Load(b *limits.Budget, files fs.FS, zeros string) (*Config, error) {
	c := &Config{}
	read := map[string]jsontree.Value{}
	for _, place := range places {
		root, seen := read[place.file]
		if !seen {
			var err error
			if root, err = readObject(b, files, place.file); err != nil {
				return nil, err
			}
			read[place.file] = root
			if place.file == "config.json" {
				c.Model = root
			}
		}
		o, err := objectAt(root, place.file, place.path)
		if err != nil {
			return nil, err
		}
		if o.There {
			if err := checkKinds(b, place.file, o); err != nil {
				return nil, err
			}
			if c.Sources, err = limits.Append(b, c.Sources, Source{place.file, o}); err != nil {
				return nil, err
			}
		}
		switch {
		case !o.There:
		case !c.Quant.There:
			c.File, c.Quant = place.file, o
		case place.file != c.File:
			if err := c.agree(place.file, o, zeros); err != nil {
				return nil, err
			}
		}
	}
	return c, nil
}

// objectAt returns the object at a path, or the zero Value. Another kind of value there is an error,
// since ignoring it could change the numbers.
func objectAt(root jsontree.Value, file string, path []string) (jsontree.Value, error) {
	if len(path) == 0 {
		return root, nil
	}
	last := len(path) - 1
	o := root.Within(path[:last]...).Get(path[last])
	if o.There && o.Kind != strictjson.Object {
		return o, wire.At("quant", file, wire.NoOffset, wire.ErrSyntax.Errorf("%s is not an object", wire.Quote(strings.Join(path, "."))))
	}
	return o, nil
}

func readObject(b *limits.Budget, files fs.FS, name string) (o jsontree.Value, err error) {
	h, err := tensor.OpenFile(files, name)
	if errors.Is(err, fs.ErrNotExist) {
		return o, nil
	}
	if err != nil {
		return o, wire.At("quant", name, wire.NoOffset, err)
	}
	defer h.Close()
	if h.Size > MaxFile {
		return o, wire.At("quant", name, wire.NoOffset, &limits.Error{Axis: limits.SingleAlloc, Want: h.Size, Left: MaxFile})
	}
	c := wire.NewCursor(b, "quant", h, h.Size)
	body, err := c.String(uint64(h.Size))
	if err != nil {
		return o, err
	}
	if o, err = Parse(b, strictjson.Text{Format: name, Body: body, Whole: true}); err != nil {
		return o, err
	}
	if o.Kind != strictjson.Object {
		return o, wire.At("quant", name, 0, wire.ErrSyntax.Errorf("not a JSON object"))
	}
	return o, nil
}

// Method returns the first quant_method in the sources.
func (c *Config) Method() string {
	for i := range c.Sources {
		if m := c.Sources[i].Method(); m != "" {
			return m
		}
	}
	return ""
}

// Since reports whether the library that wrote the configuration has at least this
// version.
func (c *Config) Since(major, minor int64) bool {
	var a, b int64
	if n, _ := fmt.Sscanf(c.Quant.Get("version").String(), "%d.%d", &a, &b); n != 2 {
		return false
	}
	return a > major || a == major && b >= minor
}

// A Source is one object of a configuration file that describes a quantization.
type Source struct {
	File   string
	Object jsontree.Value
}

// Method returns the name of the quantization method. ModelOpt's own file does not state
// it; neither did its object in config.json, which has a key that no other library
// writes.
func (c *Source) Method() string {
	method := c.Object.Get("quant_method").String()
	if c.File == "hf_quant_config.json" || method == "" && c.Object.Get("quant_algo").String() != "" {
		return "modelopt"
	}
	return method
}

// agree compares the files that describe one quantization. Of two that differ, libraries
// may read either.
func (c *Config) agree(file string, o jsontree.Value, zeros string) error {
	for _, key := range [...]string{"quant_method", "bits", "group_size", "checkpoint_format"} {
		a, b := c.Quant.Get(key), o.Get(key)
		if key == "checkpoint_format" {
			if zeros != "" {
				continue
			}
			a, b = First(a, jsontree.Preset("gptq")), First(b, jsontree.Preset("gptq"))
		}
		if scalar(a) && scalar(b) && (a.Kind != b.Kind || Says(a) != Says(b)) {
			return wire.ErrMismatch.Errorf("%s says %s %v, and %s says %v", c.File, key, Quoted(a), file, Quoted(b))
		}
	}
	return nil
}

// scalar reports whether v is a string or a number.
func scalar(v jsontree.Value) bool {
	return v.There && (v.Kind == strictjson.String || v.Kind == strictjson.Number)
}

// Quoted returns a value for a message.
func Quoted(v jsontree.Value) string {
	if v.IsString() {
		return wire.Quote(v.String())
	}
	if n := v.Number(); n != "" {
		return n
	}
	return Says(v)
}

// First returns the first value that is there, or the zero Value.
func First(values ...jsontree.Value) jsontree.Value {
	for _, v := range values {
		if v.There {
			return v
		}
	}
	return jsontree.Value{}
}
