package fuzz_test

import (
	"errors"
	"fmt"
	"hash/fnv"
	"slices"
	"strings"
	"testing"

	"github.com/anamnesis-go/anamnesis/corpus"
	"github.com/anamnesis-go/anamnesis/internal/effort"
	"github.com/anamnesis-go/anamnesis/internal/wire"
)

// A second reader reads a file as its specification says, in the simplest way and without
// limits, and shares no code with the reader that it checks. It takes what any honest
// loader could take, so that what it refuses has to be refused; what is accepted, it has to
// read equal.
//
// Those of safetensors, npy, zip and GGUF also take nothing that ours refuses, but for the rules
// in the list stricter.
//
// Each returns a line for every part, in an order that does not depend on the reader.

// errNot is why a second reader does not take a file.
var errNot = errors.New("not of this format")

func not(format string, args ...any) error {
	return fmt.Errorf("%w: %s", errNot, fmt.Sprintf(format, args...))
}

// sameAsSecond fails the test unless a file that was accepted, and read as ours, is read equal.
func sameAsSecond(t testing.TB, second func([]byte) ([]string, error), data []byte, ours []string) {
	t.Helper()
	theirs, err := second(data)
	if err != nil {
		t.Fatalf("it is accepted, and the second reader refuses it: %v", err)
	}
	if a, b := strings.Join(ours, "\n"), strings.Join(theirs, "\n"); a != b {
		t.Fatalf("it is accepted and read as\n%s\nand by the second reader as\n%s", a, b)
	}
}

// stricter lists, for the second readers that know every other rule of their format, the rules by
// which ours refuses more on purpose.
var stricter = map[string][]string{
	"safetensors": {
		"safetensors.shape-overflow", // the product without the zeros of a shape
		"json.surrogate", "json.kind", "json.number-size",
	},
	"npy": {
		"npy.item-size", "npy.shape-overflow", // NumPy's own limits
		"npy.field-syntax", "npy.field-twice", "npy.header-padding", "npy.literal", "npy.type-syntax",
	},
	"zip": {
		"zip.foreign-magic", "zip.version", "zip.case-twin", "zip.name-twice", "zip.end-in-comment",
		"zip.name-backslash", "zip.name-empty", "zip.name-encoding", "zip.name-control", "zip.path-escape", "zip.second-name",
		"zip.special-file", "zip.symlink", "zip.folder-kind", "zip.encrypted", "zip.patch", "zip.flags", "zip.deflate-hints",
		"zip.local-sizes", "zip.zip64-rest", "zip.zip64-extensible", "zip.extra-length", "zip.extra-syntax",
		"zip.descriptor-unsigned", "zip.deflate-rest",
	},
	"gguf": {
		"gguf.ternary", // an older meaning of a number
	},
}

// refusedBySecond fails the test if ours refuses a file by a rule that the second reader knows
// too, and that one takes it. A limit refuses any file.
func refusedBySecond(t testing.TB, format string, second func([]byte) ([]string, error), data []byte, refused error) {
	t.Helper()
	if wire.ClassOf(refused) == wire.Limit || slices.Contains(stricter[format], wire.RuleOf(refused)) {
		return
	}
	if _, err := second(data); err == nil {
		t.Fatalf("the second reader takes it, and ours refuses it by %q: %v", wire.RuleOf(refused), refused)
	}
}

// oneOfSixteen says for which inputs of a target a second reader runs.
func oneOfSixteen(data []byte) bool {
	h := fnv.New32a()
	h.Write(data)
	return h.Sum32()%16 == 0
}

// secondReaders are all of them, with the least number of files of the corpus that ours accepts.
var secondReaders = []struct {
	name  string
	check func(testing.TB, []byte) bool
	least int
}{
	{"safetensors", secondSafetensorsCheck, 40}, {"npy", secondNPYCheck, 60}, {"zip", secondZipCheck, 250}, {"onnx", secondONNXCheck, 4}, {"gguf", secondGGUFCheck, 100},
}

// Questions to the second readers about each file of the corpus, whatever its format.
func TestSecondReadersAgreeAboutTheCorpus(t *testing.T) {
	for _, s := range secondReaders {
		t.Run(s.name, func(t *testing.T) {
			accepted := 0
			for _, format := range corpus.Formats() {
				for _, file := range append(hostile(t, format), valid(t, format)...) {
					if len(file.data) <= corpus.MaxSeed && s.check(named{t, format + "/" + file.name}, file.data) {
						accepted++
					}
				}
			}
			if t.Logf("%d files are accepted", accepted); accepted < s.least {
				t.Errorf("only %d files are accepted", accepted)
			}
		})
	}
}

// Questions about files of the corpus with one byte changed or cut off at it: the bytes of headers
// for the most part, where a reader that compares with the wrong bound, or not at all, differs.
func TestSecondReadersAgreeAboutDamagedFiles(t *testing.T) {
	for _, s := range secondReaders {
		t.Run(s.name, func(t *testing.T) {
			files, tried := append(valid(t, s.name), hostile(t, s.name)...), 0
			for number, file := range files {
				if len(file.data) > 2048 || file.policy.Quirks != nil {
					continue
				}
				data := slices.Clone(file.data)
				for at, was := range data {
					// The values next to the byte, next to the ends of a range, and each bit.
					for _, now := range [...]byte{was + 1, was - 1, 0, 1, 0x7f, 0x80, 0xff, was ^ 2, was ^ 4, was ^ 8, was ^ 16, was ^ 32, was ^ 64, was ^ 128} {
						if tried++; now == was || (tried+number)%effort.Of(23, 1) != 0 {
							continue
						}
						data[at] = now
						s.check(named{t, fmt.Sprintf("%s with %#02x at %#x", file.name, now, at)}, data)
					}
					if data[at] = was; (at+number)%effort.Of(7, 1) == 0 {
						s.check(named{t, fmt.Sprintf("%s cut to %d bytes", file.name, at)}, data[:at])
					}
				}
			}
		})
	}
}

// A named test says of which file its failures are, and goes on.
type named struct {
	testing.TB
	file string
}

func (n named) Fatalf(format string, args ...any) {
	n.Helper()
	n.Errorf("%s: %s", n.file, fmt.Sprintf(format, args...))
}
