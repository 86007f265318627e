package gguf_test

import (
	"bytes"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/anamnesis-go/anamnesis/corpus"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/gguf"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// One file of the corpus and the policy that it is read under.
type sample struct {
	name   string
	data   []byte
	policy limits.Policy
	recipe *corpus.Recipe // nil for what gguf-py wrote
}

func samples(t testing.TB) []sample {
	var list []sample
	add := func(name string, data []byte, r *corpus.Recipe) {
		s := sample{name: name, data: data, recipe: r}
		if r != nil && r.Policy != nil {
			p, err := limits.ParsePolicy(r.Policy)
			if err != nil {
				t.Fatal(err)
			}
			s.policy = p
		}
		list = append(list, s)
	}
	for _, r := range corpus.Hostile("gguf") {
		add(r.Name, r.Bytes(), &r)
	}
	for _, s := range corpus.Valid("gguf") {
		add(s.Name, s.Data, s.Recipe)
	}
	return list
}

// used calls everything that a user can call on a file, and returns the first refusal.
func used(b *limits.Budget, data []byte) error {
	return usedFrom(b, bytes.NewReader(data), int64(len(data)))
}

func usedFrom(b *limits.Budget, r io.ReaderAt, size int64) error {
	if err := gguf.Dump(b, io.Discard, r, size); wire.ClassOf(err) == wire.Internal && err != nil {
		return err
	}
	f, err := gguf.Decode(b, r, size)
	if err != nil {
		return err
	}
	if err := f.Verify(b); err != nil {
		return err
	}
	if err := sound(f); err != nil {
		return err
	}
	var meta []gguf.Entry
	for k, v := range f.Meta() {
		if a, ok := v.(gguf.Array); ok {
			if err := walked(b, a); err != nil {
				return err
			}
			if v, err = sliced(b, a); err != nil {
				return err
			}
		}
		if _, ok := f.Get(k); !ok {
			return wire.ErrInternal.Errorf("%s is listed and not found", k)
		}
		meta = append(meta, gguf.Entry{Key: k, Value: v})
	}
	if err := likewise(b, f, meta); err != nil {
		return err
	}
	for _, version := range []uint32{0, 1, 2} {
		for _, order := range []tensor.Order{tensor.Little, tensor.Big} {
			o, err := f.Options(b)
			if err != nil {
				return err
			}
			o.Version, o.Order, o.Alignment = version, order, 0
			if err := gguf.Encode(b, io.Discard, f, o); err != nil && wire.ClassOf(err) != wire.Unsupported {
				return err
			}
		}
	}
	return nil
}

// sound checks that the statements of a file agree.
func sound(f *gguf.File) error {
	if f.Version() < 1 || f.Version() > 3 || f.Alignment()&(f.Alignment()-1) != 0 || f.DataOffset()%f.Alignment() != 0 {
		return wire.ErrInternal.Errorf("version %d, alignment %d, data at %d", f.Version(), f.Alignment(), f.DataOffset())
	}
	keys := 0
	for key, v := range f.Meta() {
		keys++
		if a, ok := v.(gguf.Array); ok {
			if s := a.Span(); s.Off < 16 || s.Len < 0 || a.Len() < 0 || a.String() == "" {
				return wire.ErrInternal.Errorf("%s: %v at %v", key, a, s)
			}
		}
	}
	n := 0
	for i := range f.Tensors() {
		if i.Order != f.Order() || i.DType != f.Type(n).DType() || i.Span.Off < f.DataOffset() || i.Span.Off%f.Alignment() != f.DataOffset()%f.Alignment() {
			return wire.ErrInternal.Errorf("tensor %d: %+v", n, i)
		}
		n++
	}
	if _, ok := f.Get("no such key"); ok || keys != f.Keys() {
		return wire.ErrInternal.Errorf("%d keys listed, %d counted", keys, f.Keys())
	}
	return nil
}

// likewise checks that metadata as Go slices gives the same header as the file's own arrays.
func likewise(b *limits.Budget, f *gguf.File, meta []gguf.Entry) error {
	o, err := f.Options(b)
	if err != nil {
		return err
	}
	plan, err := gguf.Layout(b, f.Infos, meta, o)
	if err != nil {
		return err
	}
	var out bytes.Buffer
	if err := gguf.Encode(b, &out, f, o); err != nil {
		return err
	}
	if !bytes.HasPrefix(out.Bytes(), plan.Header) || int64(out.Len()) != plan.Size {
		return wire.ErrInternal.Errorf("two headers of one file")
	}
	return nil
}

// sliced is an array as a Go slice, where Go has one for its elements.
func sliced(b *limits.Budget, a gguf.Array) (any, error) {
	switch a.Elem() {
	case gguf.KindU8:
		return list[uint8](b, a)
	case gguf.KindI8:
		return list[int8](b, a)
	case gguf.KindU16:
		return list[uint16](b, a)
	case gguf.KindI16:
		return list[int16](b, a)
	case gguf.KindU32:
		return list[uint32](b, a)
	case gguf.KindI32:
		return list[int32](b, a)
	case gguf.KindU64:
		return list[uint64](b, a)
	case gguf.KindI64:
		return list[int64](b, a)
	case gguf.KindF32:
		return list[float32](b, a)
	case gguf.KindF64:
		return list[float64](b, a)
	case gguf.KindBool:
		return list[bool](b, a)
	case gguf.KindString:
		return list[string](b, a)
	default:
		return a, nil
	}
}

func list[T any](b *limits.Budget, a gguf.Array) (any, error) {
	out := []T{}
	for v, err := range a.All(b) {
		if err != nil {
			return nil, err
		}
		out = append(out, v.(T))
	}
	return out, nil
}

// walked reads an array by every iterator: one gives its elements, and the others a usage error.
func walked(b *limits.Budget, a gguf.Array) error {
	note := func(err error) error {
		if wire.ClassOf(err) == wire.Usage {
			return nil
		}
		return err
	}
	for _, err := range a.Strings(b) {
		if err := note(err); err != nil {
			return err
		}
	}
	for _, err := range a.Bools(b) {
		if err := note(err); err != nil {
			return err
		}
	}
	for _, err := range a.Ints(b) {
		if err := note(err); err != nil && a.Elem() != gguf.KindU64 {
			return err
		}
	}
	for _, err := range a.Floats(b) {
		if err := note(err); err != nil {
			return err
		}
	}
	for inner, err := range a.Arrays(b) {
		if err := note(err); err != nil {
			return err
		}
		if a.Elem() == gguf.KindArray {
			if err := walked(b, inner); err != nil {
				return err
			}
		}
	}
	for _, err := range a.All(b) {
		if err != nil {
			return err
		}
	}
	return nil
}

// Split files that do not belong together: one missing, two exchanged, one that is listed twice,
// one of another model.
func TestSplitFilesOfTheCorpusThatDoNotBelongTogether(t *testing.T) {
	data := map[string][]byte{}
	for _, s := range samples(t) {
		data[s.name] = s.data
	}
	one, two, three := gguf.SplitName("split", 1, 3), gguf.SplitName("split", 2, 3), gguf.SplitName("split", 3, 3)
	for name, files := range map[string]map[string]string{
		"the first missing":         {two: two, three: three},
		"the last missing":          {one: one, two: two},
		"two exchanged":             {one: one, two: three, three: two},
		"one twice":                 {one: one, two: two, three: two},
		"the first is another":      {one: "llama.gguf", two: two, three: three},
		"a number without a count":  {one: one, two: "kinds-le.gguf", three: three},
		"a hostile file among them": {one: one, two: two, three: "offset-gap"},
		"other numbers in the name": {gguf.SplitName("split", 1, 2): one, gguf.SplitName("split", 2, 2): two},
		"a count of other tensors":  {gguf.SplitName("m", 1, 1): "split-alone.txt"},
		"no count of tensors":       {gguf.SplitName("m", 1, 2): "split-first.txt", gguf.SplitName("m", 2, 2): "split-second.txt"},
		"a text for a count":        {gguf.SplitName("m", 1, 2): "split-first-of-two.txt", gguf.SplitName("m", 2, 2): "split-second.txt"},
	} {
		folder := fstest.MapFS{}
		for as, is := range files {
			if data[is] == nil {
				t.Fatalf("the corpus has no %s", is)
			}
			folder[as] = &fstest.MapFile{Data: data[is]}
		}
		for as := range files {
			_, err := gguf.OpenSplit(account(t, limits.Policy{}), folder, as)
			if wire.ClassOf(err) != wire.Malformed {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
	for _, name := range []string{"m-00000-of-00003.gguf", "m-00004-of-00003.gguf", "m-00001_of_00003.gguf", "m-0000a-of-00003.gguf"} {
		data[name] = nil
	}
	for name := range data {
		if _, _, _, ok := gguf.IsSplitName(name); ok {
			continue
		}
		if _, err := gguf.OpenSplit(account(t, limits.Policy{}), fstest.MapFS{}, name); wire.ClassOf(err) != wire.Usage {
			t.Errorf("%s is not a name of a split file: %v", name, err)
		}
	}
}

// The strict profile takes a file exactly if it has no finding.
func TestTheStrictProfileRefusesWhatHasFindings(t *testing.T) {
	for _, s := range samples(t) {
		plain := account(t, s.policy)
		f, err := gguf.Decode(plain, bytes.NewReader(s.data), int64(len(s.data)))
		if err != nil || f.Verify(plain) != nil {
			continue
		}
		p := s.policy
		p.RefuseFindings = []string{"*"}
		strict := account(t, p)
		f2, err := gguf.Decode(strict, bytes.NewReader(s.data), int64(len(s.data)))
		if err == nil {
			err = f2.Verify(strict)
		}
		if want := len(f.Findings()) > 0; (wire.ClassOf(err) == wire.Forbidden) != want {
			t.Errorf("%s: findings %v, strict says %v", s.name, codes(f), err)
		}
	}
}

// The cases that tests/test-gguf.cpp of llama.cpp 0c1e57098 makes by hand.
var named = strings.Fields(`
	HEADER_BAD_MAGIC HEADER_BAD_VERSION_0 HEADER_BAD_VERSION_1 HEADER_BAD_VERSION_FUTURE HEADER_BAD_N_TENSORS HEADER_BAD_N_KV HEADER_EMPTY
	KV_BAD_KEY_SIZE KV_EMPTY_KEY KV_BAD_TYPE KV_DUPLICATE_KEY KV_BAD_ALIGN KV_WRONG_TYPE_ALIGN KV_SUCCESS
	TENSORS_BAD_NAME_SIZE TENSORS_BAD_N_DIMS TENSORS_BAD_SHAPE TENSORS_ZERO_DIM TENSORS_NE_TOO_BIG TENSORS_NBYTES_TOO_BIG
	TENSORS_NBYTES_PAD_WRAP TENSORS_BAD_TYPE TENSORS_BAD_OFFSET TENSORS_DUPLICATE_NAME TENSORS_BAD_ALIGN TENSORS_INCONSISTENT_ALIGN
	TENSORS_SUCCESS TENSORS_CUSTOM_ALIGN
	DATA_NOT_ENOUGH_DATA DATA_BAD_ALIGN DATA_INCONSISTENT_ALIGN DATA_MEM_SIZE_OVERFLOW DATA_SUCCESS DATA_CUSTOM_ALIGN`)

func TestTheCorpusHasEveryNamedCaseOfTheReferencesTests(t *testing.T) {
	var comments strings.Builder
	for _, s := range samples(t) {
		if s.recipe != nil {
			comments.WriteString(s.recipe.Comment + " ")
		}
	}
	words := strings.FieldsFunc(comments.String(), func(r rune) bool { return strings.ContainsRune(" .,:()\n", r) })
	for _, name := range named {
		if !slices.Contains(words, name) {
			t.Errorf("no recipe for %s", name)
		}
	}
	if len(named) != 34 {
		t.Errorf("%d cases, there are 34", len(named))
	}
}

// The files of the corpus that gguf-py split open as one model, from any of them.
func TestSplitFilesOfGGUFPyOpenFromAnyOfThem(t *testing.T) {
	folder := fstest.MapFS{}
	for _, s := range samples(t) {
		if _, _, _, ok := gguf.IsSplitName(s.name); ok {
			folder[s.name] = &fstest.MapFile{Data: s.data}
		}
	}
	want := []string{"token_embd.weight", "blk.0.attn_norm.weight", "blk.0.attn_q.weight", "blk.0.ffn_up.weight", "output_norm.weight"}
	for name := range folder {
		b := account(t, limits.Policy{RefuseFindings: []string{"*"}})
		m, err := gguf.OpenSplit(b, folder, name)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for i := range m.Tensors() {
			got = append(got, i.Name)
			body, err := m.Body(b, i)
			if err != nil {
				t.Fatal(err)
			}
			if n, err := io.Copy(io.Discard, body); err != nil || n != i.Span.Len {
				t.Errorf("%s of part %d: %d bytes, %v", i.Name, i.Part, n, err)
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("opened by %s: %s", name, diff)
		}
		if err := m.Verify(b); err != nil {
			t.Error(err)
		}
	}
	if len(folder) != 3 {
		t.Errorf("%d files", len(folder))
	}
}
