package fuzz_test

import (
	"bytes"
	"math/rand/v2"
	"testing"

	"github.com/anamnesis-go/anamnesis/fuzz"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/zip"
)

// A mutated archive dies at its first CRC or offset. A built one must reach the
// members often enough to be worth the time, and must be wrong often enough too.
func TestBuiltArchivesAreOftenAccepted(t *testing.T) {
	const runs = 4000
	rng := rand.New(rand.NewPCG(1, 2))
	count := map[wire.Class]int{}
	for range runs {
		plan := make([]byte, rng.IntN(300))
		for i := range plan {
			plan[i] = byte(rng.Uint32())
		}
		data := fuzz.Archive(t, plan, fuzz.Plain)
		b := limits.Policy{}.Budget(t.Context())
		_, err := zip.Decode(b, bytes.NewReader(data), int64(len(data)), zip.Options{})
		b.Close()
		count[wire.ClassOf(err)]++
	}
	if count[wire.OK]*100 < runs*30 || count[wire.OK]*100 > runs*90 {
		t.Errorf("of %d built archives %d are accepted: %v", runs, count[wire.OK], count)
	}
	t.Logf("of %d built archives: %v", runs, count)
}
