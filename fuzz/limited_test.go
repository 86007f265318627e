package fuzz_test

import (
	"bytes"
	"testing"

	"github.com/anamnesis-go/anamnesis/compare"
	"github.com/anamnesis-go/anamnesis/convert"
	"github.com/anamnesis-go/anamnesis/digest"
	"github.com/anamnesis-go/anamnesis/fuzz"
	"github.com/anamnesis-go/anamnesis/internal/effort"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser"
	"github.com/anamnesis-go/anamnesis/parser/gguf"
	"github.com/anamnesis-go/anamnesis/parser/safetensors"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
	"github.com/anamnesis-go/anamnesis/stats"
)

// What is done with a model ends at each limit of steps with an error that says where. So that the
// limits reach all of it, reading the model is paid by an account of its own.
func TestWhatIsDoneWithAModelSaysWhereItsLimitWas(t *testing.T) {
	uses := map[string]func(b *limits.Budget, m tensor.Model) error{
		"digest.Tensors": func(b *limits.Budget, m tensor.Model) error {
			sums, err := digest.Tensors(b, m, digest.Options{})
			if err == nil {
				_, err = digest.Model(b, sums)
			}
			return err
		},
		"stats.Tensors": func(b *limits.Budget, m tensor.Model) error {
			_, err := stats.Tensors(b, m, stats.Options{})
			return err
		},
		"stats.DetailOf": func(b *limits.Budget, m tensor.Model) error {
			for i := range m.Tensors() {
				if _, err := stats.DetailOf(b, m, i.Name, stats.DetailOptions{}); err != nil {
					return err
				}
			}
			return nil
		},
		"compare.Models": func(b *limits.Budget, m tensor.Model) error {
			_, err := compare.Models(b, m, m, compare.Options{}, func(*compare.Difference) error { return nil })
			return err
		},
		"convert.Edit": func(b *limits.Budget, m tensor.Model) error {
			e := &convert.Edit{Set: []convert.Entry{{Key: "a", Value: "b"}}}
			_, err := e.Apply(b, make([]convert.Entry, 30))
			return err
		},
		"convert.Plan": func(b *limits.Budget, m tensor.Model) error {
			pattern, err := convert.ParseRenaming("*=x.*")
			if err != nil {
				t.Fatal(err)
			}
			names := convert.Names{Rename: []convert.Renaming{pattern}}
			renamed, err := names.Model(b, m)
			if err != nil {
				return err
			}
			p, err := convert.NewPlan(b, renamed, convert.Options{Threads: 1})
			if err != nil {
				return err
			}
			defer p.Close()
			_, _, err = writtenOut(p)
			return err
		},
	}
	for name, use := range uses {
		t.Run(name, func(t *testing.T) {
			refused := 0
			for _, format := range []string{gguf.Format, safetensors.Format} {
				for _, file := range valid(t, format) {
					if len(file.data) > effort.Of(512, 4096) {
						continue
					}
					for steps := int64(1); ; steps += 1 + steps/int64(effort.Of(2, 16)) {
						err, more := underSteps(t, file, steps, use)
						if fault := fuzz.Placed(err, int64(len(file.data))); fault != nil && wire.ClassOf(err) == wire.Limit {
							t.Fatalf("%s with %d steps: %v", file.name, steps, fault)
						}
						if !more {
							break
						}
						refused++
					}
				}
			}
			if refused < 20 {
				t.Errorf("only %d limits were reached", refused)
			}
		})
	}
}

// underSteps reads a file and uses it under an account of so few steps, and reports whether it was
// refused because of them.
func underSteps(t *testing.T, file file, steps int64, use func(*limits.Budget, tensor.Model) error) (err error, more bool) {
	t.Helper()
	own := file.policy.Budget(t.Context())
	defer own.Close()
	m, err := parser.Decode(own, bytes.NewReader(file.data), int64(len(file.data)))
	if err != nil {
		return nil, false
	}
	defer m.Close()
	b := limits.Policy{MaxSteps: steps}.Budget(t.Context())
	defer b.Close()
	err = use(b, m)
	return err, wire.ClassOf(err) == wire.Limit && steps < limits.DefaultMaxSteps
}
