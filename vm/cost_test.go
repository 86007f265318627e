package vm_test

import (
	"strings"
	"testing"

	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/vm"
)

// A number as text is paid by what its conversion takes: a subnormal float many times what
// another takes, a long integer more than a short one.
func TestNumbersOfTextArePaidByWhatTheyTake(t *testing.T) {
	steps := func(line string) int64 {
		b := limits.Policy{}.Budget(t.Context())
		defer b.Close()
		const n = 1000
		text := strings.Repeat(line+"\n0", n) + "N."
		if _, err := vm.Load(b, strings.NewReader(text), 0, int64(len(text))); err != nil {
			t.Fatal(err)
		}
		return b.Worked() / n
	}
	if plain, slow := steps("F1.5"), steps("F1e-310"); slow < 8*plain {
		t.Errorf("1.5 takes %d steps, 1e-310 takes %d", plain, slow)
	}
	if short, long := steps("L12L"), steps("L"+strings.Repeat("9", 60)+"L"); long < 5*short {
		t.Errorf("a short integer takes %d steps, one of 60 digits %d", short, long)
	}
}
