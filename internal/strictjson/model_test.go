package strictjson_test

import (
	"encoding/json"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/anamnesis-go/anamnesis/internal/strictjson"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/limits/limitstest"
)

// modelOfString returns the class of reading a string without escapes by RFC 8259, one character at
// a time: the first invalid byte decides.
func modelOfString(body string, whole bool) wire.Class {
	for i := 0; i < len(body); {
		r, n := utf8.DecodeRuneInString(body[i:])
		switch {
		case body[i] == '"':
			return wire.OK
		case body[i] < 0x20:
			return wire.Malformed
		case r == utf8.RuneError && n == 1:
			if whole && !utf8.FullRuneInString(body[i:]) {
				return wire.Truncated
			}
			return wire.Malformed
		}
		i += n
	}
	return wire.Truncated
}

// Every byte value at every position, in strings shorter and longer than the eight bytes that scan
// examines at once, with and without text after the string.
func TestEveryByteAtEveryPlaceOfAString(t *testing.T) {
	b := limitstest.Open(t, limits.Policy{MaxSteps: 1 << 40, Timeout: limits.NoTimeout})
	for _, end := range []string{`"`, "\"  \t\n ", "", " ", "\x80\"", "\xbf\xbf\"", "é\"", "        \"", " \xe2\x82"} {
		for before := range 18 {
			for c := range 256 {
				if c == '\\' {
					continue
				}
				body := strings.Repeat("x", before) + string([]byte{byte(c)}) + end
				cut := body[:max(0, strings.IndexByte(body, '"'))]
				want := modelOfString(body, true)
				if c == '"' && strings.Trim(end, " \t\n") != "" {
					want = wire.Malformed // something comes after the value
				}
				var got string
				err := strictjson.Decode(b, strictjson.Text{Format: "json", Body: `"` + body, Whole: true}, func(d *strictjson.Decoder) (err error) {
					got, err = d.String()
					return err
				})
				if wire.ClassOf(err) != want || err == nil && got != cut {
					t.Fatalf("%q: %q, %v, not %v", body, got, err, want)
				}
			}
		}
	}
}

// Every text of up to five of the characters that occur in lists of numbers is read as
// encoding/json reads it, or refused if encoding/json refuses it or a number is not an integer.
func TestListsOfNumbersAgreeWithASecondReader(t *testing.T) {
	b := limitstest.Open(t, limits.Policy{MaxSteps: 1 << 40, MaxTotalBytes: 1 << 40, Timeout: limits.NoTimeout})
	const alphabet = "0179:/,].- e"
	var texts func(prefix string, left int)
	tried, accepted := 0, 0
	texts = func(prefix string, left int) {
		text := "[" + prefix + "]"
		tried++
		var list []uint64
		err := strictjson.Decode(b, strictjson.Text{Format: "json", Body: text, Whole: true}, func(d *strictjson.Decoder) (err error) {
			list, err = d.Uints(nil, 1000)
			return err
		})
		var numbers []json.Number
		fits := json.Unmarshal([]byte(text), &numbers) == nil
		var want []uint64
		for _, n := range numbers {
			v, err := strconv.ParseUint(n.String(), 10, 64)
			fits = fits && err == nil && v <= 1000
			want = append(want, v)
		}
		if fits != (err == nil) {
			t.Fatalf("%q: %v, and the second reader takes it: %v", text, err, fits)
		}
		if err == nil {
			accepted++
			for i := range max(len(list), len(want)) {
				if len(list) != len(want) || list[i] != want[i] {
					t.Fatalf("%q: %v, not %v", text, list, want)
				}
			}
		}
		if left == 0 {
			return
		}
		for _, c := range alphabet {
			texts(prefix+string(c), left-1)
		}
	}
	if texts("", 4); accepted < 400 {
		t.Errorf("%d of %d are accepted", accepted, tried)
	}
}
