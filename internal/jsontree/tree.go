// Package jsontree reads whole JSON files into memory: configurations, of which any member may
// matter. Every value is charged. Large files are streamed with strictjson instead.
package jsontree

import (
	"errors"
	"io/fs"
	"iter"
	"strconv"
	"strings"

	"github.com/anamnesis-go/anamnesis/internal/strictjson"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// A Value is any JSON value. The zero Value is a missing value.
type Value struct {
	There bool
	Kind  strictjson.Kind

	text   string // of a string or a number
	list   []Value
	names  []string       // names of an object's members; list has their values
	places map[string]int // index of each name, for objects with many members
	truth  bool
	offset int64
}

// valueBytes is about the memory of one Value besides its slot in a list.
const valueBytes = 16

// ReadText reads a whole file of a folder. A file of more than most bytes is refused.
func ReadText(b *limits.Budget, files fs.FS, name string, most int64) (string, error) {
	h, err := tensor.OpenFile(files, name)
	if err != nil {
		return "", err
	}
	defer h.Close()
	if h.Size > most {
		return "", wire.At(name, "", wire.NoOffset, &limits.Error{Axis: limits.SingleAlloc, Want: h.Size, Left: most})
	}
	c := wire.NewCursor(b, name, h, h.Size)
	return c.String(uint64(h.Size))
}

// Read reads a file of a folder. It returns the zero Value if the file does not exist.
func Read(b *limits.Budget, files fs.FS, name string, most int64) (v Value, err error) {
	body, err := ReadText(b, files, name, most)
	if errors.Is(err, fs.ErrNotExist) {
		return v, nil
	}
	if err != nil {
		return v, err
	}
	doc := strictjson.Text{Format: name, Body: body, Whole: true}
	err = strictjson.Decode(b, doc, func(d *strictjson.Decoder) error {
		v, err = Decode(b, d)
		return err
	})
	return v, err
}

// Decode reads the next value.
func Decode(b *limits.Budget, d *strictjson.Decoder) (v Value, err error) {
	if v.Kind, err = d.Kind(); err != nil {
		return v, err
	}
	if err := b.Hold(valueBytes); err != nil {
		return v, d.Fail("", err)
	}
	v.There, v.offset = true, d.Off()
	switch v.Kind {
	case strictjson.String:
		v.text, err = d.String()
	case strictjson.Number:
		v.text, _, err = d.Finite() // Python reads 1e999 as infinity; serde and nlohmann refuse it
	case strictjson.Bool:
		v.truth, err = d.Bool()
	case strictjson.Array:
		err = d.Array(func(int) error { return v.add(b, d) })
	case strictjson.Object:
		err = d.Object(func(name string) error {
			names, err := limits.Append(b, v.names, name)
			if err != nil {
				return d.Fail("", err)
			}
			v.names = names
			return v.add(b, d)
		})
		if err == nil && len(v.names) > fewNames {
			err = v.index(b, d)
		}
	default:
		err = d.Null()
	}
	return v, err
}

// Objects with at most fewNames members are searched linearly.
const fewNames = 64

// index builds a map of names. Callers look members up once per tensor, and a hostile document may
// have very many members, so a linear search would be quadratic.
func (v *Value) index(b *limits.Budget, d *strictjson.Decoder) error {
	if err := b.Hold(48 * int64(len(v.names))); err != nil {
		return d.Fail("", err)
	}
	v.places = map[string]int{}
	for i, n := range v.names {
		if err := b.Step(1); err != nil {
			return d.Fail("", err)
		}
		v.places[n] = i
	}
	return nil
}

func (v *Value) add(b *limits.Budget, d *strictjson.Decoder) error {
	one, err := Decode(b, d)
	if err != nil {
		return err
	}
	v.list, err = limits.Append(b, v.list, one)
	return d.Fail("", err)
}

// Get returns the member, or the zero Value if the object has none or it is null.
func (v Value) Get(name string) Value {
	if v.places != nil {
		if i, ok := v.places[name]; ok && v.list[i].Kind != strictjson.Null {
			return v.list[i]
		}
		return Value{}
	}
	for i, n := range v.names {
		if n == name && v.list[i].Kind != strictjson.Null {
			return v.list[i]
		}
	}
	return Value{}
}

// Within follows names to an object. It returns the zero Value if there is no object at the end.
func (v Value) Within(path ...string) Value {
	switch {
	case len(path) > 0:
		return v.Get(path[0]).Within(path[1:]...)
	case v.Kind != strictjson.Object:
		return Value{}
	}
	return v
}

// Names lists the members of an object, in order. The caller must not change it.
func (v Value) Names() []string { return v.names }

// At follows a dotted path of members, such as "text_config.hidden_size".
func (v Value) At(path string) Value {
	for name := range strings.SplitSeq(path, ".") {
		v = v.Get(name)
	}
	return v
}

// First returns the first of the named members that exists.
func (v Value) First(names ...string) Value {
	for _, n := range names {
		if m := v.Get(n); m.There {
			return m
		}
	}
	return Value{}
}

// List returns the elements of an array.
func (v Value) List() []Value {
	if v.Kind != strictjson.Array {
		return nil
	}
	return v.list
}

// A Member is a member of an object.
type Member struct {
	Name  string
	Value Value
}

// Members iterates over the members of an object, in order.
func (v Value) Members() iter.Seq[Member] {
	return func(yield func(Member) bool) {
		for i := range v.names {
			if !yield(Member{v.names[i], v.list[i]}) {
				return
			}
		}
	}
}

// String returns the text of a string, "" for any other value.
func (v Value) String() string {
	if v.Kind != strictjson.String {
		return ""
	}
	return v.text
}

// IsString reports whether the value is a string.
func (v Value) IsString() bool { return v.There && v.Kind == strictjson.String }

// Bool returns a boolean; ok is false for any other value.
func (v Value) Bool() (truth, ok bool) { return v.truth, v.There && v.Kind == strictjson.Bool }

// True reports whether the value is the boolean true.
func (v Value) True() bool { return v.truth }

// Int returns a 64-bit integer that is written with digits only; ok is false for any other value.
// Readers differ on the rest: 1.0 and 1e3 are floats to Python's json, errors to serde and integers
// to nlohmann; -0 is 0 to Python and nlohmann, and a float to serde.
func (v Value) Int() (n int64, ok bool) {
	if !v.There || v.Kind != strictjson.Number || v.text == "-0" {
		return 0, false
	}
	n, err := strconv.ParseInt(v.text, 10, 64)
	return n, err == nil
}

// Float returns a number as a float64; ok is false for any other value, and for a number that a
// float64 cannot hold.
func (v Value) Float() (f float64, ok bool) {
	if !v.There || v.Kind != strictjson.Number {
		return 0, false
	}
	f, err := strconv.ParseFloat(v.text, 64)
	return f, err == nil
}

// Number returns a number as it is written, "" for any other value.
func (v Value) Number() string {
	if v.Kind != strictjson.Number {
		return ""
	}
	return v.text
}

// Off returns the offset of the value in its file.
func (v Value) Off() int64 { return v.offset }

// Object returns an object without members.
func Object() Value { return Value{There: true, Kind: strictjson.Object} }

// Put decodes the next value and adds it to the object as a member.
func (v *Value) Put(b *limits.Budget, d *strictjson.Decoder, name string) error {
	names, err := limits.Append(b, v.names, name)
	if err != nil {
		return d.Fail("", err)
	}
	v.names = names
	return v.add(b, d)
}

// Preset parses a value of our own tables: a number, true or false; anything else is a string.
func Preset(text string) Value {
	switch {
	case text == "true" || text == "false":
		return Value{There: true, Kind: strictjson.Bool, truth: text == "true"}
	case text != "" && text[0] >= '0' && text[0] <= '9':
		return Value{There: true, Kind: strictjson.Number, text: text}
	}
	return Value{There: true, Kind: strictjson.String, text: strings.Trim(text, `"`)}
}
