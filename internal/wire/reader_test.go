package wire_test

import (
	"bytes"
	"errors"
	"io"
	"testing"

	"github.com/anamnesis-go/anamnesis/internal/faulty"
	"github.com/anamnesis-go/anamnesis/internal/wire"
)

// readerFunc is an io.ReaderAt of one function.
type readerFunc func(p []byte, off int64) (int, error)

func (f readerFunc) ReadAt(p []byte, off int64) (int, error) { return f(p, off) }

// behaviours are readers over one file that do what readers should not, or need
// not, do. The ones with an error have it at byte 100.
func behaviours(file []byte) map[string]struct {
	r    io.ReaderAt
	want error
} {
	whole := bytes.NewReader(file)
	upTo := func(n int, err error) io.ReaderAt {
		return readerFunc(func(p []byte, off int64) (int, error) {
			if off >= int64(n) {
				return 0, err
			}
			got := copy(p, file[off:n])
			if got < len(p) {
				return got, err
			}
			return got, nil
		})
	}
	type row = struct {
		r    io.ReaderAt
		want error
	}
	idle := 0
	return map[string]row{
		"a sound one": {whole, nil},
		"one byte at a time": {readerFunc(func(p []byte, off int64) (int, error) {
			return whole.ReadAt(p[:min(1, len(p))], off)
		}), nil},
		"an end of file together with the last byte": {readerFunc(func(p []byte, off int64) (int, error) {
			n, err := whole.ReadAt(p, off)
			if off+int64(n) == int64(len(file)) {
				err = io.EOF
			}
			return n, err
		}), nil},
		"nothing, now and then": {readerFunc(func(p []byte, off int64) (int, error) {
			if idle++; idle%3 != 0 {
				return 0, nil
			}
			return whole.ReadAt(p[:min(7, len(p))], off)
		}), nil},
		"an end too early":            {upTo(100, io.EOF), wire.ErrTruncated},
		"an unexpected end too early": {upTo(100, io.ErrUnexpectedEOF), wire.ErrTruncated},
		"an error of its own":         {upTo(100, faulty.ErrDisk), faulty.ErrDisk},
		"nothing for ever":            {upTo(100, nil), io.ErrNoProgress},
		"more than was asked for": {readerFunc(func(p []byte, off int64) (int, error) {
			if off+int64(len(p)) > 100 {
				return len(p) + 1, nil
			}
			return whole.ReadAt(p, off)
		}), wire.ErrInternal},
		"a negative count": {readerFunc(func([]byte, int64) (int, error) { return -1, nil }), wire.ErrInternal},
	}
}

func TestReadFull(t *testing.T) {
	file := pattern(300)
	for name, c := range behaviours(file) {
		t.Run(name, func(t *testing.T) {
			p := make([]byte, 200)
			err := wire.ReadFull(c.r, p, 50)
			if !errors.Is(err, c.want) {
				t.Fatalf("got %v, want %v", err, c.want)
			}
			if err == nil && !bytes.Equal(p, file[50:250]) {
				t.Error("wrong bytes")
			}
		})
	}
}

// The bytes before a fault are read, and a fault in bytes that were only read ahead is not
// returned.
func TestCursorOverFaultyReaders(t *testing.T) {
	file := pattern(300)
	for name, c := range behaviours(file) {
		t.Run(name, func(t *testing.T) {
			cur := open(t, c.r, int64(len(file)))
			var err error
			for cur.Left() > 0 && err == nil {
				at := cur.Off()
				var v uint16
				if v, err = cur.U16(); err == nil && (byte(v) != file[at] || byte(v>>8) != file[at+1]) {
					t.Fatalf("wrong bytes at %d", at)
				}
			}
			if !errors.Is(err, c.want) {
				t.Fatalf("got %v, want %v", err, c.want)
			}
			if c.want == nil {
				return
			}
			placed, ok := errors.AsType[*wire.Error](err)
			if !ok || placed.Off != cur.Off() || placed.Off > int64(len(file)) {
				t.Errorf("placed at %v, the cursor is at %d", err, cur.Off())
			}
			if c.want != wire.ErrInternal && cur.Off() != 100 {
				t.Errorf("%d bytes were read before the fault", cur.Off())
			}
			if c.want == faulty.ErrDisk && wire.ClassOf(err) != wire.Internal {
				t.Errorf("class %v", wire.ClassOf(err))
			}
		})
	}
}

func TestLongReadsOverFaultyReaders(t *testing.T) {
	file := pattern(2 * wire.Chunk)
	for name, c := range behaviours(file) {
		t.Run(name, func(t *testing.T) {
			cur := open(t, c.r, int64(len(file)))
			p, err := cur.Bytes(uint64(len(file)))
			if !errors.Is(err, c.want) {
				t.Fatalf("got %v, want %v", err, c.want)
			}
			if err != nil && cur.Off() != 0 {
				t.Errorf("moved to %d", cur.Off())
			}
			if err == nil && !bytes.Equal(p, file) {
				t.Error("wrong bytes")
			}
		})
	}
}
