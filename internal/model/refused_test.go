package model

import (
	"bytes"
	"errors"
	"io"
	"testing"

	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// zeros is a large storage of zeros.
type zeros struct{ tensor.Model }

func (zeros) ReadAt(p []byte, _ int64) (int, error) { clear(p); return len(p), nil }
func (zeros) Read(p []byte) (int, error)            { clear(p); return len(p), nil }
func (zeros) Close() error                          { return nil }
func (z zeros) At(tensor.Info) (io.ReaderAt, bool)  { return z, true }
func (z zeros) Body(*limits.Budget, tensor.Info) (io.ReadCloser, error) {
	return z, nil
}

// ordered is a storage that is only read in order.
type ordered struct{ zeros }

func (ordered) At(tensor.Info) (io.ReaderAt, bool) { return nil, false }

// view is a matrix of BF16 that is stored transposed, larger than what is held.
func view() tensor.Info {
	i := tensor.Info{Name: "x", DType: tensor.BF16, Shape: []int64{1 << 16, 1 << 12}, Strides: []int64{1, 1 << 16}}
	i.Span.Len = 1 << 29
	return i
}

func stored(m tensor.Model, i tensor.Info) Source { return &Stored{m, i} }

// ended holds an error to its class.
func ended(t *testing.T, name string, err error, want wire.Class) {
	t.Helper()
	if got := wire.ClassOf(err); err == nil || got != want {
		t.Errorf("%s ends as %v, not as %v: %v", name, got, want, err)
	}
}

// A read that splits an element is an error of the program, whatever is read: it never gives other bytes.
func TestReadsThatSplitAnElement(t *testing.T) {
	b := limits.Policy{}.Budget(t.Context())
	defer b.Close()
	rooms, i := NewRooms[byte](b, Tile), Plain("x", tensor.F32, []int64{4, 4})
	one := stored(zeros{}, i)
	other := NewCast(one, rooms, tensor.BF16, Change{})
	twice := Plain("y", tensor.F32, []int64{8, 4})
	for name, s := range map[string]Source{
		"a cast": other, "a concatenation": NewConcat(twice, one, one), "turns": NewTurns(twice, rooms, 4, one, one),
	} {
		at, _ := s.At()
		for _, read := range [][2]int64{{1, 4}, {0, 1}, {4, 3}} {
			_, err := at.ReadAt(make([]byte, read[1]), read[0])
			ended(t, name, err, wire.Internal)
		}
		if n, err := at.ReadAt(make([]byte, 8), 8); n != 8 || err != nil {
			t.Errorf("%s: %d bytes of whole elements: %v", name, n, err)
		}
	}
	for name, open := range map[string]func() (io.ReadCloser, error){
		"a cast": func() (io.ReadCloser, error) { return other.Body(b) },
		"what is held": func() (io.ReadCloser, error) {
			v := i
			v.Strides = []int64{1, 4}
			return NewStraight(b, zeros{}).Body(b, v)
		},
		"a strip": func() (io.ReadCloser, error) { return NewStraight(b, zeros{}).Body(b, view()) },
	} {
		body, err := open()
		if err != nil {
			t.Fatal(name, err)
		}
		n, err := body.Read(make([]byte, 1))
		ended(t, name, err, wire.Internal)
		if k, err := body.Read(make([]byte, 8)); n != 0 || k != 8 || err != nil {
			t.Errorf("%s: %d and then %d bytes of whole elements: %v", name, n, k, err)
		}
		body.Close()
	}
}

// A view that needs more memory at once than its reader has is an error of the program.
func TestViewsHaveTheMemoryThatTheyNeed(t *testing.T) {
	b := limits.Policy{}.Budget(t.Context())
	defer b.Close()
	m := NewStraight(b, zeros{})
	m.rooms = NewRooms[byte](b, 8)
	at, ok := m.At(view())
	if !ok {
		t.Fatal("not read at offsets")
	}
	_, err := at.ReadAt(make([]byte, 2<<12), 0)
	ended(t, "a small room", err, wire.Internal)
	body, err := m.Body(b, view())
	if err != nil {
		t.Fatal(err)
	}
	defer body.Close()
	body.(*stripBody).scratch = body.(*stripBody).scratch[:1]
	_, err = body.Read(make([]byte, 8))
	ended(t, "a small scratch", err, wire.Internal)
	m = NewStraight(b, zeros{})
	if at, ok = m.At(view()); !ok {
		t.Fatal("not read at offsets")
	}
	if n, err := at.ReadAt(make([]byte, 2<<12), 2<<12); n != 2<<12 || err != nil {
		t.Errorf("%d bytes of a row: %v", n, err)
	}
	_, err = at.ReadAt(make([]byte, 2<<12), 2)
	ended(t, "a part of two rows", err, wire.Unsupported)
	_, err = at.ReadAt(make([]byte, 2), 0)
	ended(t, "a part of a row", err, wire.Unsupported)
}

// A source refuses what it cannot give with a class, before anything is read of it.
func TestSourcesThatAreRefused(t *testing.T) {
	b := limits.Policy{}.Budget(t.Context())
	defer b.Close()
	rooms := NewRooms[byte](b, Tile)
	f32, i32 := Plain("x", tensor.F32, []int64{4}), Plain("x", tensor.I32, []int64{4})
	blocks := tensor.Info{Name: "x", DType: tensor.Q4_0, Shape: []int64{32, 32}, Strides: []int64{1, 32}}
	wide := Plain("x", tensor.F32, []int64{1 << 30})
	for name, c := range map[string]struct {
		do   func() error
		want wire.Class
	}{
		"a cast of integers": {func() error {
			at, _ := NewCast(stored(zeros{}, i32), rooms, tensor.F32, Change{}).At()
			_, err := at.ReadAt(make([]byte, 4), 0)
			return err
		}, wire.Internal},
		"decays that are not negative":  {func() error { _, err := Decays(b, stored(zeros{}, f32), tensor.BF16); return err }, wire.Malformed},
		"decays that are read in order": {func() error { _, err := Decays(b, stored(ordered{}, f32), tensor.BF16); return err }, wire.Unsupported},
		"exact in integers":             {func() error { _, err := Exact(b, stored(zeros{}, f32), tensor.I32); return err }, wire.Internal},
		"numbers of integers":           {func() error { _, err := NewNumbers(zeros{}, i32); return err }, wire.Unsupported},
		"numbers in order":              {func() error { _, err := NewNumbers(ordered{}, f32); return err }, wire.Unsupported},
		"blocks that are transposed":    {func() error { _, _, err := NewStrided(&blocks); return err }, wire.Unsupported},
		"turns of 4 GiB": {func() error {
			_, err := NewTurns(wide, rooms, 1<<30, stored(ordered{}, wide)).Body(b)
			return err
		}, wire.Unsupported},
	} {
		ended(t, name, c.do(), c.want)
	}
}

// A model has each name once, and no tensor that was not added.
func TestModelsHaveEachNameOnce(t *testing.T) {
	b := limits.Policy{}.Budget(t.Context())
	defer b.Close()
	base := &oneTensor{data: make([]byte, 16)}
	m, err := New(b, 2, base)
	if err != nil {
		t.Fatal(err)
	}
	one, other := Plain("a", tensor.F32, []int64{4}), Plain("b", tensor.F32, []int64{4})
	if err := m.Add(b, Same(base, one, "n")); err != nil {
		t.Fatal(err)
	}
	ended(t, "the same tensor again", m.Add(b, Same(base, one, "n")), wire.Malformed)
	ended(t, "another of the name", m.Add(b, Same(base, other, "n")), wire.Malformed)
	body, err := m.Body(b, Plain("n", tensor.F32, []int64{4}))
	if err != nil {
		t.Fatal(err)
	}
	if got, err := io.ReadAll(body); err != nil || !bytes.Equal(got, base.data) {
		t.Errorf("%x: %v", got, err)
	}
	_, err = m.Body(b, one)
	ended(t, "a tensor that was not added", err, wire.Internal)
	if err := m.Note(b, tensor.Finding{}); !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("a finding of a base that takes none: %v", err)
	}
}
