package wire_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/limits/limitstest"
	"github.com/google/go-cmp/cmp"
)

func open(t *testing.T, r io.ReaderAt, size int64) wire.Cursor {
	t.Helper()
	return wire.NewCursor(limitstest.Open(t, limits.Policy{}), "test", r, size)
}

func over(t *testing.T, file []byte) wire.Cursor {
	return open(t, bytes.NewReader(file), int64(len(file)))
}

// pattern returns n bytes, each of which depends on its position.
func pattern(n int) []byte {
	p := make([]byte, n)
	for i := range p {
		p[i] = byte(i ^ i>>8 ^ i>>16)
	}
	return p
}

// fails asserts the cause, the class and the offset of a refusal.
func fails(t *testing.T, err error, cause error, off int64) {
	t.Helper()
	placed, ok := errors.AsType[*wire.Error](err)
	if !ok || !errors.Is(err, cause) {
		t.Fatalf("got %v, want %v", err, cause)
	}
	if placed.Off != off || placed.Format != "test" {
		t.Errorf("%v: at %#x, want %#x", err, placed.Off, off)
	}
}

func TestNumbersInBothOrders(t *testing.T) {
	file := []byte{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15}
	for _, order := range []binary.ByteOrder{binary.LittleEndian, binary.BigEndian} {
		c := over(t, file)
		c.Order = order
		a, e1 := c.U8()
		b, e2 := c.U16()
		d, e3 := c.U32()
		e, e4 := c.U64()
		if err := errors.Join(e1, e2, e3, e4); err != nil {
			t.Fatal(err)
		}
		if a != 1 || b != order.Uint16(file[1:]) || d != order.Uint32(file[3:]) || e != order.Uint64(file[7:]) {
			t.Errorf("%v: %x %x %x %x", order, a, b, d, e)
		}
		if c.Left() != 0 || c.Off() != 15 {
			t.Errorf("at %d, %d left", c.Off(), c.Left())
		}
	}
}

// A method that fails leaves the cursor where it was, and says where that is.
func TestRefusalsLeaveTheCursorInPlace(t *testing.T) {
	for _, c := range []struct {
		name string
		read func(c *wire.Cursor) error
		left int // bytes left when it is tried
	}{
		{"U8", func(c *wire.Cursor) error { _, err := c.U8(); return err }, 0},
		{"U16", func(c *wire.Cursor) error { _, err := c.U16(); return err }, 1},
		{"U32", func(c *wire.Cursor) error { _, err := c.U32(); return err }, 3},
		{"U64", func(c *wire.Cursor) error { _, err := c.U64(); return err }, 7},
		{"View", func(c *wire.Cursor) error { _, err := c.View(6); return err }, 5},
		{"Skip", func(c *wire.Cursor) error { return c.Skip(6) }, 5},
		{"Skip of a number past int64", func(c *wire.Cursor) error { return c.Skip(1 << 63) }, 5},
		{"Sub", func(c *wire.Cursor) error { _, err := c.Sub(6); return err }, 5},
		{"Sub of a number past int64", func(c *wire.Cursor) error { _, err := c.Sub(1<<64 - 1); return err }, 5},
		{"Bytes", func(c *wire.Cursor) error { _, err := c.Bytes(6); return err }, 5},
		{"Bytes of a number past int64", func(c *wire.Cursor) error { _, err := c.Bytes(1<<64 - 1); return err }, 5},
		{"String", func(c *wire.Cursor) error { _, err := c.String(6); return err }, 5},
		{"String of a number past int64", func(c *wire.Cursor) error { _, err := c.String(1<<64 - 1); return err }, 5},
		{"MoveTo past the end", func(c *wire.Cursor) error { return c.MoveTo(101) }, 5},
		{"MoveTo before the start", func(c *wire.Cursor) error { return c.MoveTo(-1) }, 5},
	} {
		t.Run(c.name, func(t *testing.T) {
			at := int64(100 - c.left)
			whole := over(t, pattern(100))
			if err := whole.Skip(uint64(at)); err != nil {
				t.Fatal(err)
			}
			fails(t, c.read(&whole), wire.ErrTruncated, at)
			if whole.Off() != at {
				t.Errorf("moved to %d", whole.Off())
			}

			// The same bytes as a child of a longer file: the file's own length
			// is wrong, and no longer file would mend it.
			longer := over(t, pattern(300))
			child, err := longer.Sub(100)
			if err != nil {
				t.Fatal(err)
			}
			if err := child.Skip(uint64(at)); err != nil {
				t.Fatal(err)
			}
			fails(t, c.read(&child), wire.ErrRange, at)
			if child.Off() != at || longer.Off() != 100 {
				t.Errorf("child at %d, parent at %d", child.Off(), longer.Off())
			}
		})
	}
}

func TestAChildSeesItsOwnBytesOnly(t *testing.T) {
	file := pattern(1000)
	c := over(t, file)
	if err := c.Skip(10); err != nil {
		t.Fatal(err)
	}
	child, err := c.Sub(20)
	if err != nil {
		t.Fatal(err)
	}
	grandchild, err := child.Sub(5)
	if err != nil {
		t.Fatal(err)
	}
	got, err := grandchild.Bytes(5)
	if err != nil {
		t.Fatal(err)
	}
	rest, err := child.String(15)
	if err != nil {
		t.Fatal(err)
	}
	next, err := c.View(4)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(file[10:15], got) + cmp.Diff(string(file[15:30]), rest) + cmp.Diff(file[30:34], next); d != "" {
		t.Error(d)
	}
	_, err = grandchild.U8()
	fails(t, err, wire.ErrRange, 15)
	empty, err := c.Sub(0)
	if err != nil || empty.Left() != 0 {
		t.Errorf("an empty child: %v", err)
	}
}

// Reads of all sizes, forward and back, around the edges of the window.
func TestWindowsShowTheFile(t *testing.T) {
	file := pattern(3*wire.Chunk + 17)
	for _, step := range []int{1, 3, 4095, 4096, 4097, wire.Chunk - 1, wire.Chunk} {
		c := over(t, file)
		for c.Left() > 0 {
			n := int(min(int64(step), c.Left()))
			at := c.Off()
			got, err := c.View(n)
			if err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(file[at:at+int64(n)], got) {
				t.Fatalf("step %d: wrong bytes at %#x", step, at)
			}
			if err := c.Skip(uint64(n)); err != nil {
				t.Fatal(err)
			}
		}
		for _, at := range []int64{100, 3 * wire.Chunk, 0, wire.Chunk - 1, int64(len(file))} {
			if err := c.MoveTo(at); err != nil {
				t.Fatal(err)
			}
			got, err := c.View(int(min(2, c.Left())))
			if err != nil || !bytes.HasPrefix(file[at:], got) {
				t.Fatalf("wrong bytes at %#x: %v", at, err)
			}
		}
	}
}

func TestLongBytesAndStrings(t *testing.T) {
	file := pattern(3 * wire.Chunk)
	for _, n := range []uint64{0, 1, wire.Chunk - 1, wire.Chunk, wire.Chunk + 1, 2*wire.Chunk + 5} {
		c := over(t, file)
		if err := c.Skip(7); err != nil {
			t.Fatal(err)
		}
		p, err := c.Bytes(n)
		if err != nil || !bytes.Equal(p, file[7:7+n]) || c.Off() != int64(7+n) {
			t.Errorf("Bytes(%d): %d bytes, at %d, %v", n, len(p), c.Off(), err)
		}
		if err := c.MoveTo(7); err != nil {
			t.Fatal(err)
		}
		s, err := c.String(n)
		if err != nil || s != string(file[7:7+n]) || c.Off() != int64(7+n) {
			t.Errorf("String(%d): %d bytes, at %d, %v", n, len(s), c.Off(), err)
		}
	}
}

// Sequential reading asks the reader once per Chunk, and a small file is not
// charged a large window.
func TestReadsAndChargesAreFew(t *testing.T) {
	for _, c := range []struct{ size, reads, charge int64 }{
		{100, 1, 100},
		{10_000, 2, 4096 + 10_000},
		{1 << 20, 17, 4096 + wire.Chunk},
	} {
		r := &counter{r: bytes.NewReader(pattern(int(c.size)))}
		b := limitstest.Open(t, limits.Policy{})
		cur := wire.NewCursor(b, "test", r, c.size)
		for cur.Left() > 0 {
			if _, err := cur.U8(); err != nil {
				t.Fatal(err)
			}
		}
		if r.reads > c.reads || limitstest.Used(b, limits.Total) > c.charge {
			t.Errorf("%d bytes: %d reads, %d bytes charged", c.size, r.reads, limitstest.Used(b, limits.Total))
		}
	}
}

type counter struct {
	r     io.ReaderAt
	reads int64
}

func (c *counter) ReadAt(p []byte, off int64) (int, error) {
	c.reads++
	return c.r.ReadAt(p, off)
}

func TestChargesComeBeforeBuffers(t *testing.T) {
	const size = 1 << 40 // a file that is long, and costs nothing to have
	for _, c := range []struct {
		name string
		read func(c *wire.Cursor) error
		want limits.Error
	}{
		{"a buffer past one buffer's ceiling", func(c *wire.Cursor) error { _, err := c.Bytes(1 << 39); return err },
			limits.Error{Axis: limits.SingleAlloc, Want: 1 << 39, Left: 1 << 20}},
		{"a text past one buffer's ceiling", func(c *wire.Cursor) error { _, err := c.String(1 << 39); return err },
			limits.Error{Axis: limits.SingleAlloc, Want: 1 << 39, Left: 1 << 20}},
		{"a text past the total", func(c *wire.Cursor) error { _, err := c.String(100_000); return err },
			limits.Error{Axis: limits.Total, Want: 100_000, Left: 90_000}},
		{"a window past the total", func(c *wire.Cursor) error {
			for range 2 {
				if _, err := c.Bytes(1); err != nil {
					return err
				}
				if _, err := c.Bytes(90_000); err != nil {
					return err
				}
			}
			return nil
		}, limits.Error{Axis: limits.Total, Want: 90_000, Left: 90_000 - 1}},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := limitstest.Open(t, limits.Policy{MaxSingleAlloc: 1 << 20, MaxTotalBytes: 190_000})
			cur := wire.NewCursor(b, "test", zeros{}, size)
			err := c.read(&cur)
			if wire.ClassOf(err) != wire.Limit {
				t.Fatalf("got %v", err)
			}
			got, _ := errors.AsType[*limits.Error](err)
			if got.Axis != c.want.Axis || got.Want != c.want.Want {
				t.Errorf("got %v, want %v", got, &c.want)
			}
		})
	}
}

type zeros struct{}

func (zeros) ReadAt(p []byte, _ int64) (int, error) {
	clear(p)
	return len(p), nil
}

func TestANegativeSizeIsAnEmptyFile(t *testing.T) {
	c := open(t, zeros{}, -1)
	_, err := c.U8()
	fails(t, err, wire.ErrTruncated, 0)
	_, err = c.Sub(1)
	fails(t, err, wire.ErrTruncated, 0)
}

func TestFailAtAndWhere(t *testing.T) {
	c := over(t, pattern(10))
	if err := c.Skip(3); err != nil {
		t.Fatal(err)
	}
	fails(t, c.Fail("here", wire.ErrSyntax), wire.ErrSyntax, 3)
	err := c.FailAt("there", 8, wire.ErrSyntax)
	fails(t, err, wire.ErrSyntax, 8)
	if !strings.Contains(err.Error(), "test: there at 0x8: ") {
		t.Error(err)
	}
}
