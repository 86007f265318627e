package quant

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/anamnesis-go/anamnesis/internal/scheme"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// castModel is FP8 tensors without scales, which a configuration promises to all
// but the modules that it leaves out.
func castModel(tensors int, key string, entries []string) tensor.Model {
	config := `{"quantization_config":{"quant_method":"fp8","` + key + `":["` + strings.Join(entries, `","`) + `"]}}`
	m := &tensor.File{Folder: fstest.MapFS{"config.json": &fstest.MapFile{Data: []byte(config)}}}
	for i := range tensors {
		m.Infos = append(m.Infos, tensor.Info{
			Name: fmt.Sprintf("model.layers.%d.self_attn.weight", i), DType: tensor.F8E4M3, Shape: []int64{1, 1}, Span: tensor.Span{Off: int64(i), Len: 1},
		})
	}
	return m
}

// A list of modules costs what it is long, and a name what it is long: not one
// times the other. The bounds are a few steps for each byte of the text.
func TestListsOfModulesCostTheirLengthOnce(t *testing.T) {
	const tensors, entries = 600, 100_000
	names, stars := make([]string, entries), make([]string, entries)
	for i := range names {
		names[i] = fmt.Sprintf("layers.%d.", i)
		stars[i] = fmt.Sprintf("layers.%d.*mlp", i+tensors)
	}
	stars = append(stars, "self_attn")
	for _, key := range scheme.ExclusionKeys {
		for what, list := range map[string][]string{"names": names, "globs": stars} {
			t.Run(key+", "+what, func(t *testing.T) {
				b := limits.Policy{MaxSteps: 12 << 20}.Budget(t.Context())
				defer b.Close()
				bound, err := Plan(b, castModel(tensors, key, list), Options{})
				if err != nil || len(bound.Weights) != tensors {
					t.Fatal(err)
				}
			})
		}
	}
}

// Globs that share their first piece, and patterns, cost steps for each name, so that the account
// bounds them.
func TestListsThatCannotBeMatchedAtOnceStep(t *testing.T) {
	const tensors = 600
	for what, entry := range map[string]string{"globs": "layers*none%d", "patterns": "re:model.*none%d$"} {
		t.Run(what, func(t *testing.T) {
			list := make([]string, 3000)
			for i := range list {
				list[i] = fmt.Sprintf(entry, i)
			}
			list = append(list, "re:model")
			b := limits.Policy{MaxSteps: 4 << 20}.Budget(t.Context())
			defer b.Close()
			_, err := Plan(b, castModel(tensors, "ignore", list), Options{})
			if e, ok := errors.AsType[*limits.Error](err); !ok || e.Axis != limits.StepCount {
				t.Errorf("%v", err)
			}
		})
	}
}

func TestANameThatIsTooLongForPatternsIsRefused(t *testing.T) {
	m := castModel(1, "ignore", []string{"re:(a*)*b"}).(*tensor.File)
	m.Infos[0].Name = strings.Repeat("a", scheme.MaxMatched+1)
	b := limits.Policy{}.Budget(t.Context())
	defer b.Close()
	if _, err := Plan(b, m, Options{}); wire.ClassOf(err) != wire.Unsupported {
		t.Errorf("%v", err)
	}
}
