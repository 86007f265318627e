package gate_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/anamnesis-go/anamnesis/gate"
)

// Names are whole and exact in a verdict's JSON: of a file, and of what is in an archive. Invisible
// characters are escaped, and names that are not UTF-8 also have their bytes.
func TestTheNamesOfAVerdictAreExact(t *testing.T) {
	long := strings.Repeat("x", 90) + "/" + strings.Repeat("y", 8)
	names := []string{"a.txt", "a\u202e.txt", "a\U000e0041.txt", long + "1", long + "2"} // a tar has no other
	var members []member
	for _, name := range names {
		members = append(members, member{name, "a\n"})
	}
	outer := strings.Repeat("o", 1100) // more than was shown of a name once
	tar := tarred(t, members...)
	for _, name := range []string{"m.tar", outer + "1", outer + "2", "m\u202e.tar", "m\xff.tar"} {
		g := &gate.Gate{}
		b := g.Policy.Limits.Budget(t.Context())
		v, err := g.Check(b, strings.NewReader(tar), int64(len(tar)), gate.Hint{Name: name, Beside: true})
		if err != nil {
			t.Fatal(err)
		}
		text, err := v.MarshalJSON()
		if err != nil {
			t.Fatal(err)
		}
		var doc struct {
			Name       string
			NameBase64 []byte `json:"name_base64"`
			Contents   []struct {
				Name       string
				NameBase64 []byte `json:"name_base64"`
			}
		}
		if err := json.Unmarshal(text, &doc); err != nil {
			t.Fatal(err)
		}
		if got := string(doc.NameBase64); got != name && doc.Name != name {
			t.Errorf("%q is called %q, %q", name, doc.Name, got)
		}
		seen := map[string]bool{}
		for _, c := range doc.Contents {
			full := c.Name
			if c.NameBase64 != nil {
				full = string(c.NameBase64)
			}
			_, inner, _ := strings.Cut(full, "!")
			seen[inner] = true
		}
		for _, m := range names {
			if !seen[m] {
				t.Errorf("%q in %q is not there: %s", m, name, text)
			}
		}
		if len(doc.Contents) != len(names) {
			t.Errorf("%d names", len(doc.Contents))
		}
		if bytes.ContainsAny(text, "\u202e\U000e0041") {
			t.Errorf("what is not seen is not escaped: %q", text)
		}
		v.Close()
		b.Close()
	}
}
