package limits_test

import (
	"testing"

	"github.com/anamnesis-go/anamnesis/limits"
)

// The sums of a child are its ancestors' too, so the price of a charge is per
// account in the chain.
func BenchmarkCharge(b *testing.B) {
	for _, chain := range []struct {
		name      string
		ancestors int
	}{{"alone", 0}, {"one-ancestor", 1}, {"two-ancestors", 2}} {
		b.Run(chain.name, func(b *testing.B) {
			account := host(b)
			for range chain.ancestors {
				child := account.Child(huge)
				defer child.Close()
				account = child
			}
			for b.Loop() {
				if err := account.Hold(1); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkAlloc(b *testing.B) {
	account := host(b)
	for b.Loop() {
		if err := account.Alloc(1); err != nil {
			b.Fatal(err)
		}
	}
}

// Two goroutines charge children of one host; run with -cpu 2.
func BenchmarkChargeContended(b *testing.B) {
	account := host(b)
	b.RunParallel(func(pb *testing.PB) {
		child := account.Child(huge)
		defer child.Close()
		for pb.Next() {
			if err := child.Hold(1); err != nil {
				b.Fatal(err)
			}
		}
	})
}

func BenchmarkStep(b *testing.B) {
	account := limits.Policy{MaxSteps: 1 << 62}.Budget(b.Context())
	defer account.Close()
	steps := account.Steps()
	for b.Loop() {
		if err := steps.Step(); err != nil {
			b.Fatal(err)
		}
	}
}

var huge = limits.Policy{MaxTotalBytes: 1 << 62, MaxSteps: 1 << 62}

func host(b *testing.B) *limits.Budget {
	account := huge.Budget(b.Context())
	b.Cleanup(account.Close)
	return account
}
