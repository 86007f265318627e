package jsontree

import (
	"fmt"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
)

// Members are found whether an object has few or many of them, and null is none.
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

// A file of more bytes than its reader expects is not read.
func TestAFileIsAtMostAsLongAsItsReaderSays(t *testing.T) {
	b := limits.Policy{}.Budget(t.Context())
	defer b.Close()
	files := fstest.MapFS{"a.json": {Data: []byte(`"four"`)}}
	for most, want := range map[int64]wire.Class{5: wire.Limit, 6: wire.OK, 7: wire.OK} {
		if _, err := Read(b, files, "a.json", most); wire.ClassOf(err) != want {
			t.Errorf("at most %d bytes: %v", most, err)
		}
	}
}
