package fuzz_test

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"testing"

	"github.com/anamnesis-go/anamnesis/convert"
	"github.com/anamnesis-go/anamnesis/fuzz"
	"github.com/anamnesis-go/anamnesis/internal/fixtures"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/merge"
	"github.com/anamnesis-go/anamnesis/parser"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// recipeModels are the models that recipes may name.
var recipeModels = func() map[string][]byte {
	all := map[string][]byte{}
	for k, name := range []string{"a", "b", "c"} {
		list := []fixtures.Tensor{fixtures.Whole("m.embed_tokens.weight", "BF16", 9+k, 5, 4), fixtures.Whole("m.norm.weight", "F32", 8+k, 4)}
		for n := range 3 {
			list = append(list, fixtures.Whole(fmt.Sprintf("m.layers.%d.w", n), "BF16", 3*k+n, 3, 4))
		}
		all[name] = fixtures.Safetensors(list...)
	}
	return all
}()

// FuzzRecipe merges models by any text as a recipe. The result must be the same for any
// number of workers; a tighter account must give the same result or a limit error.
func FuzzRecipe(f *testing.F) {
	for _, method := range merge.Methods() {
		f.Add(fmt.Appendf(nil, `{"merge_method":%q,"base_model":"a","models":[{"model":"b","parameters":{"weight":0.5,"density":0.5}},{"model":"c","parameters":{"weight":[1,2],"density":0.3}}],"parameters":{"lambda":2,"normalize":true},"seed":7}`, method))
		f.Add(fmt.Appendf(nil, `{"merge_method":%q,"base_model":"a","out_dtype":"float16","parameters":{"t":[{"filter":"norm","value":0.3},{"value":[0,1]}]},"slices":[{"sources":[{"model":"a","layer_range":[0,2]},{"model":"b","layer_range":[1,3]}]}]}`, method))
		f.Add(fmt.Appendf(nil, `{"merge_method":%q,"dtype":"float32","slices":[{"sources":[{"model":"a","layer_range":[0,2],"parameters":{"scale":2,"weight":1}}]},{"sources":[{"model":"a","layer_range":[0,3]}],"parameters":{"weight":1}}]}`, method))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		var same agreement
		for _, threads := range []int{1, 3} {
			b := fuzz.Ceilings.Budget(t.Context())
			answer, err := mergeRecipe(b, string(text), threads)
			b.Close()
			same.hold(t, threads, answer, err)
		}
		fuzz.Target{
			Read: func(b *limits.Budget, r io.ReaderAt, size int64) (fuzz.Answer, error) {
				c := wire.NewCursor(b, "recipe", r, size)
				text, err := c.String(uint64(size))
				if err != nil {
					return fuzz.Answer{}, err
				}
				answer, err := mergeRecipe(b, text, 1)
				if e, ok := errors.AsType[*wire.Error](err); ok && e.Format != "recipe" { // in a model
					at := *e
					at.Off = wire.NoOffset
					err = &at
				}
				return fuzz.Text(answer), err
			},
		}.Check(t, text)
	})
}

// mergeRecipe merges by one recipe and describes what was written.
func mergeRecipe(b *limits.Budget, text string, threads int) (string, error) {
	recipe, err := merge.ReadRecipe(b, text)
	if err != nil {
		return "", err
	}
	m, err := merge.Merge(b, recipe, func(name string) (tensor.Model, error) {
		data, ok := recipeModels[name]
		if !ok {
			return nil, wire.ErrMissing.Errorf("no such model")
		}
		return parser.Decode(b, bytes.NewReader(data), int64(len(data)))
	})
	if err != nil {
		return "", err
	}
	defer m.Close()
	return streamed(b, m, convert.Options{AsIs: true, Threads: threads, Tile: 16})
}

// streamed writes a model to memory and describes the result.
func streamed(b *limits.Budget, m tensor.Model, o convert.Options) (string, error) {
	p, err := convert.NewPlan(b, m, o)
	if err != nil {
		return "", err
	}
	data, answer, err := writtenOut(p)
	if data == nil {
		return answer, err
	}
	return fmt.Sprintf("%x %d", sha256.Sum256(data), len(p.Outs)), nil
}
