package polyglot

import (
	"bufio"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/anamnesis-go/anamnesis/limits"
)

// A pickle that reaches a call from any byte of a short text is found, and a start that is skipped
// for its first instructions never reaches one.
func TestEveryStartOfAPickleInATextIsFound(t *testing.T) {
	pieces := []string{
		"cos\nsystem\n", "ios\nsystem\n", "(", "(", "t", "R", "S'id'\n", "I1\n", "N", "]", "}", "b", "o", "0", "1", "2", "K\u00e9", "q\u0093", "M\u0093a", "U\tabcdefghi",
		"a", "s", "e", "u", "d", "l", "p0\n", "g0\n", "\n", " ", "é", "h", "J", "G", "\u0093", "x", ".", "cno name\n", "c\n", "Xabcd", "S'os'\nS'system'\nq\u0093",
	}
	calls := 0
	for seed := range 8_000 {
		rnd := rand.New(rand.NewPCG(uint64(seed), 38))
		var text strings.Builder
		for range 1 + rnd.IntN(14) {
			text.WriteString(pieces[rnd.IntN(len(pieces))])
		}
		data := text.String()
		b := limits.Policy{}.Budget(t.Context())
		is, err := buried(b, strings.NewReader(data), int64(len(data)))
		if err != nil {
			t.Fatal(err)
		}
		want := false
		for at := 0; at < len(data) && !want; at++ {
			w := &walker{b: b, steps: b.Steps(), in: bufio.NewReaderSize(strings.NewReader(data[at:]), maxName), texts: new(int)}
			if err := w.follow(); err != nil {
				t.Fatal(err)
			}
			want = w.call
		}
		b.Close()
		if is != want || want && !imports([]byte(data)) {
			t.Fatalf("%q: %v, want %v; imports: %v", data, is, want, imports([]byte(data)))
		}
		if want {
			calls++
		}
	}
	if calls < 80 {
		t.Errorf("%d texts come to a call: nothing is compared", calls)
	}
}
