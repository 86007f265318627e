package fuzz_test

import (
	"fmt"
	"os"
	"slices"
	"strings"
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

func outcomeOf(err error) outcome { return outcome{wire.ClassOf(err).String(), offset(err), axis(err)} }

func TestEachHostileFileEndsWithItsClassAndOffset(t *testing.T) {
	for _, f := range formats {
		name := f.name
		for _, file := range hostile(t, name) {
			t.Run(name+"/"+file.name, func(t *testing.T) {
				b := file.policy.Budget(t.Context())
				defer b.Close()
				_, structure, whole := examine(b, f, file.data)
				r := file.recipe
				if want := r.Depth == corpus.Structure; want != (structure != nil) {
					t.Errorf("depth is %s, and Decode says: %v", r.Depth, structure)
				}
				if diff := cmp.Diff(outcome{r.Expect, r.Offset, r.Axis}, outcomeOf(whole)); diff != "" {
					t.Errorf("%v\n%s", whole, diff)
				}
				if err := fuzz.Placed(whole, int64(len(file.data))); err != nil {
					t.Error(err)
				}
			})
		}
	}
}

func TestEachHonestFileIsReadWhole(t *testing.T) {
	for _, f := range formats {
		name := f.name
		for _, file := range valid(t, name) {
			t.Run(name+"/"+file.name, func(t *testing.T) {
				b := file.policy.Budget(t.Context())
				defer b.Close()
				found, _, err := examine(b, f, file.data)
				if err != nil {
					t.Fatal(err)
				}
				if file.recipe == nil {
					return
				}
				slices.Sort(found)
				want := slices.Sorted(slices.Values(file.recipe.Finds))
				if diff := cmp.Diff(strings.Join(want, " "), strings.Join(slices.Compact(found), " ")); diff != "" {
					t.Errorf("findings: %s", diff)
				}
			})
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
