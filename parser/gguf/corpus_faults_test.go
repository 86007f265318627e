package gguf_test

import (
	"bytes"
	"errors"
	"io"
	"testing"

	"github.com/anamnesis-go/anamnesis/internal/effort"
	"github.com/anamnesis-go/anamnesis/internal/faulty"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/gguf"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// A lower ceiling on any axis gives the same result or class limit. The sweep lowers each ceiling
// to zero, so that it ends at every charge.
func TestEachFileOfTheCorpusUnderLowerAndLowerCeilings(t *testing.T) {
	for _, s := range samples(t) {
		if len(s.data) > 256<<10 {
			continue
		}
		b := s.policy.Budget(t.Context())
		want := wire.ClassOf(used(b, s.data))
		usage := b.Usage()
		b.Close()
		parts := int64(effort.Of(8, 24))
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

// A reader that fails at any call ends in its own error or in truncated, never in a verdict about
// bytes that were not read.
func TestEachFileOfTheCorpusThroughReadersThatFail(t *testing.T) {
	for _, s := range samples(t) {
		if len(s.data) > 32<<10 {
			continue
		}
		b := account(t, s.policy)
		if used(b, s.data) != nil {
			continue
		}
		for _, broken := range []error{faulty.ErrDisk, io.EOF} {
			for after := range 64 {
				b := s.policy.Budget(t.Context())
				r := &failing{s.data, after, broken}
				err := usedFrom(b, r, int64(len(s.data)))
				b.Close()
				if r.after >= 0 && err == nil {
					break // no call was left to fail
				}
				switch {
				case broken == faulty.ErrDisk && errors.Is(err, faulty.ErrDisk):
				case broken == io.EOF && wire.ClassOf(err) == wire.Truncated:
				default:
					t.Errorf("%s, %v after %d reads: %v", s.name, broken, after, err)
				}
			}
		}
	}
}

// A disk that is full after any number of bytes ends writing with its own error.
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
		large := faulty.Disk{Left: 1 << 20}
		if err := gguf.Encode(b, &large, f, o); err != nil {
			t.Fatal(err)
		}
		for n := range 1<<20 - large.Left {
			if err := gguf.Encode(b, &faulty.Disk{Left: n}, f, o); !errors.Is(err, faulty.ErrDisk) {
				t.Errorf("%s on a disk of %d bytes: %v", s.name, n, err)
				break
			}
		}
	}
}

// A changing file has other content after Decode.
type changing struct{ data []byte }

func (r *changing) ReadAt(p []byte, off int64) (int, error) {
	return bytes.NewReader(r.data).ReadAt(p, off)
}

// If a file changes after Decode, reading continues with the new bytes or ends in an error of the
// data.
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

// The most that a header of a few hundred bytes may cost.
func TestAHostileHeaderCostsLittle(t *testing.T) {
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
