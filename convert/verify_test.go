package convert_test

import (
	"bytes"
	"testing"

	"github.com/anamnesis-go/anamnesis/convert"
	"github.com/anamnesis-go/anamnesis/corpus"
	"github.com/anamnesis-go/anamnesis/internal/converttest"
	"github.com/anamnesis-go/anamnesis/internal/effort"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser"
)

// An archive with one wrong byte in any member is refused, as by Verify, whichever tensors are
// converted.
func TestEveryByteOfAnArchiveIsVerified(t *testing.T) {
	tries := effort.Of(100, 400)
	if testing.Short() {
		tries = 50
	}
	for path, keep := range map[string]func(string) bool{
		"../testdata/demo/checkpoint.pt":               nil,
		"../testdata/demo/weights.npz":                 nil,
		"../corpus/valid/npz/stored.npz":               nil,
		"../corpus/valid/npz/with-readme.npz":          nil,
		"../corpus/valid/pth/tied.pt":                  nil,
		"../corpus/valid/pth/strided.pt":               nil,
		"../corpus/valid/npz/../npz/deflated.npz":      func(name string) bool { return name < "c" },
		"../corpus/valid/npz/../../valid/npz/bf16.npz": func(string) bool { return false },
	} {
		data := read(t, path)
		step := max(1, len(data)/tries)
		refused := 0
		for at := 0; at < len(data); at += step {
			broken := bytes.Clone(data)
			broken[at] ^= 0x10
			b := limits.Policy{}.Budget(t.Context())
			m, err := parser.Decode(b, bytes.NewReader(broken), int64(len(broken)))
			if err == nil {
				want := wire.ClassOf(parser.Verify(b, m))
				p, err := convert.NewPlan(b, m, convert.Options{Keep: keep, Threads: 2, Tile: 100})
				if err == nil {
					_, err = p.Stream(converttest.NewMemory(p.Size))
				}
				if got := wire.ClassOf(err); got != want && got != wire.Unsupported {
					t.Errorf("%s, byte %d: %v, Verify says %v", path, at, err, want)
				}
				if err != nil {
					refused++
				}
			}
			b.Close()
		}
		if refused == 0 {
			t.Errorf("%s: nothing was refused by its bodies", path)
		}
	}
}

// The files of the corpus whose checksums are wrong are refused here too.
func TestBodiesThatOnlyVerifyRefuses(t *testing.T) {
	for _, format := range []string{"npz", "pth"} {
		for _, r := range corpus.Hostile(format) {
			data := r.Bytes()
			policy := limits.Policy{}
			b := policy.Budget(t.Context())
			m, err := parser.Decode(b, bytes.NewReader(data), int64(len(data)))
			if err == nil {
				want := parser.Verify(b, m)
				p, err := convert.NewPlan(b, m, convert.Options{})
				if err == nil {
					_, err = p.Stream(converttest.NewMemory(p.Size))
				}
				if want != nil && err == nil {
					t.Errorf("%s/%s: converted, though %v", format, r.Name, want)
				}
			}
			b.Close()
		}
	}
}
