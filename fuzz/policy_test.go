package fuzz_test

import (
	"bytes"
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"unicode"

	"github.com/google/go-cmp/cmp"

	"github.com/anamnesis-go/anamnesis/limits"
)

// FuzzPolicy tests that an accepted policy is valid, is JSON for the standard library too,
// and equals what its printed form reads as; and that a refusal's text is safe for a
// terminal.
func FuzzPolicy(f *testing.F) {
	for _, s := range []string{
		`{}`, `{"max_single_alloc": "64MiB", "max_depth": 4}`, `{"timeout": "none"}`, `{"timeout": "1h30m"}`,
		`{"max_items": 0}`, `{"max_items": -1}`, `{"max_items": 1e3}`, `{"max_items": 9223372036854775808}`,
		`{"max_total_bytes": "64MB"}`, `{"max_total_bytes": "8388608TiB"}`, `{"quirks": ["gguf.gaps", "x"]}`,
		`{"quirks": [1]}`, `{"quirks": null}`, `{"max_depth": 1, "max_depth": 2}`, `{"unknown": 1}`, `[]`, `{`, `{} {}`,
		`{"refuse_unknown_members": true, "refuse_findings": ["*"], "refuse_formats": ["pth"]}`, "{\"\x1b\": 1}", "\xff",
	} {
		f.Add([]byte(s))
	}
	for _, name := range limits.Profiles() {
		p, _ := limits.Profile(name)
		text, err := json.Marshal(p)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		p, err := limits.ParsePolicy(text)
		if err != nil {
			readable(t, err)
			return
		}
		if err := p.Validate(); err != nil {
			t.Fatalf("accepted, but not valid: %v", err)
		}
		if !json.Valid(text) {
			t.Fatalf("accepted, but not JSON: %q", text)
		}
		for _, a := range limits.Axes() {
			if n := p.Limit(a); n <= 0 && (a != limits.Time || n != -1) {
				t.Fatalf("axis %v has the ceiling %d", a, n)
			}
		}
		printed, err := json.Marshal(p)
		if err != nil {
			t.Fatalf("accepted, but not printed: %v", err)
		}
		back, err := limits.ParsePolicy(printed)
		if err != nil {
			t.Fatalf("printed %s, but not read: %v", printed, err)
		}
		if diff := cmp.Diff(lists(p.Filled()), lists(back.Filled())); diff != "" {
			t.Fatalf("printed and read it differs: %s", diff)
		}
		if reader, err := limits.ReadPolicy(bytes.NewReader(text)); err != nil || !reflect.DeepEqual(reader, p) {
			t.Fatalf("read from a reader it is %+v, %v", reader, err)
		}
	})
}

// lists replaces empty lists by absent ones.
func lists(p limits.Policy) limits.Policy {
	for _, l := range []*[]string{&p.Quirks, &p.RefuseFormats, &p.RefuseFindings} {
		if len(*l) == 0 {
			*l = nil
		}
	}
	return p
}

func readable(t *testing.T, err error) {
	t.Helper()
	if n := len(err.Error()); n > 500 {
		t.Fatalf("the error has %d bytes", n)
	}
	if strings.ContainsFunc(err.Error(), unicode.IsControl) {
		t.Fatalf("the error shows control characters: %q", err)
	}
}
