package fuzz_test

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"
	"testing"

	"github.com/anamnesis-go/anamnesis/convert"
	"github.com/anamnesis-go/anamnesis/corpus"
	"github.com/anamnesis-go/anamnesis/digest"
	"github.com/anamnesis-go/anamnesis/fuzz"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser"
	"github.com/anamnesis-go/anamnesis/parser/gguf"
	"github.com/anamnesis-go/anamnesis/parser/gguf/edit"
	"github.com/anamnesis-go/anamnesis/parser/safetensors"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// FuzzEdit edits any bytes as a model: it sets one key, deletes another and renames
// tensors by a pattern. The result must hold the bytes of every tensor. A tighter account
// must give the same result or a limit error.
func FuzzEdit(f *testing.F) {
	seeds := sampled{f, new(int)}
	for _, format := range []string{gguf.Format, safetensors.Format} {
		for _, s := range corpus.Valid(format) {
			seeds.Add(s.Data, "general.name=mine", "format", "*w*=*x*")
			seeds.Add(s.Data, "a:u32=7", "", "*=m.*")
		}
	}
	for _, r := range corpus.Hostile(safetensors.Format) {
		if r.Name == "hqq-expression" {
			f.Add(r.Bytes(), "a=b", "", "*=m.*")
		}
	}
	for _, s := range corpus.Valid(safetensors.Format) { // under a name that a library evaluates
		f.Add(s.Data, "a=b", "", "*=*.compute_dtype")
	}
	f.Fuzz(func(t *testing.T, data []byte, set, deleted, rename string) {
		if len(set)+len(deleted)+len(rename) > 4096 {
			return
		}
		fuzz.Target{
			Read: func(b *limits.Budget, r io.ReaderAt, size int64) (fuzz.Answer, error) {
				answer, err := edited(b, r, size, set, deleted, rename)
				return fuzz.Text(answer), elsewhere(err)
			},
		}.Check(t, data)
	})
}

// edited edits one model and describes what was written.
func edited(b *limits.Budget, r io.ReaderAt, size int64, set, deleted, rename string) (string, error) {
	m, err := parser.Decode(b, r, size)
	if err != nil {
		return "", err
	}
	defer m.Close()
	o := convert.Options{AsIs: true, Threads: 1}
	e := &convert.Edit{}
	if deleted != "" {
		e.Delete = []string{deleted}
	}
	switch m.Format() {
	case gguf.Format:
		pair, err := edit.Pair(b, set)
		if wire.ClassOf(err) == wire.Usage {
			return "usage", nil
		}
		if err != nil {
			return "", err
		}
		e.Set, o.Sink = []convert.Entry{convert.Entry(pair)}, convert.GGUF{RawNames: true}
	case safetensors.Format:
		e.Set = []convert.Entry{{Key: set, Value: rename}}
	default:
		return "other", nil
	}
	pattern, err := convert.ParseRenaming(rename)
	if err != nil || e.Check(m.Format()) != nil {
		return "usage", nil
	}
	o.Meta = func(meta []convert.Entry) ([]convert.Entry, error) { return e.Apply(b, meta) }
	names := convert.Names{Rename: []convert.Renaming{pattern}}
	renamed, err := names.Model(b, m)
	if wire.ClassOf(err) == wire.Usage {
		return "usage", nil
	}
	if err != nil {
		return "", err
	}
	p, err := convert.NewPlan(b, renamed, o)
	if wire.ClassOf(err) == wire.Usage {
		return "usage", nil
	}
	if err != nil {
		return "", err
	}
	out, answer, err := writtenOut(p)
	if out == nil {
		return answer, err
	}
	return sameTensors(b, m, out)
}

// sameTensors compares the bodies in two models, whatever their names.
func sameTensors(b *limits.Budget, m tensor.Model, data []byte) (string, error) {
	own := limits.Policy{Timeout: limits.NoTimeout}.Budget(context.Background())
	defer own.Close()
	after, err := parser.Decode(own, bytes.NewReader(data), int64(len(data)))
	if err != nil {
		return "", &fuzz.Broken{Property: fuzz.Rewritten, Seen: err.Error()}
	}
	var sums [2][]digest.Tensor
	if sums[0], err = digest.Tensors(b, m, digest.Options{}); err != nil {
		return "", err
	}
	if sums[1], err = digest.Tensors(own, after, digest.Options{}); err != nil {
		return "", &fuzz.Broken{Property: fuzz.Rewritten, Seen: err.Error()}
	}
	for _, list := range sums {
		slices.SortFunc(list, func(x, y digest.Tensor) int {
			return cmp.Or(bytes.Compare(x.Sum[:], y.Sum[:]), cmp.Compare(x.Type, y.Type), slices.Compare(x.Shape, y.Shape))
		})
	}
	same := slices.EqualFunc(sums[0], sums[1], func(x, y digest.Tensor) bool {
		return x.Sum == y.Sum && x.Type == y.Type && slices.Equal(x.Shape, y.Shape)
	})
	if !same {
		return "", &fuzz.Broken{Property: fuzz.Rewritten, Seen: "tensors hold other bytes"}
	}
	return fmt.Sprint(len(sums[0])), nil
}
