package zip_test

import (
	"bytes"
	"errors"
	"testing"

	"github.com/anamnesis-go/anamnesis/corpus"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/zip"
)

func TestHostileArchivesAreRefusedWithClassAndPlace(t *testing.T) {
	list := corpus.Hostile("zip")
	if len(list) < 35 {
		t.Errorf("%d recipes", len(list))
	}
	for _, r := range list {
		t.Run(r.Name, func(t *testing.T) {
			data := r.Bytes()
			b := account(t, r.Policy)
			a, err := zip.Decode(bytes.NewReader(data), int64(len(data)), b, zip.Options{})
			if r.Depth == corpus.Whole {
				if err != nil {
					t.Fatalf("refused by the structure: %v", err)
				}
				err = a.Verify(b)
			}
			placed, ok := errors.AsType[*wire.Error](err)
			if !ok {
				t.Fatalf("error %v", err)
			}
			if class := wire.ClassOf(err).String(); class != r.Expect || placed.Off != r.Offset {
				t.Errorf("%s at %#x, want %s at %#x: %v", class, placed.Off, r.Expect, r.Offset, err)
			}
			limit, _ := errors.AsType[*limits.Error](err)
			if axis := axisOf(limit); axis != r.Axis {
				t.Errorf("axis %q, want %q", axis, r.Axis)
			}
			if placed.Format != "zip" {
				t.Errorf("format %q", placed.Format)
			}
			t.Log(err)
		})
	}
}

func account(t testing.TB, policy []byte) *limits.Budget {
	t.Helper()
	if policy == nil {
		policy = []byte("{}")
	}
	p, err := limits.ParsePolicy(policy)
	if err != nil {
		t.Fatal(err)
	}
	b := p.Budget(t.Context())
	t.Cleanup(b.Close)
	return b
}

func axisOf(err *limits.Error) string {
	if err == nil {
		return ""
	}
	return err.Axis.String()
}
