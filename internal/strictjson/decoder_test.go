package strictjson_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/anamnesis-go/anamnesis/internal/strictjson"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
)

func account(t testing.TB, p limits.Policy) *limits.Budget {
	b := p.Budget(t.Context())
	t.Cleanup(b.Close)
	return b
}

// decode reads one text at offset 100 of its file.
func decode(t testing.TB, body string, whole bool, read func(*strictjson.Decoder) error) error {
	text := strictjson.Text{Format: "test", Body: body, Off: 100, Whole: whole}
	return strictjson.Decode(account(t, limits.Policy{}), text, read)
}

func skip(d *strictjson.Decoder) error { return d.Skip() }

// problem returns the cause of an error and its offset in the text.
func problem(err error) (off int64, cause error) {
	at, ok := errors.AsType[*wire.Error](err)
	if !ok {
		return -1, err
	}
	c, _ := errors.AsType[*wire.Cause](err)
	for of, ok := c, c != nil; ok; of, ok = c.Unwrap().(*wire.Cause) { // not the rule but the sentinel that it wraps
		c = of
	}
	return at.Off - 100, c
}

func TestValidJSONIsRead(t *testing.T) {
	for _, text := range []string{
		`{}`, `[]`, `""`, `0`, `-0`, `-0.0e-0`, `12`, `1.5`, `1e3`, `1E+3`, `-1.25e-7`, `true`, `false`, `null`, " \t\r\n[ 1 , { } , [ ] ]\n ",
		`{"a":{"a":{"a":[{"a":1},{"a":2}]}}}`, `{"":"","é":"😀"}`, `"\"\\\/\b\f\n\r\t\u00e9\u0000\ud83d\ude00\uFFFF"`, "\"\x7f\u2028\"",
		`{"1":1,"2":2,"3":3,"4":4,"5":5,"6":6,"7":7,"8":8,"9":9,"10":{"1":1}}`, `[1,"two",{"three":3},[4],null,true,false]`,
	} {
		if err := decode(t, text, false, skip); err != nil {
			t.Errorf("%s: %v", text, err)
		}
		if err := decode(t, text, false, func(*strictjson.Decoder) error { return nil }); err != nil {
			t.Errorf("%s left unread: %v", text, err)
		}
	}
}

func TestInvalidJSONIsRefusedWithItsOffset(t *testing.T) {
	for _, c := range []struct {
		text  string
		cause *wire.Cause
		off   int64
	}{
		{``, wire.ErrSyntax, 0},
		{` `, wire.ErrSyntax, 1},
		{`{} x`, wire.ErrTrailing, 3},
		{`1 2`, wire.ErrTrailing, 2},
		{"\ufeff{}", wire.ErrSyntax, 0},
		{"\v1", wire.ErrSyntax, 0},
		{`[1,]`, wire.ErrSyntax, 3},
		{`[,1]`, wire.ErrSyntax, 1},
		{`[1 2]`, wire.ErrSyntax, 3},
		{`[1}`, wire.ErrSyntax, 2},
		{`{"a":1,}`, wire.ErrSyntax, 7},
		{`{a:1}`, wire.ErrSyntax, 1},
		{`{"a" 1}`, wire.ErrSyntax, 5},
		{`{"a":}`, wire.ErrSyntax, 5},
		{`{"a":1]`, wire.ErrSyntax, 6},
		{`{1:1}`, wire.ErrSyntax, 1},
		{`{'a':1}`, wire.ErrSyntax, 1},
		{`//`, wire.ErrSyntax, 0},
		{`tru`, wire.ErrSyntax, 3},
		{`trueish`, wire.ErrTrailing, 4},
		{`fAlse`, wire.ErrSyntax, 1},
		{`nil`, wire.ErrSyntax, 1},
		{`NaN`, wire.ErrSyntax, 0},
		{`Infinity`, wire.ErrSyntax, 0},
		{`01`, wire.ErrSyntax, 0},
		{`-01`, wire.ErrSyntax, 1},
		{`+1`, wire.ErrSyntax, 0},
		{`.5`, wire.ErrSyntax, 0},
		{`1.`, wire.ErrSyntax, 2},
		{`1.e5`, wire.ErrSyntax, 2},
		{`1e`, wire.ErrSyntax, 2},
		{`1e+`, wire.ErrSyntax, 3},
		{`1ex`, wire.ErrSyntax, 2},
		{`-`, wire.ErrSyntax, 1},
		{`-x`, wire.ErrSyntax, 1},
		{`0x10`, wire.ErrTrailing, 1},
		{`"a`, wire.ErrSyntax, 2},
		{`"a\`, wire.ErrSyntax, 3},
		{`"a\x41"`, wire.ErrSyntax, 2},
		{`"\u12g4"`, wire.ErrSyntax, 1},
		{`"\u12`, wire.ErrSyntax, 5},
		{"\"a\nb\"", wire.ErrText, 2},
		{"\"abcdefgh\x00\"", wire.ErrText, 9},
		{"\"abcdefg\x1fh\"", wire.ErrText, 8},
		{"\"a\xffb\"", wire.ErrText, 2},
		{"\"\xc0\xaf\"", wire.ErrText, 1},
		{"\"\xed\xa0\x80\"", wire.ErrText, 1},
		{"\"\xf4\x90\x80\x80\"", wire.ErrText, 1},
		{"\"\xe2\x82\"", wire.ErrText, 1},
		{`"\ud800"`, wire.ErrText, 1},
		{`"\ud800\n"`, wire.ErrText, 1},
		{`"\ud800x"`, wire.ErrText, 1},
		{`"\ud800\u0041"`, wire.ErrText, 1},
		{`"\ud800\ud800"`, wire.ErrText, 1},
		{`"x\udc00\ud800"`, wire.ErrText, 2},
		{`"\ud800\`, wire.ErrSyntax, 8},
		{`"\ud800\u00"`, wire.ErrSyntax, 7},
		{`{"a":1,"a":2}`, wire.ErrDuplicate, 7},
		{`{"a":1,"\u0061":2}`, wire.ErrDuplicate, 7},
		{`{"\u0061":1,"a":2}`, wire.ErrDuplicate, 12},
		{`{"\u00e9":1,"é":2}`, wire.ErrDuplicate, 12},
		{`{"é\"x":1,"\u00e9\u0022x":2}`, wire.ErrDuplicate, 11},
		{`{"a":{"b":1,"c":{},"b":2}}`, wire.ErrDuplicate, 19},
		{`[{},{"":1,"":2}]`, wire.ErrDuplicate, 10},
		{`{"1":1,"2":2,"3":3,"4":4,"5":5,"6":6,"7":7,"8":8,"9":9,"1":0}`, wire.ErrDuplicate, 55},
		{`{"1":1,"2":2,"3":3,"4":4,"5":5,"6":6,"7":7,"8":8,"9":9,"\u0039":0}`, wire.ErrDuplicate, 55},
		{`{"\u0031":1,"2":2,"3":3,"4":4,"5":5,"6":6,"7":7,"8":8,"9":9,"1":0}`, wire.ErrDuplicate, 60},
	} {
		for _, whole := range []bool{false, true} {
			err := decode(t, c.text, whole, skip)
			off, cause := problem(err)
			want := c.cause
			if whole && want == wire.ErrSyntax && c.off == int64(len(c.text)) {
				want = wire.ErrTruncated
			}
			if cause != want || off != c.off {
				t.Errorf("%q, whole file %v: %v: at %d, want %v at %d", c.text, whole, err, off, want, c.off)
			}
		}
	}
}

// A rune that is cut by the end of the file may be valid in a longer file; one that is cut by the
// end of a header is malformed.
func TestACutRuneIsTruncatedOnlyAtTheEndOfTheFile(t *testing.T) {
	for _, c := range []struct {
		text  string
		whole bool
		want  *wire.Cause
		off   int64
	}{
		{"\"\xf0\x9f\x98", true, wire.ErrTruncated, 4},
		{"\"\xf0\x9f\x98", false, wire.ErrText, 1},
		{"\"\xf0\x9f\xff", true, wire.ErrText, 1},
		{"\"\xff", true, wire.ErrText, 1},
	} {
		if off, cause := problem(decode(t, c.text, c.whole, skip)); cause != c.want || off != c.off {
			t.Errorf("%q: %v at %d", c.text, cause, off)
		}
	}
}

func TestEveryPrefixOfAWholeFileIsTruncated(t *testing.T) {
	text := `{"a\u00e9\ud83d\ude00\n":[-1.5e+7,true,null,"é😀"],"b":{"c":false}}`
	for n := range text {
		if err := decode(t, text[:n], true, skip); !errors.Is(err, wire.ErrTruncated) {
			t.Errorf("%q: %v", text[:n], err)
		}
	}
}

func TestValuesAreReadByTheirKind(t *testing.T) {
	var got []string
	note := func(v any, err error) error {
		got = append(got, fmt.Sprint(v))
		return err
	}
	err := decode(t, `{"s":"a\u00e9\"b","n":-1.50e2,"f":2.5,"i":-9223372036854775808,"u":18446744073709551615,"b":[true,false],"z":null,"l":[1, 2 ,3],"e":[],"x":[{"y":1}]}`, false,
		func(d *strictjson.Decoder) error {
			return d.Object(func(name string) error {
				switch name {
				case "s":
					return note(d.String())
				case "n":
					return note(d.Number())
				case "f":
					return note(d.Float())
				case "i":
					return note(d.Int())
				case "u":
					return note(d.Uint(1<<64 - 1))
				case "b":
					return d.Array(func(int) error { return note(d.Bool()) })
				case "z":
					return note("null", d.Null())
				case "l", "e":
					return note(d.Uints(nil, 3))
				}
				return nil
			})
		})
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"aé\"b", "-1.50e2", "2.5", "-9223372036854775808", "18446744073709551615", "true", "false", "null", "[1 2 3]", "[]"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestAnIntegerIsPlainDigits(t *testing.T) {
	for _, c := range []struct {
		text  string
		limit uint64
		cause *wire.Cause
	}{
		{"0", 0, nil},
		{"7", 7, nil},
		{"18446744073709551615", 1<<64 - 1, nil},
		{"10000000000000000000", 1<<64 - 1, nil},
		{"8", 7, wire.ErrRange},
		{"18446744073709551616", 1<<64 - 1, wire.ErrRange},
		{"19999999999999999999", 1<<64 - 1, wire.ErrRange},
		{"30000000000000000000", 1<<64 - 1, wire.ErrRange},
		{"184467440737095516150", 1<<64 - 1, wire.ErrRange},
		{"99999999999999999999999999999999999999", 1<<64 - 1, wire.ErrRange},
		{"1e0", 10, wire.ErrSyntax},
		{"1E0", 10, wire.ErrSyntax},
		{"1.0", 10, wire.ErrSyntax},
		{"-0", 10, wire.ErrSyntax},
		{"-1", 10, wire.ErrSyntax},
		{"00", 10, wire.ErrSyntax},
		{"01", 10, wire.ErrSyntax},
		{`"1"`, 10, wire.ErrSyntax},
		{"true", 10, wire.ErrSyntax},
		{"[1]", 10, wire.ErrSyntax},
	} {
		err := decode(t, c.text, false, func(d *strictjson.Decoder) error {
			_, err := d.Uint(c.limit)
			return err
		})
		if off, cause := problem(err); c.cause == nil && err != nil || c.cause != nil && (cause != c.cause || off != 0) {
			t.Errorf("%s up to %d: %v at %d", c.text, c.limit, err, off)
		}
	}
	for text, okay := range map[string]bool{
		"-1": true, "-9223372036854775808": true, "9223372036854775807": true, "0": true, "-0": false, "-01": false, "-9223372036854775809": false,
		"9223372036854775808": false, "-": false, "--1": false, "-1.0": false, "1e2": false, "null": false,
	} {
		err := decode(t, text, false, func(d *strictjson.Decoder) error {
			_, err := d.Int()
			return err
		})
		if (err == nil) != okay {
			t.Errorf("%s as a signed integer: %v", text, err)
		}
	}
	err := decode(t, "1e999", false, func(d *strictjson.Decoder) error {
		_, err := d.Float()
		return err
	})
	if off, cause := problem(err); cause != error(wire.ErrRange) || off != 0 {
		t.Errorf("a number beyond float64: %v", err)
	}
}

func TestAWrongKindIsNamed(t *testing.T) {
	for want, read := range map[string]func(*strictjson.Decoder) error{
		"an array where an object belongs":   func(d *strictjson.Decoder) error { return d.Object(nil) },
		"an array where a string belongs":    func(d *strictjson.Decoder) error { _, err := d.String(); return err },
		"an array where a number belongs":    func(d *strictjson.Decoder) error { _, err := d.Float(); return err },
		"an array where a boolean belongs":   func(d *strictjson.Decoder) error { _, err := d.Bool(); return err },
		"an array where null belongs":        func(d *strictjson.Decoder) error { return d.Null() },
		"an object where an array belongs":   func(d *strictjson.Decoder) error { return d.Array(nil) },
		"a string where an array belongs":    func(d *strictjson.Decoder) error { _, err := d.Uints(nil, 1); return err },
		"a boolean where a number belongs":   func(d *strictjson.Decoder) error { _, err := d.Int(); return err },
		"null where a string belongs":        func(d *strictjson.Decoder) error { _, err := d.String(); return err },
		"a number where an object belongs":   func(d *strictjson.Decoder) error { return d.ObjectOf(3, nil) },
		"a number where a boolean belongs":   func(d *strictjson.Decoder) error { _, err := d.Bool(); return err },
		"a string where a number belongs":    func(d *strictjson.Decoder) error { _, err := d.Uint(1); return err },
		"a string where null belongs":        func(d *strictjson.Decoder) error { return d.Null() },
		"a boolean where a string belongs":   func(d *strictjson.Decoder) error { _, err := d.String(); return err },
		"byte 0x78 where a value belongs":    func(d *strictjson.Decoder) error { _, err := d.Kind(); return err },
		"the JSON text ends where a value b": func(d *strictjson.Decoder) error { _, err := d.Kind(); return err },
	} {
		text := map[byte]string{'a': "[]", 'o': "{}", 's': `""`, 'b': "true", 'n': "1"}[strings.TrimPrefix(strings.TrimPrefix(want, "an "), "a ")[0]]
		switch {
		case strings.HasPrefix(want, "null"):
			text = "null"
		case strings.HasPrefix(want, "byte"):
			text = "x"
		case strings.HasPrefix(want, "the"):
			text = ""
		}
		if err := decode(t, text, false, read); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", want, err)
		}
	}
}

// Errors in a callback have the offset of the decoder.
func TestOffsetsCountFromTheStartOfTheFile(t *testing.T) {
	err := decode(t, `{"a": 1, "b": [2]}`, false, func(d *strictjson.Decoder) error {
		return d.Object(func(name string) error {
			if name == "a" {
				return nil
			}
			if d.NameOff() != 109 || d.Off() != 114 || d.Rest() != "[2]}" {
				t.Errorf("name at %d, value at %d, rest %q", d.NameOff(), d.Off(), d.Rest())
			}
			return d.Fail("here", wire.ErrMismatch)
		})
	})
	if got, want := err.Error(), "test: here at 0x72: two statements of the file contradict each other"; got != want {
		t.Errorf("%s", got)
	}
	inArray := decode(t, `[1,2]`, false, func(d *strictjson.Decoder) error {
		return d.Array(func(i int) error {
			if i == 1 {
				return d.Fail("", wire.ErrMismatch)
			}
			return nil
		})
	})
	if off, _ := problem(inArray); off != 3 {
		t.Errorf("in an array: %v", inArray)
	}
}

func TestFieldsAreThoseOfTheList(t *testing.T) {
	list := []string{"dtype", "shape", "x"}
	read := func(text string) (got string, has uint64, err error) {
		err = decode(t, text, false, func(d *strictjson.Decoder) (err error) {
			has, err = d.Fields(list, func(i int) error {
				got += list[i]
				if i == 2 {
					return nil // left unread
				}
				n, err := d.Uint(9)
				got += fmt.Sprint(n, " ")
				return err
			})
			return err
		})
		return got, has, err
	}
	for _, c := range []struct {
		text string
		got  string
		has  uint64
	}{
		{`{}`, "", 0},
		{`{"dtype":1,"shape":2,"x":[3]}`, "dtype1 shape2 x", 7},
		{`{"x":"","shape":2}`, "xshape2 ", 6},
		{` { "shape" : 2 , "dtype" : 1 } `, "shape2 dtype1 ", 3},
		{`{"\u0064type":1,"sh\u0061pe":2}`, "dtype1 shape2 ", 3},
		{`{"dtype":1,"x":0}`, "dtype1 x", 5},
	} {
		if got, has, err := read(c.text); err != nil || got != c.got || has != c.has {
			t.Errorf("%s: %q, %b: %v", c.text, got, has, err)
		}
	}
	for _, c := range []struct {
		text  string
		cause *wire.Cause
		off   int64
	}{
		{`{"dtype":1,"dtype":1}`, wire.ErrDuplicate, 11},
		{`{"dtype":1,"\u0064type":1}`, wire.ErrDuplicate, 11},
		{`{"x":1,"shape":2,"x":3}`, wire.ErrDuplicate, 17},
		{`{"dtype":1,"y":1}`, wire.ErrSyntax, 11},
		{`{"dtyp":1}`, wire.ErrSyntax, 1},
		{`{"dtype\u0000":1}`, wire.ErrSyntax, 1},
		{`{"":1}`, wire.ErrSyntax, 1},
		{`{"dtype" 1}`, wire.ErrSyntax, 9},
		{`{"dtype":1,}`, wire.ErrSyntax, 11},
		{`{"dtype":1 "shape":2}`, wire.ErrSyntax, 11},
		{`{"dtype`, wire.ErrSyntax, 7},
		{`{"dtype"`, wire.ErrSyntax, 8},
		{`{"dtype":`, wire.ErrSyntax, 9},
		{`{"dtype":x}`, wire.ErrSyntax, 9},
		{`{"x":x}`, wire.ErrSyntax, 5},
		{`{"dtype":1`, wire.ErrSyntax, 10},
		{`{"dt` + "\xff" + `":1}`, wire.ErrText, 4},
		{`[]`, wire.ErrSyntax, 0},
	} {
		_, _, err := read(c.text)
		if off, cause := problem(err); cause != error(c.cause) || off != c.off {
			t.Errorf("%s: %v at %d", c.text, err, off)
		}
	}
}
