package vm

import (
	"strings"
	"testing"

	"github.com/anamnesis-go/anamnesis/limits"
)

// Values of every kind, as the instructions that leave them.
var anything = []string{
	"N", "\x88", "K\x05", "K\x00", "J\xff\xff\xff\xff", "\x8a\x09\x00\x00\x00\x00\x00\x00\x00\x00\x01", "G\x3f\xf0\x00\x00\x00\x00\x00\x00",
	"X\x01\x00\x00\x00a", "U\x01b", "C\x01c", "]", "}", ")", "K\x01\x85", "X\x01\x00\x00\x00a\x85", "]K\x01a", "}K\x01K\x02s",
	"ccollections\nOrderedDict\n", "ccollections\nOrderedDict\n)R", "ctorch\nfloat32\n", "ctorch\nSize\n(K\x01K\x02t\x85R", "\x8f",
	"cdatetime\ntimedelta\nK\x00K\x01K\x00\x87R", "ctorch\nFloatTensor\n)R", "ctorch\ndevice\nX\x03\x00\x00\x00cpu\x85R",
	"cnumpy\ndtype\nX\x02\x00\x00\x00f4\x89\x88\x87R",
}

// Every name of the allowlist is called with, made of and given a state of any
// values: what does not fit is refused, and nothing but that happens.
func TestCallsTakeAnyArguments(t *testing.T) {
	policy := limits.Policy{}
	var args []string
	for i, a := range anything {
		args = append(args, a+"\x85")
		for j, b := range anything {
			args = append(args, a+b+"\x86")
			if few := 9; !testing.Short() && i < few && j < few {
				for _, c := range anything[:few] {
					args = append(args, a+b+c+"\x87")
				}
			}
		}
	}
	names := 0
	for _, e := range allowlist {
		for i, name := range strings.Fields(e.names) {
			if i > 0 && e.id != DateTime && e.id != PlainType && e.id != Path {
				break // one of a kind
			}
			names++
			everyUse(t, &policy, "c"+e.module+"\n"+name+"\n", args)
		}
	}
	if names < 60 {
		t.Errorf("%d names", names)
	}
}

func everyUse(t *testing.T, p *limits.Policy, name string, args []string) {
	t.Helper()
	for _, call := range [...]string{"R", "\x81"} {
		for _, arg := range args {
			scanned(t, p, name+arg+call+".")
		}
	}
	for _, made := range [...]string{"", ")R", ")\x81"} {
		for _, state := range anything {
			scanned(t, p, name+made+state+"b.")
		}
	}
}

// scanned reads a pickle and all of its graph.
func scanned(t *testing.T, p *limits.Policy, pickle string) {
	t.Helper()
	defer func() {
		if r := recover(); r != nil {
			t.Fatalf("%q: %v", pickle, r)
		}
	}()
	b := p.Budget(t.Context())
	defer b.Close()
	Scan(b, strings.NewReader(pickle), 0, int64(len(pickle)))
}
