package config

import (
	"slices"
	"strings"
	"testing"

	"github.com/anamnesis-go/anamnesis/internal/jsontree"
	"github.com/anamnesis-go/anamnesis/internal/strictjson"
	"github.com/anamnesis-go/anamnesis/limits"
)

// Keys are compared by path and, if the pattern restricts them, by value.
func TestUnknownKeysAreReported(t *testing.T) {
	known := []string{"bits", "meta.**", "groups.*.bits", "format=int4|int8", "rotation?", "algo.*.name=awq", "algo.**"}
	for text, want := range map[string]string{
		`{"bits":4}`:                         "",
		`{"bits":4,"twist":1}`:               "twist",
		`{"meta":{"a":{"b":1}}}`:             "",
		`{"groups":{"g":{"bits":4}}}`:        "",
		`{"groups":{"g":{"twist":4}}}`:       "groups.g.twist",
		`{"format":"int8"}`:                  "",
		`{"format":"int2"}`:                  "format",
		`{"rotation":null}`:                  "",
		`{"rotation":{}}`:                    "",
		`{"rotation":"hadamard"}`:            "rotation",
		`{"algo":[{"name":"awq","more":1}]}`: "",
		`{"algo":[{"name":"twist"}]}`:        "algo.*.name",
		`{"a":1,"b":{"c":2},"bits":3}`:       "a b.c",
	} {
		b := limits.Policy{}.Budget(t.Context())
		v, err := Parse(b, strictjson.Text{Format: "test", Body: text, Whole: true})
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		var got []string
		err = Known(b, v, known, func(name string, _ jsontree.Value) error {
			got = append(got, name)
			return nil
		})
		if err != nil || !slices.Equal(got, strings.Fields(want)) {
			t.Errorf("%s: %q, %v; wanted %q", text, got, err, want)
		}
		b.Close()
	}
}
