package wire_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"math/big"
	"math/rand/v2"
	"testing"

	"github.com/anamnesis-go/anamnesis/internal/faulty"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/limits/limitstest"
)

// dimensions are those at which a product begins to pass a bound, and those near zero.
var dimensions = []int64{0, 1, 2, 3, 1<<31 - 1, 1 << 31, 1 << 32, 1 << 62, math.MaxInt64, -1, math.MinInt64}

// Product is the product of whole numbers, for each list of up to four of the dimensions.
func TestProductsAreThoseOfWholeNumbers(t *testing.T) {
	lists := [][]int64{nil}
	for from := 0; len(lists[from]) < 4; from++ {
		for _, d := range dimensions {
			lists = append(lists, append(lists[from][:len(lists[from]):len(lists[from])], d))
		}
	}
	largest := big.NewInt(math.MaxInt64)
	for _, dims := range lists {
		want, negative := big.NewInt(1), false
		for _, d := range dims {
			want.Mul(want, big.NewInt(d))
			negative = negative || d < 0
		}
		fits := !negative && want.Cmp(largest) <= 0
		if got, ok := wire.Product(dims); ok != fits || ok && got != want.Uint64() || negative && got != 0 {
			t.Fatalf("%v: %d, %t; want %v, %t", dims, got, ok, want, fits)
		}
	}
}

// A sum of counts is the sum, or the largest number if it passes it.
func TestSumsOfCountsStopAtTheLargestNumber(t *testing.T) {
	for _, a := range dimensions[:9] {
		for _, b := range dimensions[:9] {
			want := new(big.Int).Add(big.NewInt(a), big.NewInt(b))
			if !want.IsInt64() {
				want.SetInt64(math.MaxInt64)
			}
			if got := wire.AddCap(a, b); got != want.Int64() {
				t.Errorf("%d+%d is %d, not %v", a, b, got, want)
			}
		}
	}
}

// A cursor that moves and reads in any order sees the bytes of the file, whatever of them is in
// memory, and never reads past the size that it was given.
func TestACursorSeesTheFileInAnyOrder(t *testing.T) {
	file := pattern(3*wire.Chunk + 17)
	places := []int{0, 1, 2, 4095, 4096, 4097, wire.Chunk - 1, wire.Chunk, wire.Chunk + 1, 2 * wire.Chunk, 3 * wire.Chunk, len(file) - 9, len(file) - 8, len(file) - 4, len(file) - 2, len(file) - 1, len(file)}
	lengths := []int{0, 1, 2, 4, 8, 4095, 4096, 4097, wire.Chunk - 1, wire.Chunk}
	random := rand.New(rand.NewPCG(1, 2))
	for range 40 {
		c := open(t, readerFunc(func(p []byte, off int64) (int, error) {
			if off < 0 || off+int64(len(p)) > int64(len(file)) {
				t.Fatalf("%d bytes at %d", len(p), off)
			}
			return copy(p, file[off:]), nil
		}), int64(len(file)))
		for range 60 {
			at, n := places[random.IntN(len(places))], lengths[random.IntN(len(lengths))]
			if err := c.MoveTo(int64(at)); err != nil {
				t.Fatal(err)
			}
			fits := at+n <= len(file)
			p, err := c.View(n)
			if (err == nil) != fits || fits && !bytes.Equal(p, file[at:at+n]) {
				t.Fatalf("View of %d at %d: %d bytes, %v", n, at, len(p), err)
			}
			w, err := c.Window(n)
			if (err == nil) != fits || fits && (len(w) < n || !bytes.Equal(w, file[at:at+len(w)])) {
				t.Fatalf("Window of %d at %d: %d bytes, %v", n, at, len(w), err)
			}
			number(t, &c, file, at)
		}
	}
}

// number reads a number of each width at an offset, and is back there.
func number(t *testing.T, c *wire.Cursor, file []byte, at int) {
	t.Helper()
	for width, read := range map[int]func() (uint64, error){
		1: func() (uint64, error) { n, err := c.U8(); return uint64(n), err },
		2: func() (uint64, error) { n, err := c.U16(); return uint64(n), err },
		4: func() (uint64, error) { n, err := c.U32(); return uint64(n), err },
		8: c.U64,
	} {
		got, err := read()
		if at+width > len(file) {
			if !errors.Is(err, wire.ErrTruncated) || c.Off() != int64(at) {
				t.Fatalf("%d bytes at %d: %v, at %d", width, at, err, c.Off())
			}
			continue
		}
		want := uint64(0)
		for i := range width {
			want |= uint64(file[at+i]) << (8 * i)
		}
		if err != nil || got != want || c.Off() != int64(at+width) {
			t.Fatalf("%d bytes at %d: %x, not %x; %v", width, at, got, want, err)
		}
		if err := c.MoveTo(int64(at)); err != nil {
			t.Fatal(err)
		}
	}
}

// The first window is small unless more is asked for; bytes that are in memory are not read
// again, those at the place of the window included; a buffer as long as a window is a copy of
// it, and a longer one is read at once.
func TestWhatIsInMemoryIsReadAndPaidOnce(t *testing.T) {
	const first, size = 4 << 10, 4 * wire.Chunk
	for n, held := range map[int]int64{0: 0, 1: first, first - 1: first, first: first, first + 1: wire.Chunk, wire.Chunk: wire.Chunk} {
		r := &counter{r: bytes.NewReader(pattern(size))}
		b := limitstest.Open(t, limits.Policy{})
		c := wire.NewCursor(b, "test", r, size)
		for range 3 {
			if _, err := c.View(n); err != nil {
				t.Fatal(err)
			}
		}
		if used := limitstest.Used(b, limits.Total); used != held || r.reads != min(held, 1) {
			t.Errorf("View(%d): %d bytes held, not %d; %d reads", n, used, held, r.reads)
		}
	}
	for n, held := range map[uint64]int64{wire.Chunk: 2 * wire.Chunk, wire.Chunk + 1: wire.Chunk + 1} {
		b := limitstest.Open(t, limits.Policy{})
		c := wire.NewCursor(b, "test", bytes.NewReader(pattern(size)), size)
		if _, err := c.Bytes(n); err != nil || limitstest.Used(b, limits.Total) != held {
			t.Errorf("Bytes(%d): %d bytes held, not %d; %v", n, limitstest.Used(b, limits.Total), held, err)
		}
	}
}

// A read that fails leaves nothing of its bytes in the window: what is read next is the file.
func TestAFailedReadLeavesNoBytesBehind(t *testing.T) {
	file := pattern(2 * wire.Chunk)
	broken := true
	c := open(t, readerFunc(func(p []byte, off int64) (int, error) {
		n := copy(p, file[off:])
		if broken && off > 0 {
			return min(n, 50), faulty.ErrDisk
		}
		return n, nil
	}), int64(len(file)))
	see := func(at int64, n int, fails bool) {
		t.Helper()
		if err := c.MoveTo(at); err != nil {
			t.Fatal(err)
		}
		p, err := c.View(n)
		if (err != nil) != fails || err == nil && !bytes.Equal(p, file[at:at+int64(n)]) {
			t.Errorf("%d bytes at %d: %v", n, at, err)
		}
	}
	const far = wire.Chunk + 5000
	see(0, 100, false)
	for range 2 { // the second time into the buffer that has the window
		see(far, 51, true) // one byte more than there is
		see(0, 100, false)
		see(20_000, 100, false) // not the bytes behind it
	}
	see(far, 50, false) // those that there are, although what was read ahead of them failed
	broken = false
	see(far, 51, false)
}

// A reader that gives nothing is asked a hundred times, and anew after each byte.
func TestPatienceWithAReader(t *testing.T) {
	for _, idle := range []int{0, 1, 99, 100} {
		calls := 0
		err := wire.ReadFull(readerFunc(func(p []byte, off int64) (int, error) {
			if calls++; calls%(idle+1) != 0 {
				return 0, nil
			}
			p[0] = byte(off)
			return 1, nil
		}), make([]byte, 3), 7)
		if idle < 100 && (err != nil || calls != 3*(idle+1)) || idle == 100 && (!errors.Is(err, io.ErrNoProgress) || calls != 100) {
			t.Errorf("%d times nothing before each byte: %v after %d calls", idle, err, calls)
		}
	}
	none := readerFunc(func([]byte, int64) (int, error) { t.Error("asked for nothing"); return 0, faulty.ErrDisk })
	if err := wire.ReadFull(none, nil, 7); err != nil {
		t.Error(err)
	}
}

// A reader that says more than it was asked for is not believed, after some bytes as before.
func TestCountsThatAReaderCannotHaveAreInternal(t *testing.T) {
	for _, more := range []int{1, 2, 10} {
		calls := 0
		err := wire.ReadFull(readerFunc(func(p []byte, _ int64) (int, error) {
			if calls++; calls == 1 {
				return 2, nil
			}
			return len(p) + more, nil
		}), make([]byte, 10), 0)
		if !errors.Is(err, wire.ErrInternal) || calls != 2 {
			t.Errorf("%d bytes too many: %v after %d calls", more, err, calls)
		}
	}
}

// A set that is as full as it becomes ends its search, whatever its seed, and finds what it has.
func TestAFullNameSetEndsItsSearch(t *testing.T) {
	for range 2000 {
		b := limits.Policy{}.Budget(t.Context())
		set, err := wire.NewNameSet(b, 0, func(i int) string { return fmt.Sprint(i) })
		if err != nil {
			t.Fatal(err)
		}
		for i := range 8 { // of 16 slots
			if at, added, err := set.Add(i); err != nil || !added || at != i {
				t.Fatal(i, at, added, err)
			}
		}
		if used := limitstest.Used(b, limits.Total); used != 64 {
			t.Fatalf("%d bytes for 8 names", used)
		}
		if i, ok := set.Find("8"); ok || i != 0 {
			t.Fatal("found what was never added", i)
		}
		for want := range 8 {
			if i, ok := set.Find(fmt.Sprint(want)); !ok || i != want {
				t.Fatal(want, i, ok)
			}
		}
		b.Close()
	}
}

// A set for a known count has slots of four bytes, as many as the power of two that is at least
// twice the count.
func TestANameSetIsMadeForItsHint(t *testing.T) {
	for hint, slots := range map[int]int64{-1: 16, 0: 16, 7: 16, 8: 16, 9: 32, 16: 32, 17: 64, 1 << 20: 1 << 21, 1<<20 + 1: 1 << 21} {
		b := limitstest.Open(t, limits.Policy{})
		if _, err := wire.NewNameSet(b, hint, nil); err != nil || limitstest.Used(b, limits.Total) != 4*slots {
			t.Errorf("for %d names: %d bytes, not %d slots; %v", hint, limitstest.Used(b, limits.Total), slots, err)
		}
	}
	b := limitstest.Open(t, limits.Policy{MaxTotalBytes: 63})
	if set, err := wire.NewNameSet(b, 0, nil); set != nil || !errors.Is(err, limits.ErrLimit) {
		t.Errorf("%v, %v", set, err)
	}
}

// The class of a policy that cannot be is that of a wrong use, and the rule of an error is that
// of its innermost cause that has one.
func TestClassAndRuleOfAnError(t *testing.T) {
	if got := wire.ClassOf(fmt.Errorf("x: %w", limits.ErrPolicy)); got != wire.Usage {
		t.Errorf("a policy that cannot be is %v", got)
	}
	named := wire.ErrGap.WithRule("zip.prefix")
	for want, err := range map[string]error{
		"zip.prefix": wire.At("zip", "", 3, named.Errorf("x")), "npy.x": wire.ErrGap.WithRule("a.b").WithRule("npy.x"),
	} {
		if got := wire.RuleOf(err); got != want {
			t.Errorf("%v: rule %q, not %q", err, got, want)
		}
	}
	for _, err := range []error{nil, faulty.ErrDisk, wire.ErrGap, wire.At("zip", "", 3, wire.ErrGap.Errorf("x")), &limits.Error{}} {
		if got := wire.RuleOf(err); got != "" {
			t.Errorf("%v: rule %q", err, got)
		}
	}
}

// A string that does not fit the account is not read, short or long.
func TestStringsThatDoNotFitAreLimits(t *testing.T) {
	for _, n := range []uint64{100, wire.Chunk, wire.Chunk + 1} {
		for extra := range int64(2) {
			b := limitstest.Open(t, limits.Policy{MaxTotalBytes: wire.Chunk + 2*int64(n) - 1 + extra})
			c := wire.NewCursor(b, "test", zeros{}, 1<<20)
			if _, err := c.View(wire.Chunk); err != nil {
				t.Fatal(err)
			}
			if err := b.Alloc(int64(n)); err != nil {
				t.Fatal(err)
			}
			_, err := c.String(n)
			if short := n <= wire.Chunk; short && (err == nil) != (extra == 1) || !short && err == nil || err != nil && (!errors.Is(err, limits.ErrLimit) || c.Off() != 0) {
				t.Errorf("%d bytes, %d to spare: %v, at %d", n, extra-1, err, c.Off())
			}
		}
	}
}

// A buffer is filled piece by piece: the account is asked before each, and an error of a reader ends
// it. Nothing is asked for an empty one.
func TestPiecesAreReadInOrder(t *testing.T) {
	const piece = 64 << 10
	file := pattern(3*piece + 10)
	for _, n := range []int{0, 1, piece - 1, piece, piece + 1, 2*piece + 9} {
		r := &counter{r: bytes.NewReader(file)}
		p := make([]byte, n)
		if err := wire.ReadInPieces(limitstest.Open(t, limits.Policy{}), r, p, 7); err != nil || !bytes.Equal(p, file[7:7+n]) || r.reads != int64((n+piece-1)/piece) {
			t.Errorf("%d bytes: %d reads, %v", n, r.reads, err)
		}
		for at := 0; at < n; at += piece {
			failing := readerFunc(func(p []byte, off int64) (int, error) {
				if off >= int64(7+at) {
					return 0, faulty.ErrDisk
				}
				return copy(p, file[off:]), nil
			})
			if err := wire.ReadInPieces(limitstest.Open(t, limits.Policy{}), failing, p, 7); !errors.Is(err, faulty.ErrDisk) {
				t.Errorf("%d bytes fail at %d: %v", n, at, err)
			}
		}
		closed := limits.Policy{}.Budget(t.Context())
		closed.Close()
		r.reads = 0
		if err := wire.ReadInPieces(closed, r, p, 7); (err != nil) != (n > 0) || r.reads != 0 {
			t.Errorf("%d bytes of an account that is closed: %d reads, %v", n, r.reads, err)
		}
	}
	c := open(t, readerFunc(func([]byte, int64) (int, error) { return 0, faulty.ErrDisk }), 1<<20)
	if _, err := c.Bytes(wire.Chunk + 1); !errors.Is(err, faulty.ErrDisk) || c.Off() != 0 {
		t.Errorf("%v, at %d", err, c.Off())
	}
	if _, err := c.Bytes(10); !errors.Is(err, faulty.ErrDisk) || c.Off() != 0 {
		t.Errorf("%v, at %d", err, c.Off())
	}
	b := limitstest.Open(t, limits.Policy{MaxTotalBytes: 100})
	small := wire.NewCursor(b, "test", zeros{}, 1<<20)
	if _, err := small.View(1); !errors.Is(err, limits.ErrLimit) {
		t.Errorf("a window that does not fit: %v", err)
	}
}

// A map of characters is longer than its table, for every table and size near each other.
func TestTablesAreShorterThanTheirMap(t *testing.T) {
	for _, table := range []uint64{0, 1, 5, 256, 1 << 24, 1<<32 - 1} {
		head := []byte{byte(table), byte(table >> 8), byte(table >> 16), byte(table >> 24), 9, 9}
		for d := range uint64(10) {
			for length := range len(head) + 1 {
				size := table + d
				if got, want := wire.HoldsTable(head[:length], size), length >= 4 && size > table+4; got != want {
					t.Errorf("a table of %d, a map of %d, %d bytes seen: %t", table, size, length, got)
				}
			}
		}
	}
}

// Each character is shown or escaped, whatever surrounds it: a lone quote or backslash, a byte that
// is not text. Names are in one order, whatever zeros precede their numbers.
func TestTextsAreShownAndOrdered(t *testing.T) {
	for raw, want := range map[string]string{`a"b`: `a\"b`, `a\b`: `a\\b`, "a~b": "a~b", "a\x7fb": `a\u{7f}b`, "ab": "ab"} {
		if got := wire.Clean(raw, 64); got != want {
			t.Errorf("%q is shown as %s, not %s", raw, got, want)
		}
	}
	for raw, want := range map[string]string{"a\xffb": `a\x{ff}b`, `a"é`: `a"é`} {
		if got := wire.Whole(raw); got != want {
			t.Errorf("%q is %s, not %s", raw, got, want)
		}
	}
	for _, pair := range [][2]string{{"1", "01x"}, {"01", "1x"}, {"a", "ab"}, {"2", "10"}, {"01", "1"}, {"", "0"}} {
		if wire.Natural(pair[0], pair[1]) >= 0 || wire.Natural(pair[1], pair[0]) <= 0 {
			t.Errorf("%q comes before %q", pair[1], pair[0])
		}
	}
}
