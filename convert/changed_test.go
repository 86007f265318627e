package convert_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/anamnesis-go/anamnesis/convert"
	"github.com/anamnesis-go/anamnesis/convert/forms"
	"github.com/anamnesis-go/anamnesis/internal/converttest"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// A source that changed while it was converted is refused at the end, through every kind of view.
func TestASourceThatChangedIsNoticedThroughEveryView(t *testing.T) {
	llamaCPP := convert.Options{Sink: convert.GGUF{RawNames: true}}
	for name, view := range map[string]struct {
		of func(*limits.Budget, tensor.Model) (tensor.Model, error)
		o  convert.Options
	}{
		"as it is": {func(_ *limits.Budget, m tensor.Model) (tensor.Model, error) { return m, nil }, folderOptions},
		"renamed": {func(b *limits.Budget, m tensor.Model) (tensor.Model, error) {
			names := convert.Names{Drop: func(name string) bool { return name == "lm_head.weight" }}
			return names.Model(b, m)
		}, folderOptions},
		"in llama.cpp's form": {forms.LlamaCPP{TensorsAlone: true}.Model, llamaCPP},
	} {
		t.Run(name, func(t *testing.T) {
			for _, changes := range []bool{false, true} {
				from := filepath.Join(t.TempDir(), "from")
				if err := os.CopyFS(from, os.DirFS(llama)); err != nil {
					t.Fatal(err)
				}
				m, b := converttest.Open(t, from)
				m, err := view.of(b, m)
				if err != nil {
					t.Fatal(err)
				}
				p, err := convert.NewPlan(b, m, view.o)
				if err != nil {
					t.Fatal(err)
				}
				if changes {
					past := time.Date(2001, 2, 3, 4, 5, 6, 0, time.UTC)
					if err := os.Chtimes(filepath.Join(from, "model.safetensors"), past, past); err != nil {
						t.Fatal(err)
					}
				}
				to := filepath.Join(t.TempDir(), "out")
				_, err = p.Write(to, false)
				if got := wire.RuleOf(err) == "file.changed"; got != changes {
					t.Errorf("it changed: %t, and writing says %v", changes, err)
				}
				if _, none := os.Stat(to); (none == nil) == changes {
					t.Errorf("it changed: %t, and of the output: %v", changes, none)
				}
			}
		})
	}
}
