package fuzz_test

import (
	"flag"
	"slices"
	"strings"
	"testing"

	"github.com/anamnesis-go/anamnesis/corpus"
	"github.com/anamnesis-go/anamnesis/internal/effort"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
)

// addSeeds adds the hostile and the honest files of a format to a target of one []byte, which
// must be right about them.
func addSeeds(f *testing.F, format string) {
	f.Helper()
	corpus.Seeds(sampled{f, new(int)}, format)
	answersFirst(f, format)
}

// answersFirst fails a target that is wrong about the files of a format: each must end as its
// recipe states. The workers of a search leave that to the process that starts them.
func answersFirst(f *testing.F, format string) {
	f.Helper()
	if worker := flag.Lookup("test.fuzzworker"); worker != nil && worker.Value.String() == "true" {
		return
	}
	row := formatOf(f, format)
	for _, file := range append(hostile(f, format), valid(f, format)...) {
		file.answers(f, row)
	}
	for _, r := range corpus.Gate() {
		of, what, _ := strings.Cut(r.Rule, ".")
		own := slices.Contains(alone[format], of) && what != "truncated" && what != "two-formats"
		if own && !r.Folder && r.Policy == nil && r.Expect != "ok" {
			answersByRule(f, row, &r)
		}
	}
}

// alone lists, for formats whose reader refuses by itself what the recipes of the gate show,
// the first words of its rules.
var alone = map[string][]string{"onnx": {"onnx"}, "wrap": {"tar", "xz", "zlib", "zstd", "stream"}, "zip": {"zip"}}

// answersByRule reads a file of which a recipe of the gate states the rule: the reader refuses
// it by that rule, or finds it.
func answersByRule(f *testing.F, row format, r *corpus.Recipe) {
	f.Helper()
	b := limits.Policy{}.Budget(f.Context())
	defer b.Close()
	data := r.Bytes()
	found, _, err := examine(b, row, data)
	if rule := wire.RuleOf(err); rule != r.Rule && !slices.Contains(found, r.Rule) || err != nil && wire.ClassOf(err).String() != r.Expect {
		f.Errorf("%s: refused by %q as %v, findings %q", r.Path(), rule, err, found)
	}
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
func taken(number int) bool { return effort.Race || effort.Seeds() || number%4 == 0 }
