package jsonout

import (
	"bufio"
	"bytes"
	"encoding/base64"
	"encoding/json"
	"math"
	"strconv"
	"unicode/utf8"

	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/parser/pth"
)

// An Object writes an object field by field, in the order of the calls. Text is exact:
// text that is not UTF-8 is written as base64 in the field NAME_base64.
type Object struct {
	w     *bufio.Writer
	wrote bool
}

// Write writes an object whose fields fill writes.
func Write(w *bufio.Writer, fill func(*Object)) {
	w.WriteByte('{')
	fill(&Object{w: w})
	w.WriteByte('}')
}

func (o *Object) name(name string) {
	if o.wrote {
		o.w.WriteByte(',')
	}
	o.wrote = true
	o.w.WriteByte('"')
	o.w.WriteString(name)
	o.w.WriteString(`":`)
}

// Field writes a value with encoding/json; text of files goes through Text.
func (o *Object) Field(name string, v any) {
	o.name(name)
	var buf bytes.Buffer
	e := json.NewEncoder(&buf)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		panic("internal error: " + err.Error())
	}
	o.w.Write(bytes.TrimSuffix(buf.Bytes(), []byte("\n")))
}

// Text writes text of a file or a path, complete and exact.
func (o *Object) Text(name, s string) {
	switch {
	case unescaped(s):
		o.name(name)
		o.w.WriteByte('"')
		o.w.WriteString(s)
		o.w.WriteByte('"')
	case utf8.ValidString(s):
		o.Field(name, s)
	default:
		o.Field(name+"_base64", base64.StdEncoding.EncodeToString([]byte(s)))
	}
}

// unescaped reports whether JSON needs no escapes for s, as for most names.
func unescaped(s string) bool {
	for i := range len(s) {
		if c := s[i]; c < ' ' || c > '~' || c == '"' || c == '\\' {
			return false
		}
	}
	return true
}

// Number writes an integer, as a string if a double would not hold it exactly.
func (o *Object) Number(name string, n int64) {
	o.name(name)
	o.w.Write(appendNumber(o.w.AvailableBuffer(), n))
}

// Numbers writes a list of integers.
func (o *Object) Numbers(name string, list []int64) {
	o.name(name)
	o.w.WriteByte('[')
	for i, n := range list {
		if i > 0 {
			o.w.WriteByte(',')
		}
		o.w.Write(appendNumber(o.w.AvailableBuffer(), n))
	}
	o.w.WriteByte(']')
}

// lastExact is the largest n such that doubles represent all integers up to n.
const lastExact = 1 << 53

func appendNumber(p []byte, n int64) []byte {
	if n >= -lastExact && n <= lastExact {
		return strconv.AppendInt(p, n, 10)
	}
	return append(strconv.AppendInt(append(p, '"'), n, 10), '"')
}

// Object writes a field that is an object.
func (o *Object) Object(name string, fill func(*Object)) {
	o.name(name)
	Write(o.w, fill)
}

// List writes a field that is a list of objects: each calls add for every object.
func (o *Object) List(name string, each func(add func(fill func(*Object)))) {
	o.name(name)
	o.w.WriteByte('[')
	first := true
	each(func(fill func(*Object)) {
		if !first {
			o.w.WriteByte(',')
		}
		first = false
		Write(o.w, fill)
	})
	o.w.WriteByte(']')
}

// Value writes a value of metadata: text as Text does, integers as Number does, NaN and
// infinities as strings. Of a list only the length is written.
func (o *Object) Value(name string, v any) {
	switch v := v.(type) {
	case nil:
		o.Field(name, nil)
	case string:
		o.Text(name, v)
	case pth.Bytes:
		o.Field(name+"_base64", base64.StdEncoding.EncodeToString([]byte(v)))
	case complex128:
		o.Field(name, strconv.FormatComplex(v, 'g', -1, 128))
	case bool:
		o.Field(name, v)
	case float32:
		o.Float(name, float64(v), 32)
	case float64:
		o.Float(name, v, 64)
	case uint64:
		if v > math.MaxInt64 {
			o.Field(name, strconv.FormatUint(v, 10))
		} else {
			o.Number(name, int64(v))
		}
	case []any:
		o.Number("length", int64(len(v)))
	case interface{ Len() int64 }:
		o.Number("length", v.Len())
	default:
		if n, ok := wire.Integer(v); ok {
			o.Number(name, n)
		}
	}
}

func (o *Object) Float(name string, v float64, bits int) {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		o.Field(name, strconv.FormatFloat(v, 'g', -1, bits))
		return
	}
	o.Field(name, json.Number(strconv.FormatFloat(v, 'g', -1, bits)))
}
