package corpustest

import (
	"bytes"
	"cmp"
	"fmt"
	"hash/fnv"
	"io"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/anamnesis-go/anamnesis/internal/ledger"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
)

// MostPlaces is how many bytes of a file are changed: the first half of them, and others at equal
// distances up to the end.
const MostPlaces = 160

// Damaged changes one byte of a file at a time, of most bytes, or cuts the file there, and holds what verdict says of
// each to a line of testdata/verdicts.txt. A bound that moves by one, and a check that is lost, change
// a verdict that no reference library has to give: that the earlier verdict is right is shown elsewhere,
// by recipes and second readers.
func Damaged(t testing.TB, data []byte, most int, verdict func([]byte) string) {
	t.Helper()
	damaged(t, t.Name(), data, most, verdict)
}

// DamagedTexts does the same with texts of a table, by the hash of each, so that another row changes
// the line of no other.
func DamagedTexts(t testing.TB, name, text string, most int, verdict func(string) string) {
	t.Helper()
	h := fnv.New32a()
	io.WriteString(h, text)
	damaged(t, fmt.Sprintf("%s/%s/%08x", t.Name(), name, h.Sum32()), []byte(text), most, func(data []byte) string { return verdict(string(data)) })
}

func damaged(t testing.TB, name string, data []byte, most int, verdict func([]byte) string) {
	t.Helper()
	sum, counts := fnv.New64a(), map[string]int{}
	note := func(changed []byte) {
		said := verdict(changed)
		class, _, _ := strings.Cut(said, " ")
		counts[cmp.Or(class, "nothing")]++
		io.WriteString(sum, said+"\n")
	}
	for _, at := range places(len(data), most) {
		for _, value := range []byte{data[at] + 1, data[at] ^ 0x80, 0, 0xff} {
			if value != data[at] {
				changed := slices.Clone(data)
				changed[at] = value
				note(changed)
			}
		}
		note(data[:at])
	}
	line := ""
	for _, class := range slices.Sorted(maps.Keys(counts)) {
		line += fmt.Sprintf("%s=%d ", class, counts[class])
	}
	ledger.Verdicts(t, name, line+fmt.Sprintf("%016x", sum.Sum64()))
}

// places returns which bytes of a file are changed.
func places(size, most int) (list []int) {
	for i := range min(size, most) {
		if half := most / 2; size > most && i >= half {
			i = half + (size-half)*(i+1-half)/half - 1
		}
		list = append(list, i)
	}
	return list
}

// ending returns how a file ends: its class, and its rule if it has one. An internal error, or one of
// no class of files, fails the test.
func ending(t testing.TB, p limits.Policy, data []byte, decode Decoder, open ...Opener) string {
	b := p.Budget(t.Context())
	defer b.Close()
	verify, err := decode(b, bytes.NewReader(data), int64(len(data)))
	if err == nil && verify != nil {
		if err = verify(b); err != nil {
			return "body-" + Ending(t, err)
		}
	}
	for _, open := range open {
		if err == nil {
			m, err := open(b, bytes.NewReader(data), int64(len(data)))
			return Said(t, b, m, err)
		}
	}
	return Ending(t, err)
}

// Ending returns the class of an error, and its rule if it has one.
func Ending(t testing.TB, err error) string {
	switch c := wire.ClassOf(err); c {
	case wire.OK, wire.Malformed, wire.Truncated, wire.Unsupported, wire.Limit, wire.Forbidden:
		return strings.TrimSpace(c.String() + " " + wire.RuleOf(err))
	default:
		t.Fatalf("a damaged file ends as %v: %v", c, err)
		return ""
	}
}
