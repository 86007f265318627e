package fuzz_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/anamnesis-go/anamnesis/corpus"
	"github.com/anamnesis-go/anamnesis/fuzz"
	"github.com/anamnesis-go/anamnesis/internal/strictjson"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
)

var jsonTarget = fuzz.Target{
	Read: func(b *limits.Budget, r io.ReaderAt, size int64) (fuzz.Answer, error) {
		v, err := readTree(b, r, size)
		if err != nil {
			return fuzz.Answer{}, err
		}
		text, err := json.Marshal(v)
		return fuzz.Text(string(text)), err
	},
	Rewrite: func(b *limits.Budget, data []byte) ([]byte, error) {
		v, err := readTree(b, bytes.NewReader(data), int64(len(data)))
		if err != nil {
			return nil, err
		}
		return json.Marshal(v)
	},
	Measured: func(b *limits.Budget, r io.ReaderAt, size int64) error {
		text, err := strictjson.ReadAt(b, r, 0, size)
		if err != nil {
			return wire.At("json", "", 0, err)
		}
		return strictjson.Decode(b, strictjson.Text{Format: "json", Body: text, Whole: true}, everything)
	},
}

func readTree(b *limits.Budget, r io.ReaderAt, size int64) (v any, err error) {
	text, err := strictjson.ReadAt(b, r, 0, size)
	if err != nil {
		return nil, wire.At("json", "", 0, err)
	}
	err = strictjson.Decode(b, strictjson.Text{Format: "json", Body: text, Whole: true}, func(d *strictjson.Decoder) error {
		v, err = tree(d)
		return err
	})
	return v, err
}

// tree reads any value as encoding/json does with UseNumber.
func tree(d *strictjson.Decoder) (v any, err error) {
	kind, err := d.Kind()
	if err != nil {
		return nil, err
	}
	switch kind {
	case strictjson.Object:
		object := map[string]any{}
		err = d.Object(func(name string) (err error) {
			object[name], err = tree(d)
			return err
		})
		return object, err
	case strictjson.Array:
		array := []any{}
		err = d.Array(func(int) error {
			v, err := tree(d)
			array = append(array, v)
			return err
		})
		return array, err
	case strictjson.String:
		return d.String()
	case strictjson.Number:
		text, err := d.Number()
		return json.Number(text), err
	case strictjson.Bool:
		return d.Bool()
	default:
		return nil, d.Null()
	}
}

// everything reads a value with the methods that plain reading does not use: each kind of
// number, and skipping.
func everything(d *strictjson.Decoder) error {
	kind, err := d.Kind()
	if err != nil {
		return err
	}
	switch kind {
	case strictjson.Object:
		return d.ObjectOf(9, func(name string) error {
			if strings.HasPrefix(name, "s") {
				return nil
			}
			return everything(d)
		})
	case strictjson.Array:
		return d.Array(func(i int) error {
			if i%3 == 2 {
				return nil
			}
			return everything(d)
		})
	default:
		return d.Skip()
	}
}

// FuzzStrictJSON compares the strict reader with encoding/json: what it accepts means the
// same there, and what it refuses is refused there too, or is something that it is strict
// about.
func FuzzStrictJSON(f *testing.F) {
	addSeeds(f, "json")
	for _, s := range []string{
		``, ` `, `{}`, `[]`, `""`, `0`, `-0`, `01`, `1e3`, `-1.5E-7`, `1.`, `.5`, `+1`, `true`, `tru`, `null`, `nul`, `NaN`, `[1,]`, `{"a":1,}`,
		`{"a":1,"a":2}`, `{"a":1,"\u0061":2}`, `{"a":{"b":[{"c":"d"}]}}`, `"\ud83d\ude00"`, `"\ud83d"`, `"\ude00\ud83d"`, `"\u00"`, `"\x"`, "\"\x01\"",
		"\"\xff\"", "\"\xed\xa0\x80\"", `"é 😀"`, `[[[[[[[[]]]]]]]]`, strings.Repeat("[", 200), `18446744073709551615`, `18446744073709551616`,
		`{"1":0,"2":0,"3":0,"4":0,"5":0,"6":0,"7":0,"8":0,"9":0,"10":0,"\u0031":0}`, " \t\r\n[ 1 , 2 ]\n", "\ufeff{}", `{"a" 1}`, `[1 2]`, `"a`, `"a\`,
	} {
		f.Add([]byte(s))
	}
	for _, s := range corpus.Valid("safetensors") {
		if len(s.Data) > 8 {
			f.Add(s.Data[8:])
		}
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		accepted := jsonTarget.Check(t, data)
		compareJSON(t, data, accepted)
		compareIntegers(t, data)
	})
}

func compareJSON(t *testing.T, data []byte, accepted bool) {
	t.Helper()
	b := fuzz.Ceilings.Budget(t.Context())
	defer b.Close()
	got, err := readTree(b, bytes.NewReader(data), int64(len(data)))
	if (err == nil) != accepted {
		t.Fatalf("accepted is %v, then %v", accepted, err)
	}
	var want any
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	other := d.Decode(&want)
	if other == nil {
		if _, rest := d.Token(); rest != io.EOF {
			other = errors.New("trailing bytes")
		}
	}
	switch {
	case err == nil && other != nil:
		t.Fatalf("accepted, encoding/json: %v", other)
	case err == nil:
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatal("differs from encoding/json:\n", diff)
		}
	case other == nil && !strictAbout(data, err):
		t.Fatalf("encoding/json takes it: %v", err)
	}
}

// strictAbout reports whether encoding/json does not have the error, and the text really
// has the fault.
func strictAbout(data []byte, err error) bool {
	switch {
	case wire.ClassOf(err) == wire.Limit:
		return true
	case errors.Is(err, wire.ErrDuplicate):
		return duplicates(json.NewDecoder(bytes.NewReader(data)))
	case errors.Is(err, wire.ErrText), errors.Is(err, wire.ErrTruncated):
		return !utf8.Valid(data) || strings.Contains(strings.ToLower(string(data)), `\ud`)
	}
	return false
}

// duplicates reports whether an object in the text repeats a name, by the tokens of
// encoding/json.
func duplicates(d *json.Decoder) bool {
	type level struct {
		names map[string]bool // nil for an array
		name  bool            // a name comes next
	}
	var open []level
	for {
		token, err := d.Token()
		if err != nil {
			return false
		}
		if top := len(open) - 1; top >= 0 && open[top].names != nil {
			if name, ok := token.(string); ok && open[top].name {
				if open[top].names[name] {
					return true
				}
				open[top].names[name], open[top].name = true, false
				continue
			}
			open[top].name = true
		}
		switch token {
		case json.Delim('{'):
			open = append(open, level{map[string]bool{}, true})
		case json.Delim('['):
			open = append(open, level{})
		case json.Delim('}'), json.Delim(']'):
			open = open[:len(open)-1]
		}
	}
}

var plainInteger = regexp.MustCompile(`^(0|[1-9][0-9]*)$`)

// compareIntegers reads the bytes as one integer in each possible way.
func compareIntegers(t *testing.T, data []byte) {
	t.Helper()
	text := strings.Trim(string(data), " \t\r\n")
	unsigned, err := strconv.ParseUint(text, 10, 64)
	okay := err == nil && plainInteger.MatchString(text)
	number(t, string(data), "Uint", unsigned, okay, func(d *strictjson.Decoder) (uint64, error) { return d.Uint(math.MaxUint64) })
	number(t, string(data), "Uint up to 1000", unsigned, okay && unsigned <= 1000, func(d *strictjson.Decoder) (uint64, error) { return d.Uint(1000) })
	number(t, "["+string(data)+"]", "Uints", []uint64{unsigned}, okay, func(d *strictjson.Decoder) ([]uint64, error) {
		list, err := d.Uints(nil, math.MaxUint64)
		if err == nil && len(list) != 1 {
			err = errors.New("not one number")
		}
		return list, err
	})
	signed, err := strconv.ParseInt(text, 10, 64)
	okay = err == nil && text != "-0" && plainInteger.MatchString(strings.TrimPrefix(text, "-"))
	number(t, string(data), "Int", signed, okay, (*strictjson.Decoder).Int)
}

func number[T any](t *testing.T, text, what string, want T, okay bool, read func(*strictjson.Decoder) (T, error)) {
	t.Helper()
	b := fuzz.Ceilings.Budget(t.Context())
	defer b.Close()
	var got T
	err := strictjson.Decode(b, strictjson.Text{Format: "json", Body: text}, func(d *strictjson.Decoder) (err error) {
		got, err = read(d)
		return err
	})
	if (err == nil) != okay {
		t.Fatalf("%s of %q: %v", what, text, err)
	}
	if diff := cmp.Diff(fmt.Sprint(want), fmt.Sprint(got)); okay && diff != "" {
		t.Fatalf("%s of %q: %s", what, text, diff)
	}
}
