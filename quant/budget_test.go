package quant_test

import (
	"path/filepath"
	"testing"

	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
	"github.com/anamnesis-go/anamnesis/quant"
)

func TestWeightsAreDecodedOnTheAccount(t *testing.T) {
	const golden = "fp8/testdata/fp8-blocks/model.safetensors"
	open := func(t *testing.T, p limits.Policy) (tensor.Model, *quant.Bound, *limits.Budget) {
		t.Helper()
		b := p.Budget(t.Context())
		t.Cleanup(b.Close)
		m, err := parser.Open(b, golden)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { m.Close() })
		bound, err := quant.Plan(b, m, quant.Options{Target: quant.F32})
		if err != nil {
			t.Fatal(err)
		}
		return m, bound, b
	}
	t.Run("and what they held is given back", func(t *testing.T) {
		m, bound, b := open(t, limits.Policy{})
		before := held(b)
		for n, err := range bound.All(b, m, quant.F32) {
			if err != nil {
				t.Fatal(err)
			}
			if now := held(b) - before; now < int64(len(n.Data)) {
				t.Errorf("%d bytes on the account for %d", now, len(n.Data))
			}
		}
		if after := held(b); after != before {
			t.Errorf("%d bytes before, %d after", before, after)
		}
	})
	t.Run("which may end", func(t *testing.T) {
		m, bound, b := open(t, limits.Policy{MaxTotalBytes: 12 << 10})
		last := error(nil)
		for _, err := range bound.All(b, m, quant.F32) {
			last = err
		}
		if wire.ClassOf(last) != wire.Limit {
			t.Error(last)
		}
	})
	t.Run("and so are plans", func(t *testing.T) {
		b := limits.Policy{MaxItems: 3}.Budget(t.Context())
		defer b.Close()
		m, err := parser.Open(b, filepath.Clean(golden))
		if err == nil {
			defer m.Close()
			_, err = quant.Plan(b, m, quant.Options{})
		}
		if wire.ClassOf(err) != wire.Limit {
			t.Error(err)
		}
	})
}

// held is the bytes on an account.
func held(b *limits.Budget) int64 {
	for _, a := range b.Usage() {
		if a.Axis == limits.Total {
			return a.Used
		}
	}
	return 0
}
