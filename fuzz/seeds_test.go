package fuzz_test

import (
	"testing"

	"github.com/anamnesis-go/anamnesis/corpus"
	"github.com/anamnesis-go/anamnesis/internal/effort"
)

// addSeeds adds the hostile and the honest files of a format to a target of one []byte.
func addSeeds(f *testing.F, format string) {
	f.Helper()
	corpus.Seeds(sampled{f, new(int)}, format)
}

// A sampled adds the seeds that this run takes, see [taken].
type sampled struct {
	*testing.F
	count *int
}

func (s sampled) Add(args ...any) {
	if taken(*s.count) {
		s.F.Add(args...)
	}
	*s.count++
}

// taken reports whether a run takes the seed with this number: every seed in a search and
// under the race detector, otherwise one of four.
func taken(number int) bool { return raceEnabled || effort.Seeds() || number%4 == 0 }
