package gate_test

import (
	"bytes"
	"errors"
	"testing"

	"github.com/anamnesis-go/anamnesis/corpus"
	"github.com/anamnesis-go/anamnesis/gate"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/limits/limitstest"
)

// A host can keep one account for all of its files: a judgement holds no memory once its verdict,
// or its stream, is closed.
func TestAClosedVerdictHoldsNoMemory(t *testing.T) {
	b := limitstest.Host(t, limits.Policy{Timeout: limits.NoTimeout, MaxSteps: 1 << 40})
	accepted, refused, early := 0, 0, 0
	judge := func(format, name string, data []byte) {
		t.Helper()
		v, err := gate.Check(b, bytes.NewReader(data), int64(len(data)), gate.Hint{Name: name})
		if err != nil {
			t.Fatal(err)
		}
		if v.Accepted() {
			accepted++
		} else {
			refused++
		}
		v.Close()
		g := gate.Gate{Policy: gate.Policy{Limits: *b.Policy()}}
		s := g.Stream(b, int64(len(data)), gate.Hint{Name: name})
		if _, err := s.Write(data); errors.Is(err, gate.ErrRefused) {
			early++
		}
		s.Close()
		if limitstest.NoLeak(t, b); t.Failed() {
			t.Fatalf("%s, %s", format, name)
		}
	}
	for _, format := range corpus.Formats() {
		for _, s := range corpus.Valid(format) {
			judge(format, s.Name, s.Data)
		}
		for _, r := range corpus.Hostile(format) {
			data, err := r.Build()
			if err != nil {
				t.Fatal(err)
			}
			judge(format, r.Name, data)
		}
	}
	if accepted == 0 || refused == 0 || early == 0 {
		t.Errorf("%d accepted, %d refused, %d of them by their beginning", accepted, refused, early)
	}
}
