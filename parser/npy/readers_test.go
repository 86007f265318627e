package npy_test

import (
	"bytes"
	"errors"
	"io"
	"os"
	"strings"
	"testing"

	"github.com/anamnesis-go/anamnesis/internal/faulty"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/parser/npy"
)

// The first piece that is read holds most headers whole.
func TestAHeaderCostsOneReadOrTwo(t *testing.T) {
	for name, most := range map[string]int64{"f4-le.npy": 1, "struct.npy": 2, "long-header.npy": 2} {
		raw, err := os.ReadFile("../../corpus/valid/npy/" + name)
		if err != nil {
			t.Fatal(err)
		}
		c := &faulty.Counter{ReaderAt: bytes.NewReader(raw)}
		if _, err := npy.Decode(account(t, nil), c, int64(len(raw))); err != nil || c.Reads > most {
			t.Errorf("%s: %d reads, %v", name, c.Reads, err)
		}
	}
}

// A reader that never gives a byte, fails, or gives less than the size says.
func TestErrorsOfTheReaderKeepTheirClass(t *testing.T) {
	raw := array(1, header("'<f4'", "(2,)")+strings.Repeat(" ", 200), 8)
	for n := range raw[:len(raw)-8] {
		_, err := npy.Decode(account(t, nil), faulty.Reader{Data: raw, From: int64(n)}, int64(len(raw)))
		if !errors.Is(err, faulty.ErrDisk) || wire.ClassOf(err) != wire.Internal {
			t.Errorf("disk error after %d bytes: %v", n, err)
		}
		if _, err := npy.Decode(account(t, nil), bytes.NewReader(raw[:n]), int64(len(raw))); wire.ClassOf(err) != wire.Truncated {
			t.Errorf("%d bytes of %d: %v", n, len(raw), err)
		}
	}
	if _, err := npy.Decode(account(t, nil), stuck{}, 100); !errors.Is(err, io.ErrNoProgress) {
		t.Errorf("a reader that never gives a byte: %v", err)
	}
}

type stuck struct{}

func (stuck) ReadAt([]byte, int64) (int, error) { return 0, nil }

// The header reader takes any reader: one that ends early, one that idles, one
// that gives a byte at a time.
func TestTheHeaderReaderTakesAnyReader(t *testing.T) {
	raw := array(1, header("'<f4'", "(2,)")+strings.Repeat(" ", 200), 8)
	fail := func(off int64, cause error) error { return wire.At("test", "", off, cause) }
	r := npy.NewReader(account(t, nil), wire.ErrRange, fail)
	for range 3 { // one Reader, many headers
		h, err := r.Read(bytes.NewReader(raw), int64(len(raw)))
		if err != nil || h.Bytes != 8 {
			t.Errorf("%+v, %v", h, err)
		}
		if _, err := r.Read(bytes.NewReader(nil), 0); !errors.Is(err, wire.ErrRange) {
			t.Errorf("no bytes, after a good header: %v", err)
		}
	}
	if _, err := r.Read(bytes.NewReader(raw[:100]), int64(len(raw))); !errors.Is(err, wire.ErrTruncated) {
		t.Errorf("a reader that ends early: %v", err)
	}
	if _, err := r.Read(idle{}, 100); !errors.Is(err, io.ErrNoProgress) {
		t.Errorf("an idle reader: %v", err)
	}
	if h, err := r.Read(&drip{raw}, int64(len(raw))); err != nil || h.Bytes != 8 {
		t.Errorf("a byte at a time: %+v, %v", h, err)
	}
	if _, err := r.Read(&drip{raw[:11]}, 12); !errors.Is(err, wire.ErrRange) {
		t.Errorf("a header longer than its array: %v", err)
	}
	short := append([]byte("\x93NUMPY\x02\x00"), 0, 0)
	if _, err := r.Read(bytes.NewReader(short), 10); !errors.Is(err, wire.ErrRange) {
		t.Errorf("version 2 in ten bytes: %v", err)
	}
	if _, err := r.Read(&drip{short}, 20); !errors.Is(err, wire.ErrTruncated) {
		t.Errorf("version 2 of which ten bytes come: %v", err)
	}
}

type idle struct{}

func (idle) Read([]byte) (int, error) { return 0, nil }

type drip struct{ p []byte }

func (d *drip) Read(p []byte) (int, error) {
	if len(d.p) == 0 {
		return 0, io.EOF
	}
	p[0], d.p = d.p[0], d.p[1:]
	return 1, nil
}
