package ledger_test

import (
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/anamnesis-go/anamnesis/internal/ledger"
	"github.com/anamnesis-go/anamnesis/limits"
)

// A failing is a test whose failure is asked about.
type failing struct {
	testing.TB
	said  []string
	after []func()
}

func (f *failing) Error(args ...any) {
	f.said = append(f.said, args[0].(error).Error())
}
func (f *failing) Cleanup(do func()) { f.after = append(f.after, do) }

// A test must charge what its line says: another amount, another axis and a test without a line
// fail.
func TestAnotherChargeFails(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := os.Mkdir("testdata", 0o777); err != nil {
		t.Fatal(err)
	}
	bytes := strconv.IntSize == 64 // are compared
	for line, fails := range map[string]bool{
		"items=3 total=10": false, "items=3 total=11": bytes, "items=3": bytes, "items=4 total=10": true,
		"items=3 steps=1 total=10": true, "": true,
	} {
		if err := os.WriteFile("testdata/charges.txt", []byte("# a comment\tx\n"+t.Name()+"\t"+line+"\n"), 0o666); err != nil {
			t.Fatal(err)
		}
		f := &failing{TB: t}
		ledger.Charges(f)
		ledger.Charges(f) // once more does nothing
		b := limits.Policy{}.Budget(t.Context())
		for range 2 {
			if err := b.Hold(5); err != nil {
				t.Fatal(err)
			}
		}
		if err := b.Items(3); err != nil {
			t.Fatal(err)
		}
		b.Close()
		for i := len(f.after) - 1; i >= 0; i-- {
			f.after[i]()
		}
		if (len(f.said) > 0) != fails {
			t.Errorf("%q: %s", line, strings.Join(f.said, "; "))
		}
	}
}
