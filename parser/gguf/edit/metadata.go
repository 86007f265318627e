package edit

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/anamnesis-go/anamnesis/internal/strictjson"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/gguf"
)

// noKind is one past the kinds.
const noKind = gguf.KindF64 + 1

func isText(s string) bool { return utf8.ValidString(s) && strings.IndexByte(s, 0) < 0 }

func isKey(s string) bool { return s != "" && len(s) <= gguf.MaxKeyBytes && isText(s) }

func fail(where string, err error) error { return wire.At(gguf.Format, where, wire.NoOffset, err) }

// inKey adds the key to an error.
func inKey(key string, off int64, err error) error {
	where := "key " + wire.Quote(key)
	if e, ok := errors.AsType[*wire.Error](err); ok {
		return wire.At(gguf.Format, where, e.Off, e.Err)
	}
	return wire.At(gguf.Format, where, off, err)
}

// Pair reads one key and its value from KEY=VALUE, or from KEY:KIND=VALUE where KIND
// is u8 i8 u16 i16 u32 i32 u64 i64 f32 f64 bool or string. Without a kind, the value has
// the one that llama.cpp requires for the key, or is a string for an unknown key. The
// value may contain equal signs, and a string may be empty.
func Pair(b *limits.Budget, s string) (gguf.Entry, error) {
	key, value, ok := strings.Cut(s, "=")
	if !ok || key == "" {
		return gguf.Entry{}, fail("key and value "+wire.Quote(s), wire.ErrUsage.Errorf("must have the form KEY=VALUE"))
	}
	kind := "string"
	if k, known := gguf.KnownKind(key); known {
		kind = k.String()
	}
	if at := strings.LastIndexByte(key, ':'); at > 0 {
		key, kind = key[:at], key[at+1:]
	}
	wrong := func(what string) (gguf.Entry, error) {
		return gguf.Entry{}, fail("key "+wire.Quote(key), wire.ErrUsage.Errorf("%s", what))
	}
	if !isKey(key) || !isText(value) {
		return wrong(fmt.Sprintf("key and value must be UTF-8 without NUL, the key of at most %d bytes", gguf.MaxKeyBytes))
	}
	if kind == "string" || kind == "str" {
		return gguf.Entry{Key: key, Value: value}, nil
	}
	if value == "" || value != "true" && value != "false" && strings.Trim(value, "+-.0123456789eE") != "" {
		return wrong(fmt.Sprintf("%s is not of the kind %s", wire.Quote(value), kind))
	}
	list, err := Metadata(b, `{"x":{"type":`+strconv.Quote(kind)+`,"value":`+value+`}}`)
	if e, ok := errors.AsType[*wire.Error](err); ok && wire.ClassOf(err) == wire.Limit {
		return gguf.Entry{}, fail("key "+wire.Quote(key), e.Err) // only the place of the error in our own text is dropped
	}
	if err != nil || len(list) != 1 {
		return wrong(fmt.Sprintf("%s is not of the kind %s: kinds are u8 i8 u16 i16 u32 i32 u64 i64 f32 f64 bool string", wire.Quote(value), wire.Quote(kind)))
	}
	return gguf.Entry{Key: key, Value: list[0].Value}, nil
}

// Metadata reads keys and values from a JSON object, in its order. The caller has
// charged the text.
//
// By default a string becomes string, true and false become bool, an integer becomes the
// first of u32, i64 and u64 that holds it, a number with a point or an exponent becomes
// f32, and an array has the kind of its first element, which all elements must fit. An
// object in place of the value names another kind:
//
//	{"type": "u16", "value": 7}
//	{"type": "array", "item_type": "i8", "value": [1, -1]}
//
// The names are u8 i8 u16 i16 u32 i32 u64 i64 f32 f64 bool string. Null, arrays of arrays,
// and empty arrays without a kind are refused.
func Metadata(b *limits.Budget, body string) ([]gguf.Entry, error) {
	var out []gguf.Entry
	err := strictjson.Decode(b, strictjson.Text{Format: gguf.Format, Body: body, Whole: true}, func(d *strictjson.Decoder) error {
		return d.Object(func(key string) error {
			if !isKey(key) {
				return d.FailAt("", d.NameOff(), wire.ErrRange.Errorf("a key is 1 to %d bytes without NUL", gguf.MaxKeyBytes))
			}
			r := metaReader{d, b}
			value, err := r.value()
			if err == nil {
				err = b.Hold(24) // the value in its interface
			}
			if err == nil {
				out, err = limits.Append(b, out, gguf.Entry{Key: key, Value: value})
			}
			if err != nil {
				return inKey(key, d.Off(), err)
			}
			return nil
		})
	})
	if err != nil {
		return nil, wire.At(gguf.Format, "metadata", wire.NoOffset, err)
	}
	return out, nil
}

// Merge returns base with the entries of over: a key that is present keeps its place and
// gets the new value, other keys follow in their order.
func Merge(b *limits.Budget, base, over []gguf.Entry) ([]gguf.Entry, error) {
	out, err := limits.Clone(b, base)
	if err != nil {
		return nil, fail("", err)
	}
	names, err := wire.NewNameSet(b, len(base)+len(over), func(i int) string { return out[i].Key })
	if err != nil {
		return nil, fail("", err)
	}
	for i := range out {
		if _, _, err := names.Add(i); err != nil {
			return nil, fail("", err)
		}
	}
	for _, e := range over {
		if i, ok := names.Find(e.Key); ok {
			out[i] = e
			continue
		}
		if out, err = limits.Append(b, out, e); err == nil {
			_, _, err = names.Add(len(out) - 1)
		}
		if err != nil {
			return nil, fail("key "+wire.Quote(e.Key), err)
		}
	}
	return out, nil
}

// A metaReader reads one value of a metadata file.
type metaReader struct {
	d *strictjson.Decoder
	b *limits.Budget
}

func (r metaReader) value() (any, error) {
	k, err := r.d.Kind()
	if err != nil {
		return nil, err
	}
	switch k {
	case strictjson.Object:
		return r.explicit()
	case strictjson.Array:
		return r.untyped()
	default:
		kind, ok := kindOf(r.d.Rest())
		if !ok {
			return nil, r.d.Fail("", wire.ErrRange.Errorf("%v is not a value that GGUF has", k))
		}
		return r.scalar(kind)
	}
}

// kindOf returns the kind of a scalar of which only the text is known. A whole number has
// the first of u32, i64 and u64 that holds it.
func kindOf(text string) (gguf.Kind, bool) {
	end := 0
	for end < len(text) && strings.IndexByte("+-.0123456789eE", text[end]) >= 0 {
		end++
	}
	switch {
	case text == "":
		return 0, false
	case text[0] == '"':
		return gguf.KindString, true
	case text[0] == 't' || text[0] == 'f':
		return gguf.KindBool, true
	case text[0] != '-' && (text[0] < '0' || text[0] > '9'):
		return 0, false
	case strings.ContainsAny(text[:end], ".eE"):
		return gguf.KindF32, true
	}
	n, err := strconv.ParseUint(text[:end], 10, 64)
	switch {
	case err != nil:
		return gguf.KindI64, true // negative, or too large and refused
	case n <= math.MaxUint32:
		return gguf.KindU32, true
	case n <= math.MaxInt64:
		return gguf.KindI64, true
	default:
		return gguf.KindU64, true
	}
}

// untyped reads an array whose kind is that of its first element.
func (r metaReader) untyped() (any, error) {
	at := r.d.Off()
	if kind, ok := kindOf(strings.TrimLeft(r.d.Rest()[1:], " \t\r\n")); ok {
		return r.list(kind)
	}
	err := r.d.Array(func(int) error {
		return r.d.Fail("", wire.ErrRange.Errorf("arrays may contain strings, booleans or numbers"))
	})
	if err == nil {
		err = r.d.FailAt("", at, wire.ErrRange.Errorf("an empty array needs an item_type"))
	}
	return nil, err
}

// metaKinds are the names of kinds in a metadata file. Those of text and arrays differ
// from ggml's.
var metaKinds = [noKind]string{
	gguf.KindU8: "u8", gguf.KindI8: "i8", gguf.KindU16: "u16", gguf.KindI16: "i16", gguf.KindU32: "u32", gguf.KindI32: "i32", gguf.KindF32: "f32",
	gguf.KindBool: "bool", gguf.KindString: "string", gguf.KindArray: "array", gguf.KindU64: "u64", gguf.KindI64: "i64", gguf.KindF64: "f64",
}

func (r metaReader) kind(what string) (gguf.Kind, error) {
	at := r.d.Off()
	name, err := r.d.String()
	if err != nil {
		return 0, err
	}
	for k, n := range metaKinds {
		if n == name {
			return gguf.Kind(k), nil
		}
	}
	return 0, r.d.FailAt("", at, wire.ErrRange.Errorf("%s %s is not known", what, wire.Quote(name)))
}

// explicit reads an object that names the kind. Its members come in any order, so the
// value is read once the kind is known.
func (r metaReader) explicit() (any, error) {
	at := r.d.Off()
	kind, elem := noKind, noKind
	var value strictjson.Text
	has, err := r.d.Fields([]string{"type", "item_type", "value"}, func(i int) (err error) {
		switch i {
		case 0:
			kind, err = r.kind("type")
		case 1:
			elem, err = r.kind("item_type")
		case 2:
			value.Off = r.d.Off()
			rest := r.d.Rest()
			err = r.d.Skip()
			value.Body = rest[:r.d.Off()-value.Off]
		}
		return err
	})
	switch {
	case err != nil:
		return nil, err
	case has&0b101 != 0b101:
		return nil, r.d.FailAt("", at, wire.ErrMissing.Errorf("type or value"))
	case (kind == gguf.KindArray) != (elem != noKind):
		return nil, r.d.FailAt("", at, wire.ErrMismatch.Errorf("item_type is for the type array only"))
	case elem == gguf.KindArray:
		return nil, r.d.FailAt("", at, wire.ErrRange.Errorf("arrays of arrays cannot be written"))
	}
	return r.again(value, kind, elem)
}

// again reads a value that was skipped, with a new decoder.
func (r metaReader) again(value strictjson.Text, kind, elem gguf.Kind) (out any, err error) {
	value.Format = gguf.Format
	err = strictjson.Decode(r.b, value, func(d *strictjson.Decoder) (err error) {
		inner := metaReader{d, r.b}
		if kind == gguf.KindArray {
			out, err = inner.list(elem)
		} else {
			out, err = inner.scalar(kind)
		}
		return err
	})
	return out, err
}
