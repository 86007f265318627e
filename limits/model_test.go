package limits_test

import (
	"errors"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/limits/limitstest"
)

// What a decoder reads and makes costs what the document of [limits.Compressed] says: a step for
// 28 bytes made, and two for each byte by which it read more than it made, beyond 64 KiB.
func TestACompressedStreamCostsWhatItsModelSays(t *testing.T) {
	const batch = 4096 // what is made is paid in parts of this many bytes
	random := rand.New(rand.NewPCG(36, 1))
	for range 200 {
		b := limitstest.Open(t, limits.Policy{MaxSteps: 1 << 50})
		c := b.Compressed()
		var read, made, most int64
		for range random.IntN(60) {
			if n := int64(random.IntN(40_000)); random.IntN(3) == 0 {
				if err := c.Made(n); err != nil {
					t.Fatal(err)
				}
				made += n
			} else {
				if err := c.Read(n); err != nil {
					t.Fatal(err)
				}
				read += n
				most = max(most, read-made-64<<10)
			}
		}
		steps := limitstest.Used(b, limits.StepCount)
		if low, high := made/28-batch/28-60, made/28; steps-2*most < low || steps-2*most > high {
			t.Fatalf("read %d, made %d, at most %d more: %d steps, without the excess from %d to %d", read, made, most, steps, low, high)
		}
	}
}

// Streams that are each within the ratio are not, together, beyond it.
func TestTheRatioIsOfAllStreamsTogether(t *testing.T) {
	b := limitstest.Open(t, limits.Policy{MaxInflateRatio: 200})
	first, second := b.Inflation(), b.Inflation()
	if err := first.Add(1, 60<<20); err != nil { // too little to ask the others
		t.Fatal(err)
	}
	var limit *limits.Error
	if err := second.Add(100<<10, 5<<20); !errors.As(err, &limit) || limit.Axis != limits.InflateRatio {
		t.Errorf("65 MiB of 100 KiB: %v", err)
	}
	other := limitstest.Open(t, limits.Policy{MaxInflateRatio: 200})
	alone := other.Inflation()
	if err := alone.Add(1<<20, 100<<20); err != nil {
		t.Errorf("100 MiB of 1 MiB: %v", err)
	}
}

// A product of a number and a size that no address has is refused, whatever the ceilings say.
func TestSizesThatNoAddressHas(t *testing.T) {
	b := limitstest.Open(t, limits.Policy{MaxSingleAlloc: 1<<63 - 1, MaxTotalBytes: 1<<63 - 1})
	for _, n := range []int{-1, math.MaxInt/(1<<30) + 2, math.MaxInt} {
		if _, err := limits.Make[[1 << 30]byte](b, n); !errors.Is(err, limits.ErrLimit) {
			t.Errorf("%d of 1 GiB: %v", n, err)
		}
	}
}

// A nil or zero account has no children, and an account that refuses keeps its first reason.
func TestNilAccountsHaveNoChildrenAndTheFirstReasonStays(t *testing.T) {
	var none *limits.Budget
	if n := none.Children() + new(limits.Budget).Children(); n != 0 {
		t.Errorf("%d children", n)
	}
	invalid := limitstest.Open(t, limits.Policy{MaxItems: -7})
	whole := invalid.Whole(-1)
	defer whole.Close()
	if err := whole.Step(1); !errors.Is(err, limits.ErrPolicy) {
		t.Errorf("%v", err)
	}
}

// A text that is not a number gives an error and zero.
func TestInvalidNumbersAreRefused(t *testing.T) {
	for _, text := range []string{"", "x", "-1", "+1", "1 ", "9223372036854775808"} {
		if n, err := limits.ParseCount(text); err == nil || n != 0 {
			t.Errorf("%q: %d, %v", text, n, err)
		}
	}
	if n, err := limits.ParseCount("9223372036854775807"); err != nil || n != 1<<63-1 {
		t.Errorf("%d, %v", n, err)
	}
}
