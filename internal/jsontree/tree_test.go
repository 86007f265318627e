package jsontree

import (
	"fmt"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
)

// Members are found in small and in large objects, and a null member counts as missing.
func TestMembers(t *testing.T) {
	for _, n := range []int{1, fewNames, fewNames + 1, 1000} {
		var text strings.Builder
		text.WriteString(`{"none": null`)
		for i := range n {
			fmt.Fprintf(&text, `, "m%d": %d`, i, i)
		}
		b := limits.Policy{}.Budget(t.Context())
		v, err := Read(b, fstest.MapFS{"x": {Data: []byte(text.String() + "}")}}, "x", 1<<20)
		b.Close()
		if err != nil {
			t.Fatal(err)
		}
		for i := range n {
			if got, ok := v.Get(fmt.Sprintf("m%d", i)).Int(); !ok || got != int64(i) {
				t.Errorf("of %d: m%d is %d, %v", n, i, got, ok)
			}
		}
		if v.Get("none").There || v.Get("other").There {
			t.Errorf("of %d: a member that is null, or not there, is found", n)
		}
	}
}

// A file that is longer than its reader allows is not read.
func TestAFileBeyondTheMaximumIsNotRead(t *testing.T) {
	b := limits.Policy{}.Budget(t.Context())
	defer b.Close()
	files := fstest.MapFS{"a.json": {Data: []byte(`"four"`)}}
	for most, want := range map[int64]wire.Class{5: wire.Limit, 6: wire.OK, 7: wire.OK} {
		if _, err := Read(b, files, "a.json", most); wire.ClassOf(err) != want {
			t.Errorf("at most %d bytes: %v", most, err)
		}
	}
}

// Only numbers that are written as integers are integers: Python's json reads others as floats, and
// serde refuses them for an integer field.
func TestOnlyPlainDigitsAreIntegers(t *testing.T) {
	b := limits.Policy{}.Budget(t.Context())
	defer b.Close()
	for text, want := range map[string]bool{
		"0": true, "4": true, "-1": true, "9223372036854775807": true, "-9223372036854775808": true,
		"4.0": false, "1e3": false, "1E3": false, "10e-1": false, "-0": false, "9223372036854775808": false, "null": false, `"4"`: false, "true": false,
	} {
		v, err := Read(b, fstest.MapFS{"x": {Data: []byte(`{"n": ` + text + "}")}}, "x", 1<<20)
		if _, ok := v.Get("n").Int(); err != nil || ok != want {
			t.Errorf("%s is an integer: %v, %v", text, ok, err)
		}
	}
	if _, err := Read(b, fstest.MapFS{"x": {Data: []byte("1e999")}}, "x", 1<<20); wire.ClassOf(err) != wire.Malformed {
		t.Errorf("1e999: %v", err)
	}
}
