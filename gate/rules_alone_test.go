package gate_test

import (
	"bytes"
	"io"
	"maps"
	"slices"
	"testing"

	"github.com/anamnesis-go/anamnesis/corpus"
	"github.com/anamnesis-go/anamnesis/gate"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/gguf"
	"github.com/anamnesis-go/anamnesis/parser/keras"
	npyformat "github.com/anamnesis-go/anamnesis/parser/npy"
	"github.com/anamnesis-go/anamnesis/parser/npz"
	"github.com/anamnesis-go/anamnesis/parser/pth"
	"github.com/anamnesis-go/anamnesis/parser/safetensors"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
	"github.com/anamnesis-go/anamnesis/parser/zip"
	"github.com/anamnesis-go/anamnesis/vm"
)

// A reader decodes a file of one format, whatever it begins as.
type reader func(b *limits.Budget, r io.ReaderAt, size int64) error

// whole decodes a model and reads its bodies.
func whole[F tensor.Model](decode func(*limits.Budget, io.ReaderAt, int64) (F, error)) reader {
	return func(b *limits.Budget, r io.ReaderAt, size int64) error {
		m, err := decode(b, r, size)
		if err != nil {
			return err
		}
		defer m.Close()
		if v, ok := any(m).(tensor.Verifier); ok {
			return v.Verify(b)
		}
		return nil
	}
}

// readers are those of the packages of formats, which a program may call without the
// gate: the gate's looks at a file's beginning, and at what its pickles call, refuse
// much of it earlier.
var readers = map[string]reader{
	"gguf": whole(gguf.Decode), "keras": whole(keras.Decode), "npy": whole(npyformat.Decode), "npz": whole(npz.Decode), "pth": whole(pth.Decode), "safetensors": whole(safetensors.Decode),
	"zip": func(b *limits.Budget, r io.ReaderAt, size int64) error {
		_, err := zip.Decode(b, r, size, zip.Options{})
		return err
	},
	"pickle": func(b *limits.Budget, r io.ReaderAt, size int64) error {
		_, err := vm.Load(b, r, 0, size)
		return err
	},
}

// byReaders adds the rules by which a reader that is called by itself refuses the
// files of the corpus.
func (e examples) byReaders(t *testing.T) map[string]string {
	alone := map[string]string{}
	for _, format := range slices.Sorted(maps.Keys(readers)) {
		read := readers[format]
		for _, r := range corpus.Hostile(format) {
			data := r.Bytes()
			if len(data) >= 1<<20 {
				continue
			}
			p := limits.Policy{}
			if r.Policy != nil {
				var err error
				if p, err = limits.ParsePolicy(r.Policy); err != nil {
					t.Fatal(r.Name, err)
				}
			}
			b := p.Budget(t.Context())
			rule := wire.RuleOf(read(b, bytes.NewReader(data), int64(len(data))))
			b.Close()
			if rule != "" && gate.IsRule(rule) && len(e[rule]) == 0 {
				e[rule] = append(e[rule], "`"+r.Path()+"`")
				alone[rule] = format
			}
		}
	}
	return alone
}
