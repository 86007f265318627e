package polyglot

import (
	"fmt"
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
		"V", "VI", "I(", "((", "NN", "Vos\nVsystem\nq\u0093", "tR", "U\t",
	}
	calls := 0
	for seed := range 24_000 {
		rnd := rand.New(rand.NewPCG(uint64(seed), 38))
		var text strings.Builder
		few := pieces
		if seed%2 == 1 { // so few that pickles come together often
			few = nil
			for range 6 {
				few = append(few, pieces[rnd.IntN(len(pieces))])
			}
		}
		for range 1 + rnd.IntN(14) {
			text.WriteString(few[rnd.IntN(len(few))])
		}
		data := text.String()
		b := limits.Policy{}.Budget(t.Context())
		is, err := buried(b, strings.NewReader(data), int64(len(data)))
		if err != nil {
			t.Fatal(err)
		}
		want := false
		for at := 0; at < len(data) && !want; at++ {
			w, err := newWalker(b, strings.NewReader(data[at:]), int64(len(data)-at), readBuffer)
			if err != nil {
				t.Fatal(err)
			}
			w.texts = new(int)
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

// hostileTexts are texts whose pickles begin at many places and come together.
func hostileTexts() map[string]string {
	const head = "hello\ncos\nsystem\n"
	texts := map[string]string{
		"one line":      strings.Repeat("I", maxFollowed),
		"lines":         strings.Repeat(strings.Repeat("I", 2000)+"\n", 40),
		"no names":      strings.Repeat(strings.Repeat("V", 4000)+" b\n", 20),
		"lists":         strings.Repeat("]", maxFollowed),
		"marks":         strings.Repeat("(", maxFollowed),
		"marked lines":  strings.Repeat(strings.Repeat("(I", 100)+"\n", 400),
		"marks a line":  strings.Repeat(strings.Repeat("(", 200)+"I\n", 400),
		"long lines":    strings.Repeat(strings.Repeat("I", 64<<10)+"\n", 16),
		"many imports":  strings.Repeat("cos\nsystem\n", 100_000),
		"marked import": strings.Repeat("(cos\nsystem\n", 80_000),
		"sorted words":  strings.Repeat("gabc\n", 200_000),
	}
	for name, text := range texts {
		text = head + text
		if name != "long lines" && !strings.Contains(name, "import") && name != "sorted words" {
			text = text[:min(len(text), maxFollowed)]
		}
		texts[name] = text
	}
	return texts
}

// However pickles come together in a text, a byte is followed a few times.
func TestATextFullOfPicklesTakesStepsForItsSize(t *testing.T) {
	for name, text := range hostileTexts() {
		b := limits.Policy{}.Budget(t.Context())
		_, err := buried(b, strings.NewReader(text), int64(len(text)))
		if most := int64(len(text))*(followed+4) + 2*freely; err != nil || b.Worked() > most {
			t.Errorf("%s: %d bytes take %d steps, %v; at most %d are right", name, len(text), b.Worked(), err, most)
		}
		b.Close()
	}
}

// Words in their order are no pickle, though each line begins like one.
func TestSortedWordsAreNoPickle(t *testing.T) {
	var text strings.Builder
	for _, first := range "cFgILPSV" {
		for i := range 3_000 {
			fmt.Fprintf(&text, "%c%05d\n", first, i)
		}
	}
	b := limits.Policy{}.Budget(t.Context())
	defer b.Close()
	if is, err := buried(b, strings.NewReader(text.String()), int64(text.Len())); is || err != nil {
		t.Errorf("%v, %v", is, err)
	}
}

func BenchmarkHostileTexts(b *testing.B) {
	for name, text := range hostileTexts() {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			for range b.N {
				account := limits.Policy{}.Budget(b.Context())
				if _, err := buried(account, strings.NewReader(text), int64(len(text))); err != nil {
					b.Fatal(err)
				}
				account.Close()
			}
		})
	}
}
