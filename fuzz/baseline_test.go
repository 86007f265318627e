package fuzz_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/anamnesis-go/anamnesis/gate"
)

// onlyOnce reads JSON as a tree of maps, and refuses a duplicate name in an object.
func onlyOnce(d *json.Decoder) (any, error) {
	t, err := d.Token()
	if err != nil {
		return nil, err
	}
	switch t {
	case json.Delim('{'):
		m := map[string]any{}
		for d.More() {
			key, err := d.Token()
			if err != nil {
				return nil, err
			}
			if _, twice := m[key.(string)]; twice {
				return nil, fmt.Errorf("%q twice", key)
			}
			if m[key.(string)], err = onlyOnce(d); err != nil {
				return nil, err
			}
		}
		_, err = d.Token()
		return m, err
	case json.Delim('['):
		list := []any{}
		for d.More() {
			v, err := onlyOnce(d)
			if err != nil {
				return nil, err
			}
			list = append(list, v)
		}
		_, err = d.Token()
		return list, err
	}
	return t, nil
}

// FuzzBaseline reads any text as a baseline: its exceptions follow from the exact names of the text
// and apply to the listed digests, and the text has nothing else.
func FuzzBaseline(f *testing.F) {
	digest := strings.Repeat("ab", 32)
	whole := func(members string) string { return `{"schema": "amn.baseline/2"` + members + `}` }
	entry := func(members string) string { return whole(`, "files": [{"sha256": "` + digest + `"` + members + `}]`) }
	for text, excused := range map[string]int{
		whole(``): 0, whole(`, "files": []`): 0, entry(``): 0, entry(`, "path": "a", "rules": ["zip.prefix", "tar.*"]`): 2, `{"schema": "amn.baseline/1", "files": []}`: 0,
		whole(`, "files": null`): -1, whole(`, "FILES": []`): -1, whole(`, "files": [], "files": []`): -1, whole(`, "schema": "amn.baseline/2"`): -1, whole(``) + `{}`: -1, whole(``) + `x`: -1,
		entry(`, "Rules": ["zip.prefix"]`): -1, entry(`, "rules": ["zip.prefix"], "rules": []`): -1, entry(`, "rules": "zip.prefix"`): -1, entry(`, "rules": [null]`): -1,
		entry(`, "rules": ["zip.no-such"]`): -1, entry(`, "path": 1`): -1, entry(`, "more": 1`): -1, `{"schema": "amn.baseline/3"}`: -1, `{"files": []}`: -1, `[]`: -1, ``: -1,
		strings.Replace(entry(`, "rules": ["zip.prefix"]`), digest, "ab", 1): -1, whole(`, "files": [[]]`): -1,
		whole(`, "` + strings.Repeat("l", 4000) + `": 1`): -1, entry(`, "` + strings.Repeat("l", 4000) + `": 1`): -1, entry(`, "rules": ["` + strings.Repeat("l", 4000) + `"]`): -1,
		`{"schema": "` + strings.Repeat("l", 4000) + `"}`: -1,
	} {
		list, err := gate.ReadBaseline(strings.NewReader(text))
		if (err == nil) != (excused >= 0) || len(list) != max(0, excused) {
			f.Errorf("%s: %v, %v", text, list, err)
		}
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		list, err := gate.ReadBaseline(bytes.NewReader(text))
		if err != nil {
			readable(t, err)
			return
		}
		d := json.NewDecoder(bytes.NewReader(text))
		tree, err := onlyOnce(d)
		if _, end := d.Token(); err != nil || end != io.EOF {
			t.Fatalf("accepted: %v, %v", err, end)
		}
		said := map[string]bool{}
		doc := tree.(map[string]any)
		files, _ := doc["files"].([]any)
		for _, one := range files {
			entry := one.(map[string]any)
			rules, _ := entry["rules"].([]any)
			for _, rule := range rules {
				said[fmt.Sprint(entry["sha256"], " ", rule)] = true
			}
		}
		first := doc["schema"] == "amn.baseline/1" // before the newest rules, which it excuses too
		for _, e := range list {
			if key := e.SHA256 + " " + e.Rule; !said[key] && !first || e.SHA256 == "" || e.Path != "" {
				t.Fatalf("%+v is excused, and %v is said", e, said)
			}
			delete(said, e.SHA256+" "+e.Rule)
		}
		if len(said) > 0 {
			t.Fatalf("%v is said, and not excused", said)
		}
		p := gate.Policy{Ignore: slices.Clone(list)}
		if err := p.Validate(); err != nil {
			t.Fatal(err)
		}
	})
}
