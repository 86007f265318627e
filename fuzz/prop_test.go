package fuzz_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"testing"

	"github.com/anamnesis-go/anamnesis/fuzz"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
)

type reader = func(b *limits.Budget, r io.ReaderAt, size int64) (fuzz.Answer, error)

// toy is a small honest format: a count, that many bytes, nothing after.
func toy(b *limits.Budget, r io.ReaderAt, size int64) (fuzz.Answer, error) {
	c := wire.NewCursor(b, "toy", r, size)
	n, err := c.U8()
	if err != nil {
		return fuzz.Answer{}, err
	}
	p, err := c.Bytes(uint64(n))
	if err != nil {
		return fuzz.Answer{}, err
	}
	if c.Left() > 0 {
		return fuzz.Answer{}, c.Fail("", wire.ErrTrailing)
	}
	return fuzz.Text(string(p)), nil
}

var (
	sink  []byte
	leaks *limits.Budget
	turn  int
)

func TestCheckFindsEachBrokenProperty(t *testing.T) {
	good := []byte("\x03abc")
	fails := func(err error) reader {
		return func(*limits.Budget, io.ReaderAt, int64) (fuzz.Answer, error) { return fuzz.Answer{}, err }
	}
	for _, c := range []struct {
		name   string
		want   fuzz.Property
		target fuzz.Target
	}{
		{"an error without a class", fuzz.Classed, fuzz.Target{Read: fails(&wire.Error{Format: "toy", Err: errors.New("x")})}},
		{"an error without a place", fuzz.Classed, fuzz.Target{Read: fails(wire.ErrRange)}},
		{"an offset past the end", fuzz.Classed, fuzz.Target{Read: fails(&wire.Error{Format: "toy", Off: 5, Err: wire.ErrRange})}},
		{"an allocation that was not charged", fuzz.Bounded, fuzz.Target{Read: func(b *limits.Budget, r io.ReaderAt, size int64) (fuzz.Answer, error) {
			sink = make([]byte, 1<<20)
			return toy(b, r, size)
		}}},
		{"an account charged behind the back", fuzz.Returned, fuzz.Target{Read: func(b *limits.Budget, r io.ReaderAt, size int64) (fuzz.Answer, error) {
			leaks = b.Child(limits.Policy{})
			return toy(b, r, size)
		}}},
		{"an answer that changes", fuzz.Repeatable, fuzz.Target{Read: func(b *limits.Budget, r io.ReaderAt, size int64) (fuzz.Answer, error) {
			turn++
			return fuzz.Text(fmt.Sprint(turn)), nil
		}}},
		{"a reader that is trusted to be full", fuzz.Chunked, fuzz.Target{Read: func(b *limits.Budget, r io.ReaderAt, size int64) (fuzz.Answer, error) {
			p := make([]byte, size)
			n, _ := r.ReadAt(p, 0)
			return fuzz.Text(string(p[:n])), nil
		}}},
		{"a budget that changes the answer", fuzz.Tighter, fuzz.Target{Read: func(b *limits.Budget, r io.ReaderAt, size int64) (fuzz.Answer, error) {
			if b.Alloc(4) != nil {
				return fuzz.Text("cut short"), nil
			}
			return toy(b, r, size)
		}}},
		{"an encoder that loses a byte", fuzz.Rewritten, fuzz.Target{Read: toy, Rewrite: func(*limits.Budget, []byte) ([]byte, error) {
			return []byte("\x02ab"), nil
		}}},
		{"an encoder that fails", fuzz.Rewritten, fuzz.Target{Read: toy, Rewrite: func(*limits.Budget, []byte) ([]byte, error) {
			return nil, io.ErrShortWrite
		}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			found := map[fuzz.Property]bool{}
			for i := range 64 { // a tighter budget is chosen by the bytes
				data := append(bytes.Clone(good), make([]byte, 0, 8)...)
				data[1] = byte(i)
				_, err := c.target.Try(data)
				broken, ok := errors.AsType[*fuzz.Broken](err)
				if ok {
					found[broken.Property] = true
				}
				if leaks != nil {
					leaks.Close()
					leaks = nil
				}
			}
			if !found[c.want] {
				t.Errorf("found %v, want %q", found, c.want)
			}
		})
	}
}

func TestCheckPassesAnHonestReader(t *testing.T) {
	target := fuzz.Target{Read: toy, Rewrite: func(b *limits.Budget, data []byte) ([]byte, error) { return data, nil }}
	for _, data := range []string{"", "\x00", "\x03abc", "\x03ab", "\x00x"} {
		accepted, err := target.Try([]byte(data))
		if err != nil {
			t.Errorf("%q: %v", data, err)
		}
		if want := data == "\x00" || data == "\x03abc"; accepted != want {
			t.Errorf("%q: accepted is %v", data, accepted)
		}
	}
}
