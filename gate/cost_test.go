package gate_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/anamnesis-go/anamnesis/gate"
	"github.com/anamnesis-go/anamnesis/limits"
)

// worked judges a file and returns the steps that it took.
func worked(t *testing.T, name, data string) (int64, *gate.Verdict) {
	t.Helper()
	b := limits.Policy{Timeout: limits.NoTimeout}.Budget(t.Context())
	defer b.Close()
	g := gate.Gate{}
	account := b.Child(limits.Policy{Timeout: limits.NoTimeout})
	v, err := g.Check(account, strings.NewReader(data), int64(len(data)), gate.Hint{Name: name, Beside: true})
	if err != nil {
		t.Fatal(err)
	}
	v.Close()
	account.Close()
	return b.Worked(), v
}

func TestEachMemberOfAnArchiveCostsSteps(t *testing.T) {
	of := func(n int) int64 {
		var list []member
		for i := range n {
			list = append(list, member{fmt.Sprintf("f%d.txt", i), "x"})
		}
		steps, _ := worked(t, "a.tar", tarred(t, list...))
		return steps
	}
	few, many := of(10), of(1010)
	if one := (many - few) / 1000; one < 200 || one > 400 {
		t.Errorf("a content of one byte costs %d steps", one)
	}
}

func TestEachFileOfAFolderCostsSteps(t *testing.T) {
	if steps, _ := worked(t, "a.txt", "x"); steps < 200 || steps > 400 {
		t.Errorf("a file of one byte costs %d steps", steps)
	}
}

// Steps are counted, not time: a name that made the judge read a whole piece again without a step
// cost a thousand times its charge.
func TestTextsCostTheSameForEachByte(t *testing.T) {
	for _, part := range []string{"activation,", "activation: a, ", "download: a ", `"$`, "\\\r", "(os.a)", "a: b\n"} {
		of := func(n int) float64 {
			text := "x: {" + strings.Repeat(part, n/len(part)) + "}\n"
			steps, _ := worked(t, "a.yaml", text)
			return float64(steps) / float64(len(text))
		}
		small, large := of(32<<10), of(256<<10)
		if large > 2*small+0.1 || large > 32 {
			t.Errorf("%q: %.2f steps a byte of 32 KiB, %.2f of 256 KiB", part, small, large)
		}
	}
}

// Pickles that begin at many places of a text, and come together, are followed once.
func TestATextThatReadsAsManyPicklesCostsItsSize(t *testing.T) {
	for _, part := range []string{strings.Repeat("V", 4_000) + " b\n", strings.Repeat("I", 2_000) + "\n", strings.Repeat("(I", 99) + "\n", "]", "(", "cos\nsystem\n"} {
		for _, size := range []int{60 << 10, 400 << 10} {
			text := "a\ncos\nsystem\n" + strings.Repeat(part, size/len(part))
			if steps, _ := worked(t, "a.txt", text); steps > 32*int64(len(text)) {
				t.Errorf("%.20q: %d steps for %d bytes", part, steps, len(text))
			}
		}
	}
}

func TestTextsInAPackedFileAreBoundedByItsSize(t *testing.T) {
	long := `{"a":[` + strings.Repeat("1,", 1<<20) + "1]}"
	short := `{"a":[` + strings.Repeat("1,", 1<<18) + "1]}"
	var several []member
	for i := range 5 {
		several = append(several, member{fmt.Sprintf("%d.json", i), short})
	}
	for _, c := range []struct {
		what, name, data string
		accepted         bool
	}{
		{"a configuration of 2 MiB in 3 KB", "config.json.gz", gzipped(t, long), false},
		{"it in a tar", "a.tar.gz", gzipped(t, tarred(t, member{"config.json", long})), false},
		{"it in a ZIP archive", "a.zip", zipped(t, member{"config.json", long}), false},
		{"five of 0.5 MiB", "a.tar.gz", gzipped(t, tarred(t, several...)), false},
		{"one of 0.5 MiB", "a.tar.gz", gzipped(t, tarred(t, several[0])), true},
		{"one of 2 MiB that is not packed", "a.tar", tarred(t, member{"config.json", long}), true},
	} {
		v, text := check(t, gate.Gate{}, c.data, gate.Hint{Name: c.name})
		rules := v.Refusals()
		if v.Accepted() != c.accepted || !c.accepted && (len(rules) == 0 || rules[0].Rule != "limit.inflate_ratio") {
			t.Errorf("%s: %v: %s", c.what, rules, text)
		}
	}
}
