package forms_test

import (
	"encoding/json"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/anamnesis-go/anamnesis/convert"
	"github.com/anamnesis-go/anamnesis/convert/forms"
	"github.com/anamnesis-go/anamnesis/internal/converttest"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/safetensors"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
	"github.com/anamnesis-go/anamnesis/quant"
)

// mlxGoldens is what mlx_lm.convert made of a model: generate.py in it.
const mlxGoldens = "../../testdata/mlx"

// forMLX makes a model one of mlx-lm, and writes its folder.
func forMLX(t *testing.T, b *limits.Budget, m tensor.Model, q convert.Quantizer) string {
	t.Helper()
	m, cast, err := forms.MLX{}.Model(b, m)
	if err != nil {
		t.Fatal(err)
	}
	o := convert.Options{Shard: 1 << 30, Quantize: q, Requantize: true}
	if cast != nil {
		o.Quant.Target, o.Cast = *cast, func(*tensor.Info) bool { return true }
	}
	p, err := convert.NewPlan(b, m, o)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir() + "/out"
	if _, err := p.WriteFolder(dir, false, false); err != nil {
		t.Fatal(err)
	}
	return dir
}

func TestMLXFoldersAreThoseOfItsConverter(t *testing.T) {
	for name, q := range map[string]convert.Quantizer{"plain": nil, "q4": converttest.To(t, "mlx_4")} {
		t.Run(name, func(t *testing.T) {
			source, b := converttest.Open(t, filepath.Join(mlxGoldens, "model"))
			dir := forMLX(t, b, source, q)
			got, _ := converttest.Open(t, dir)
			want, _ := converttest.Open(t, filepath.Join(mlxGoldens, name))
			if diff := cmp.Diff(converttest.Stored(t, b, want), converttest.Stored(t, b, got)); diff != "" {
				t.Error(diff)
			}
			if diff := cmp.Diff(maps.Collect(want.Meta()), maps.Collect(got.Meta())); diff != "" {
				t.Error(diff)
			}
			for _, file := range []string{"config.json", "model.safetensors.index.json"} {
				if diff := cmp.Diff(readJSON(t, os.DirFS(filepath.Join(mlxGoldens, name)), file), readJSON(t, os.DirFS(dir), file)); diff != "" {
					t.Errorf("%s: %s", file, diff)
				}
			}
		})
	}
}

func readJSON(t *testing.T, files fs.FS, name string) (v any) {
	t.Helper()
	body, err := fs.ReadFile(files, name)
	if err == nil {
		err = json.Unmarshal(body, &v)
	}
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// A folder of mlx-lm is converted back to the original folder of transformers, and to the same GGUF
// file.
func TestMLXFoldersGoBack(t *testing.T) {
	source, b := converttest.Open(t, filepath.Join(mlxGoldens, "model"))
	mlx, _ := converttest.Open(t, filepath.Join(mlxGoldens, "plain"))
	back, err := forms.Transformers{}.Model(b, mlx)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(converttest.Stored(t, b, source), converttest.Stored(t, b, back)); diff != "" {
		t.Error(diff)
	}
	for _, name := range []string{"plain", "q4"} {
		one, _ := converttest.Open(t, filepath.Join(mlxGoldens, name))
		m, err := forms.LlamaCPP{TensorsAlone: true, Quant: quant.Options{Target: quant.BF16}}.Model(b, one)
		if err != nil {
			t.Fatal(err)
		}
		want, err := forms.LlamaCPP{TensorsAlone: true}.Model(b, source)
		if err != nil {
			t.Fatal(err)
		}
		if name == "plain" {
			if diff := cmp.Diff(converttest.Stored(t, b, want), converttest.Stored(t, b, m)); diff != "" {
				t.Error(diff)
			}
		} else if m.Len() != want.Len() {
			t.Errorf("%d tensors, want %d", m.Len(), want.Len())
		}
	}
}

// A GGUF file is converted to a folder of mlx-lm through the form of transformers.
func TestGGUFBecomesMLX(t *testing.T) {
	b := converttest.Account(t)
	dir := forMLX(t, b, converttest.GGUFOfOneLayer(t, b, nil, nil), nil)
	got, _ := converttest.Open(t, dir)
	if diff := cmp.Diff(converttest.Stored(t, b, converttest.LlamaOfOneLayer(t, b, converttest.LlamaConfig, "")), converttest.Stored(t, b, got)); diff != "" {
		t.Error(diff)
	}
}

func TestMLXFoldersWithUnknownPartsAreRefused(t *testing.T) {
	folder := func(config string, change func(*safetensors.File)) func(*limits.Budget) tensor.Model {
		return func(b *limits.Budget) tensor.Model {
			m := converttest.LlamaOf(t, b, config, "", 1)
			if change != nil {
				change(m)
			}
			return m
		}
	}
	for _, c := range []struct {
		name  string
		model func(*limits.Budget) tensor.Model
		class wire.Class
	}{
		{"no config.json", folder(converttest.LlamaConfig, func(f *safetensors.File) { f.Folder = fstest.MapFS{} }), wire.Unsupported},
		{"an unknown architecture", folder(strings.Replace(converttest.LlamaConfig, "LlamaFor", "OtherFor", 1), nil), wire.Unsupported},
		{"another width", folder(strings.Replace(converttest.LlamaConfig, `"hidden_size": 4`, `"hidden_size": 8`, 1), nil), wire.Malformed},
		{"more layers", folder(strings.Replace(converttest.LlamaConfig, `layers": 1`, `layers": 2`, 1), nil), wire.Malformed},
		{"matrices that mlx-lm has transposed", folder(strings.Replace(converttest.LlamaConfig, "LlamaForCausalLM", "GPT2LMHeadModel", 1), nil), wire.Unsupported},
	} {
		b := converttest.Account(t)
		_, _, err := forms.MLX{}.Model(b, c.model(b))
		if wire.ClassOf(err) != c.class {
			t.Errorf("%s: class %v: %v", c.name, wire.ClassOf(err), err)
		}
	}
	b := converttest.Account(t)
	m, _, err := forms.MLX{}.Model(b, converttest.LlamaOf(t, b, converttest.WideConfig, "", 64))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := convert.NewPlan(b, m, convert.Options{Quantize: converttest.To(t, "gptq")}); wire.ClassOf(err) != wire.Usage {
		t.Errorf("a format that mlx-lm does not read: %v", err)
	}
}
