package fuzz_test

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/anamnesis-go/anamnesis/corpus"
	"github.com/anamnesis-go/anamnesis/fuzz"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
)

// An outcome is the result that a recipe states for its file.
type outcome struct {
	Class  string
	Offset int64
	Axis   string
}

// causesFile says by which rule each hostile file is refused or, where a refusal has none, for
// which cause: another check that comes to the same class at the same place is another reading.
const causesFile = "testdata/causes.txt"

const causesHead = "# By which rule each hostile file of the corpus is refused or, where the refusal has none, for which cause:\n" +
	"# go test ./fuzz -run EachHostileFile -update writes it. A line changes only with a reason, in the commit.\n"

var readCauses = sync.OnceValues(func() (map[string]string, error) {
	text, err := os.ReadFile(causesFile)
	causes := map[string]string{}
	for line := range strings.Lines(string(text)) {
		if name, cause, ok := strings.Cut(strings.TrimSuffix(line, "\n"), "\t"); ok {
			causes[name] = cause
		}
	}
	return causes, err
})

func causeOf(err error) string {
	if rule := wire.RuleOf(err); rule != "" {
		return rule
	}
	if cause, ok := errors.AsType[*wire.Cause](err); ok {
		return cause.Error()
	}
	return axis(err)
}

func outcomeOf(err error) outcome { return outcome{wire.ClassOf(err).String(), offset(err), axis(err)} }

// answers reads a file of the corpus whole, and compares what comes of it with what its
// recipe states: class, offset, axis and depth of a refusal, or the findings of what is
// accepted.
func (file file) answers(t testing.TB, f format) {
	t.Helper()
	b := file.policy.Budget(t.Context())
	defer b.Close()
	found, structure, whole := examine(b, f, file.data)
	r := file.recipe
	if r == nil || r.Expect == "ok" {
		if whole != nil {
			t.Errorf("%s/%s: %v", f.name, file.name, whole)
		}
		if r == nil {
			return
		}
		slices.Sort(found)
		want := slices.Sorted(slices.Values(r.Finds))
		if diff := cmp.Diff(strings.Join(want, " "), strings.Join(slices.Compact(found), " ")); diff != "" {
			t.Errorf("%s/%s: findings: %s", f.name, file.name, diff)
		}
		return
	}
	if want := r.Depth == corpus.Structure; want != (structure != nil) {
		t.Errorf("%s/%s: depth is %s, and Decode says: %v", f.name, file.name, r.Depth, structure)
	}
	if diff := cmp.Diff(outcome{r.Expect, r.Offset, r.Axis}, outcomeOf(whole)); diff != "" {
		t.Errorf("%s/%s: %v\n%s", f.name, file.name, whole, diff)
	}
	causes, err := readCauses()
	if err != nil && !*update {
		t.Error(err)
	}
	if name, cause := f.name+"/"+file.name, causeOf(whole); *update {
		causes[name] = cause
	} else if causes[name] != cause {
		t.Errorf("%s: refused by %q, and %s says %q: %v", name, cause, causesFile, causes[name], whole)
	}
	if r.Expect == "usage" { // no file, but what a person asks for
		return
	}
	if err := fuzz.Placed(whole, int64(len(file.data))); err != nil {
		t.Errorf("%s/%s: %v", f.name, file.name, err)
	}
}

func TestEachHostileFileEndsWithItsClassAndOffset(t *testing.T) {
	there := map[string]bool{}
	for _, f := range formats {
		for _, file := range hostile(t, f.name) {
			there[f.name+"/"+file.name] = true
			t.Run(f.name+"/"+file.name, func(t *testing.T) { file.answers(t, f) })
		}
	}
	causes, _ := readCauses()
	out := causesHead
	for _, name := range slices.Sorted(maps.Keys(causes)) {
		if !there[name] && !*update {
			t.Errorf("%s names %s, which is no file of the corpus", causesFile, name)
		}
		if there[name] {
			out += name + "\t" + causes[name] + "\n"
		}
	}
	if *update {
		if err := os.WriteFile(causesFile, []byte(out), 0o666); err != nil {
			t.Fatal(err)
		}
	}
}

func TestEachHonestFileIsReadWhole(t *testing.T) {
	for _, f := range formats {
		for _, file := range valid(t, f.name) {
			t.Run(f.name+"/"+file.name, func(t *testing.T) { file.answers(t, f) })
		}
	}
}

// A ceiling that no hostile file reaches may not be a ceiling.
func TestEachCeilingIsReachedByAHostileFile(t *testing.T) {
	reached := map[string]string{}
	for _, name := range corpus.Formats() {
		for _, r := range corpus.Hostile(name) {
			if r.Axis != "" {
				reached[r.Axis] = r.Path()
			}
		}
	}
	for _, a := range limits.Axes() {
		switch a {
		case limits.OpenFiles: // a file opens no other: cli.TestShardsBeyondTheOpenFilesAreALimit
			continue
		case limits.Requests, limits.Fetched: // nor is it fetched: remote.TestBoundsOfWhatIsFetched
			continue
		}
		if reached[a.String()] == "" {
			t.Errorf("no hostile file reaches the ceiling of axis %v", a)
		}
	}
}

// The must-pass list: P01 to P20 are of pickles, P21 to P36 of archives, P37 to
// P40 of legacy checkpoints and of telling formats apart, P41 to P43 of npy and
// npz, P44 and P45 of safetensors, P46 to P55 of gguf. The last ones are of the
// program itself, and each has a test.
var heldByTests = map[string]string{
	"P56": "fuzz/prop_test.go TestCheckFindsEachBrokenProperty", // Repeatable, asked of every target
	"P57": "internal/arch/imports_test.go TestWhatIsNeverLinked",
	"P58": "fuzz/bounds_test.go TestDecodingAllocatesWhatItCharges",
	"P60": "fuzz/shared_test.go TestAPanicEndsAsInternalAndLeavesNothing",
}

func TestTheMustPassListIsCovered(t *testing.T) {
	covered := map[string]bool{}
	for _, f := range corpus.Formats() {
		for _, r := range corpus.Hostile(f) {
			for _, p := range r.Covers {
				covered[p] = true
			}
		}
		for _, s := range corpus.Valid(f) {
			if s.Recipe != nil {
				for _, p := range s.Recipe.Covers {
					covered[p] = true
				}
			}
		}
	}
	for p, test := range heldByTests {
		file, name, _ := strings.Cut(test, " ")
		src, err := os.ReadFile("../" + file)
		if err != nil || !strings.Contains(string(src), "func "+name+"(t *testing.T)") {
			t.Errorf("%s: no test %s", p, test)
		}
		covered[p] = true
	}
	for n := 1; n <= 60; n++ {
		if p := fmt.Sprintf("P%02d", n); !covered[p] {
			t.Errorf("%s: no file of the corpus covers it", p)
		}
	}
}

func TestEveryFolderOfTheCorpusHasADecoder(t *testing.T) {
	for _, name := range corpus.Formats() {
		formatOf(t, name)
	}
}
