package zip_test

import (
	stdzip "archive/zip"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"runtime"
	"strings"
	"testing"

	"github.com/anamnesis-go/anamnesis/corpus"
	"github.com/anamnesis-go/anamnesis/internal/faulty"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/zip"
	"github.com/google/go-cmp/cmp"
)

// counting notes the spans that are read.
type counting struct {
	io.ReaderAt
	reads []span
}

type span struct{ off, end int64 }

func (c *counting) ReadAt(p []byte, off int64) (int, error) {
	c.reads = append(c.reads, span{off, off + int64(len(p))})
	return c.ReaderAt.ReadAt(p, off)
}

// build writes an archive with the standard library.
func build(t testing.TB, n int, name func(int) string, body []byte, method uint16) []byte {
	t.Helper()
	var out bytes.Buffer
	w := stdzip.NewWriter(&out)
	for i := range n {
		f, err := w.CreateHeader(&stdzip.FileHeader{Name: name(i), Method: method})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := f.Write(body); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func decode(t testing.TB, data []byte, opts zip.Options) (*zip.Archive, error) {
	t.Helper()
	return zip.Decode(account(t, nil), bytes.NewReader(data), int64(len(data)), opts)
}

func numbered(i int) string { return fmt.Sprintf("m/data/%d", i) }

func TestDecodeReadsNoDataAndOncePerMember(t *testing.T) {
	for _, data := range [][]byte{
		build(t, 300, numbered, make([]byte, 10_000), stdzip.Store),
		build(t, 300, numbered, bytes.Repeat([]byte("0123456789abcdef"), 500), stdzip.Deflate),
	} {
		c := &counting{ReaderAt: bytes.NewReader(data)}
		a, err := zip.Decode(account(t, nil), c, int64(len(data)), zip.Options{})
		if err != nil {
			t.Fatal(err)
		}
		// Magic, end records, the directory in pieces, the members, the last descriptor.
		if most := 2 + 2 + 300 + 1; len(c.reads) > most {
			t.Errorf("%d reads, at most %d", len(c.reads), most)
		}
		touched := int64(0)
		for i := range a.Members {
			m := &a.Members[i]
			for _, r := range c.reads {
				touched += max(0, min(r.end, m.DataOff+m.Comp)-max(r.off, m.DataOff))
			}
		}
		if touched > 12*300 {
			t.Errorf("%d bytes of data read", touched)
		}
	}
}

// The cost of decoding depends only on the number of members.
func TestAHundredThousandMembersCostLittle(t *testing.T) {
	const n = 100_000
	data := build(t, n, numbered, nil, stdzip.Store)
	b := account(t, nil)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	a, err := zip.Decode(b, bytes.NewReader(data), int64(len(data)), zip.Options{})
	runtime.ReadMemStats(&after)
	if err != nil {
		t.Fatal(err)
	}
	if len(a.Members) != n {
		t.Fatalf("%d members", len(a.Members))
	}
	charged := b.Charged()
	if per := charged / n; per > 96 {
		t.Errorf("%d bytes charged per member", per)
	}
	if allocated := int64(after.TotalAlloc - before.TotalAlloc); allocated > 2*charged+256<<10 {
		t.Errorf("%d bytes allocated, %d charged", allocated, charged)
	}
}

// Names that differ only in case do not make the search for duplicates slow: it takes the same
// steps as for other names.
func TestNamesThatDifferOnlyInCaseAreAnOption(t *testing.T) {
	const letters = 12
	name := func(i int) string {
		p := []byte(strings.Repeat("a", letters))
		for k := range p {
			p[k] -= byte(i>>k&1) * ('a' - 'A')
		}
		return string(p)
	}
	data := build(t, 1<<letters, name, nil, stdzip.Store)
	a, err := decode(t, data, zip.Options{ExactCase: true})
	if err != nil {
		t.Fatal(err)
	}
	if a.Twin != 1 {
		t.Errorf("twin is member %d", a.Twin)
	}
	if _, err := decode(t, data, zip.Options{}); !errors.Is(err, wire.ErrDuplicate) {
		t.Errorf("without ExactCase: %v", err)
	}
	if a, err := decode(t, build(t, 9, numbered, nil, stdzip.Store), zip.Options{ExactCase: true}); err != nil || a.Twin != -1 {
		t.Errorf("names that differ: %v, %+v", err, a)
	}
}

func TestLongNamesAreComparedInFull(t *testing.T) {
	long := strings.Repeat("x", 1000)
	data := build(t, 3, func(i int) string { return fmt.Sprint(long, i) }, nil, stdzip.Store)
	if _, err := decode(t, data, zip.Options{}); err != nil {
		t.Error(err)
	}
	data = build(t, 2, func(i int) string { return long[:999] + string(rune('X'+i*32)) }, nil, stdzip.Store)
	if _, err := decode(t, data, zip.Options{}); !errors.Is(err, wire.ErrDuplicate) {
		t.Errorf("X and x at the end: %v", err)
	}
}

// plain writes an archive of empty members by hand, without ZIP64 whatever
// their number: Python's zipfile writes 65,535 entries so.
func plain(n int) []byte {
	le := binary.LittleEndian
	var local, central []byte
	for i := range n {
		name := fmt.Sprintf("%06x", i)
		off := len(local)
		local = append(append(append(local, "PK\x03\x04"...), make([]byte, 22)...), 6, 0, 0, 0)
		local = append(local, name...)
		central = append(append(append(central, "PK\x01\x02"...), make([]byte, 24)...), 6, 0)
		central = le.AppendUint32(append(central, make([]byte, 12)...), uint32(off))
		central = append(central, name...)
	}
	end := append([]byte("PK\x05\x06"), 0, 0, 0, 0)
	end = le.AppendUint16(le.AppendUint16(end, uint16(n)), uint16(n))
	end = le.AppendUint32(le.AppendUint32(end, uint32(len(central))), uint32(len(local)))
	return append(append(append(local, central...), end...), 0, 0)
}

func TestTheLargestCountMayBeStatedWithoutZip64(t *testing.T) {
	a, err := decode(t, plain(1<<16-1), zip.Options{})
	if err != nil || len(a.Members) != 1<<16-1 {
		t.Fatal(err)
	}
	if _, err := decode(t, plain(1<<16), zip.Options{}); wire.ClassOf(err) != wire.Malformed {
		t.Errorf("a count that wraps to 0: %v", err)
	}
}

// A directory in another order than the file is unusual, but all readers agree about it.
func TestTheDirectoryMayHaveItsOwnOrder(t *testing.T) {
	data := plain(3)
	at := bytes.Index(data, []byte("PK\x01\x02"))
	first, last := data[at:at+52], data[at+104:at+156]
	swap := append([]byte(nil), first...)
	copy(first, last)
	copy(last, swap)
	a, err := decode(t, data, zip.Options{})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, m := range a.Members {
		got = append(got, fmt.Sprintf("%s at %d", m.Name, m.HeaderOff))
	}
	want := []string{"000002 at 72", "000001 at 36", "000000 at 0"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestAFormatThatStoresRefusesDeflated(t *testing.T) {
	data := build(t, 1, numbered, []byte("x"), stdzip.Deflate)
	_, err := decode(t, data, zip.Options{Format: "pth", StoredOnly: true})
	placed, ok := errors.AsType[*wire.Error](err)
	if !ok || placed.Format != "pth" || wire.ClassOf(err) != wire.Unsupported {
		t.Errorf("%v", err)
	}
}

// A hundred bytes that declare terabytes cost next to nothing.
func TestDeclaredSizesCostNothing(t *testing.T) {
	for _, r := range corpus.Hostile("zip") {
		data := r.Bytes()
		if len(data) > 1000 {
			continue
		}
		b := account(t, r.Policy)
		if a, err := zip.Decode(b, bytes.NewReader(data), int64(len(data)), zip.Options{}); err == nil {
			a.Verify(b)
		}
		if charged := b.Charged(); charged > 256<<10 {
			t.Errorf("%s: %d bytes charged", r.Name, charged)
		}
	}
}

// An error of the reader is returned unchanged; a file shorter than its stated size is truncated.
func TestErrorsOfTheReaderKeepTheirClass(t *testing.T) {
	data := build(t, 3, numbered, []byte("some data"), stdzip.Deflate)
	for n := range data {
		_, err := zip.Decode(account(t, nil), faulty.Reader{Data: data, From: int64(n)}, int64(len(data)), zip.Options{})
		if err != nil && (!errors.Is(err, faulty.ErrDisk) || wire.ClassOf(err) != wire.Internal) {
			t.Errorf("disk error after %d bytes: %v", n, err)
		}
		_, err = zip.Decode(account(t, nil), bytes.NewReader(data[:n]), int64(len(data)), zip.Options{})
		if wire.ClassOf(err) != wire.Truncated {
			t.Errorf("%d bytes of %d: %v", n, len(data), err)
		}
	}
}

func TestACancelledOperationStops(t *testing.T) {
	b := limits.Policy{}.Budget(t.Context())
	b.Close()
	data := build(t, 3, numbered, nil, stdzip.Store)
	if _, err := zip.Decode(b, bytes.NewReader(data), int64(len(data)), zip.Options{}); !errors.Is(err, limits.ErrClosed) {
		t.Errorf("closed account: %v", err)
	}
}

// Each charge of Decode that does not fit ends it with class limit.
func TestEachChargeCanBeTheLast(t *testing.T) {
	reversed := plain(40)
	at := bytes.Index(reversed, []byte("PK\x01\x02"))
	a, z := reversed[at:at+52], reversed[at+52:at+104]
	swap := append([]byte(nil), a...)
	copy(a, z)
	copy(z, swap)
	for _, data := range [][]byte{build(t, 40, numbered, []byte("body"), stdzip.Deflate), reversed} {
		for _, axis := range []string{"max_total_bytes", "max_items", "max_steps", "max_single_alloc"} {
			for n, accepted := 1, false; !accepted; n += 1 + n/16 {
				b := account(t, fmt.Appendf(nil, `{%q: %d}`, axis, n))
				_, err := zip.Decode(b, bytes.NewReader(data), int64(len(data)), zip.Options{ExactCase: true})
				if accepted = err == nil; !accepted && wire.ClassOf(err) != wire.Limit {
					t.Fatalf("%s %d: %v", axis, n, err)
				}
			}
		}
	}
}
