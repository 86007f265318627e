package gguf_test

import (
	"bytes"
	"errors"
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

// used does everything that a user can do with a file, and gives the first
// refusal.
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
			return wire.ErrInternal.With("%s is listed and not found", k)
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

// sound asks that what a file says of itself fits together.
func sound(f *gguf.File) error {
	if f.Version() < 1 || f.Version() > 3 || f.Alignment()&(f.Alignment()-1) != 0 || f.DataOffset()%f.Alignment() != 0 {
		return wire.ErrInternal.With("version %d, alignment %d, data at %d", f.Version(), f.Alignment(), f.DataOffset())
	}
	keys := 0
	for key, v := range f.Meta() {
		keys++
		if a, ok := v.(gguf.Array); ok {
			if s := a.Span(); s.Off < 16 || s.Len < 0 || a.Len() < 0 || a.String() == "" {
				return wire.ErrInternal.With("%s: %v at %v", key, a, s)
			}
		}
	}
	n := 0
	for i := range f.Tensors() {
		if i.Order != f.Order() || i.DType != f.Type(n).DType() || i.Span.Off < f.DataOffset() || i.Span.Off%f.Alignment() != f.DataOffset()%f.Alignment() {
			return wire.ErrInternal.With("tensor %d: %+v", n, i)
		}
		n++
	}
	if _, ok := f.Get("no such key"); ok || keys != f.Keys() {
		return wire.ErrInternal.With("%d keys listed, %d counted", keys, f.Keys())
	}
	return nil
}

// likewise asks that metadata in Go slices makes the header that the file's own
// arrays make.
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
		return wire.ErrInternal.With("two headers of one file")
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

// walked reads an array by every iterator: one gives its elements, the others an
// error, which is not the file's fault.
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

// A ceiling that is lower on any axis gives the same answer or says limit. The
// sweep walks each ceiling down to nothing, so that it ends in every place.
func TestEachFileOfTheCorpusUnderLowerAndLowerCeilings(t *testing.T) {
	for _, s := range samples(t) {
		if len(s.data) > 256<<10 {
			continue
		}
		b := s.policy.Budget(t.Context())
		want := wire.ClassOf(used(b, s.data))
		usage := b.Usage()
		b.Close()
		parts := int64(24)
		if len(s.data) > 8<<10 {
			parts = 5
		}
		for _, u := range usage {
			for _, n := range ceilings(u, parts) {
				p := s.policy
				switch u.Axis {
				case limits.SingleAlloc:
					p.MaxSingleAlloc = n
				case limits.Total:
					p.MaxTotalBytes = n
				case limits.Items:
					p.MaxItems = n
				case limits.Depth:
					p.MaxDepth = n
				case limits.StepCount:
					p.MaxSteps = n
				}
				b := p.Budget(t.Context())
				err := used(b, s.data)
				b.Close()
				if got := wire.ClassOf(err); got != want && got != wire.Limit {
					t.Errorf("%s with %v %d: %v, without %v", s.name, u.Axis, n, err, want)
				}
			}
		}
	}
}

// ceilings are what an axis is lowered to: all of a few, and some of many.
func ceilings(u limits.AxisUsage, parts int64) []int64 {
	if u.Axis > limits.StepCount || u.Axis == limits.InflateRatio || u.Axis == limits.ExpandRatio {
		return nil
	}
	peak := min(u.Peak, u.Limit)
	var out []int64
	for k := int64(1); k <= parts; k++ {
		if n := peak * k / parts; n > 0 && (len(out) == 0 || n > out[len(out)-1]) {
			out = append(out, n)
		}
	}
	return out
}

// A failing reads until something breaks.
type failing struct {
	data  []byte
	after int // calls that succeed
	err   error
}

func (r *failing) ReadAt(p []byte, off int64) (int, error) {
	if r.after--; r.after < 0 {
		return 0, r.err
	}
	return bytes.NewReader(r.data).ReadAt(p, off)
}

var errDisk = errors.New("the disk is on fire")

// A reader that fails, at whatever call, ends in its own error or in truncated,
// and never in an answer about the file that nobody read.
func TestEachFileOfTheCorpusThroughReadersThatFail(t *testing.T) {
	for _, s := range samples(t) {
		if len(s.data) > 32<<10 {
			continue
		}
		b := account(t, s.policy)
		if used(b, s.data) != nil {
			continue
		}
		for _, broken := range []error{errDisk, io.EOF} {
			for after := range 64 {
				b := s.policy.Budget(t.Context())
				r := &failing{s.data, after, broken}
				err := usedFrom(b, r, int64(len(s.data)))
				b.Close()
				if r.after >= 0 && err == nil {
					break // no call was left to fail
				}
				switch {
				case broken == errDisk && errors.Is(err, errDisk):
				case broken == io.EOF && wire.ClassOf(err) == wire.Truncated:
				default:
					t.Errorf("%s, %v after %d reads: %v", s.name, broken, after, err)
				}
			}
		}
	}
}

// A disk that fills up ends writing with its own error, after any byte.
func TestEachFileOfTheCorpusWrittenToADiskThatFillsUp(t *testing.T) {
	for _, s := range samples(t) {
		if len(s.data) > 4096 {
			continue
		}
		b := account(t, s.policy)
		f, err := gguf.Decode(b, bytes.NewReader(s.data), int64(len(s.data)))
		if err != nil || f.Verify(b) != nil {
			continue
		}
		o, err := f.Options(b)
		if err != nil {
			t.Fatal(err)
		}
		size := int64(1 << 20)
		if err := gguf.Encode(b, full{&size}, f, o); err != nil {
			t.Fatal(err)
		}
		for n := range 1<<20 - size {
			left := n
			if err := gguf.Encode(b, full{&left}, f, o); !errors.Is(err, errDisk) {
				t.Errorf("%s on a disk of %d bytes: %v", s.name, n, err)
				break
			}
		}
	}
}

// Split files that do not belong together: one missing, two exchanged, one that
// stands there twice, one of another model.
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
			t.Errorf("%s is no name of a split file: %v", name, err)
		}
	}
}

// A changing file is another one after Decode.
type changing struct{ data []byte }

func (r *changing) ReadAt(p []byte, off int64) (int, error) {
	return bytes.NewReader(r.data).ReadAt(p, off)
}

// Whatever a file becomes after Decode, reading on ends in an error of the data
// or in what now stands there.
func TestEachFileOfTheCorpusThatChangesAfterDecode(t *testing.T) {
	for _, s := range samples(t) {
		if len(s.data) > 8<<10 {
			continue
		}
		for _, fill := range [][]byte{{0xff}, {0}, {1, 0, 0, 0}, {9, 0, 0, 0, 0, 0, 0, 0}, {8, 0, 0, 0, 0, 0}, {7}} {
			for cut := range 3 {
				b := s.policy.Budget(t.Context())
				r := &changing{s.data}
				f, err := gguf.Decode(b, r, int64(len(s.data)))
				if err == nil {
					other := bytes.Repeat(fill, len(s.data)/len(fill)+1)[:len(s.data)]
					r.data = other[:len(other)-cut*len(other)/3]
					err = errors.Join(f.Verify(b), read(b, f))
				}
				b.Close()
				if c := wire.ClassOf(err); c == wire.Internal || c == wire.Usage {
					t.Errorf("%s filled with %x: %v", s.name, fill, err)
				}
			}
		}
	}
}

// read asks for all that Decode did not read, and gives the first error.
func read(b *limits.Budget, f *gguf.File) error {
	var errs []error
	for _, v := range f.Meta() {
		if a, ok := v.(gguf.Array); ok {
			errs = append(errs, walked(b, a))
		}
	}
	for _, order := range []tensor.Order{tensor.Little, tensor.Big} {
		errs = append(errs, gguf.Encode(b, io.Discard, f, gguf.Options{Order: order}))
	}
	for _, err := range errs {
		if err != nil && wire.ClassOf(err) != wire.Unsupported {
			return err
		}
	}
	return nil
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

// What a header of a few hundred bytes may cost, whatever it says.
func TestAHostileFileIsChargedLittle(t *testing.T) {
	for _, s := range samples(t) {
		if s.recipe == nil || s.recipe.Expect == "ok" || len(s.data) > 4096 {
			continue
		}
		b := account(t, s.policy)
		if _, err := gguf.Decode(b, bytes.NewReader(s.data), int64(len(s.data))); err == nil {
			continue
		}
		if b.Charged() > 2<<20 {
			t.Errorf("%s: %d bytes charged for %d of file", s.name, b.Charged(), len(s.data))
		}
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
