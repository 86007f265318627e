package asm

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"reflect"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/anamnesis-go/anamnesis/internal/effort"
	"github.com/anamnesis-go/anamnesis/internal/guard"
)

// tables returns the table of each level that this machine has, including the kernels of
// lower levels but not the scalar one; or of the levels in LEVELS, for an emulator that
// reports fewer than it has. The absence of a level in MUST_HAVE is a failure.
func tables(t testing.TB) map[Level]*Ops {
	t.Helper()
	out := map[Level]*Ops{}
	only := os.Getenv("LEVELS")
	for _, l := range allLevels()[1:] {
		if only == "" && !slices.Contains(Machine(), l) || only != "" && !slices.Contains(strings.Split(only, ","), l.String()) {
			continue
		}
		if o := For(l.Features()); o.level == l {
			out[l] = &o
		}
	}
	for name := range strings.SplitSeq(os.Getenv("MUST_HAVE"), ",") {
		found := name == "" || name == "generic"
		for l := range out {
			found = found || l.String() == name
		}
		if !found {
			t.Fatalf("MUST_HAVE names %s, which did not run", name)
		}
	}
	return out
}

// inherits reports whether an emulated level has the kernel of the level below, or none,
// which is tested without an emulator.
func inherits(level Level, kernel func(o *Ops) any) bool {
	if os.Getenv("LEVELS") == "" {
		return false
	}
	own, below := For(level.Features()), For((level - 1).Features())
	return reflect.ValueOf(kernel(&own)).Pointer() == reflect.ValueOf(kernel(&below)).Pointer()
}

// lacks skips a test if a level has no kernel: the scalar function would be compared with
// itself.
func lacks(t *testing.T, none bool) {
	t.Helper()
	if none {
		t.Skip("the scalar function serves")
	}
}

// A fill writes the bytes of a source. Uniform random bytes alone rarely reach the ends of
// ranges.
type fill struct {
	name string
	set  func(p []byte, rng *rand.ChaCha8)
}

func random(p []byte, rng *rand.ChaCha8) { rng.Read(p) }

var fills = []fill{
	{"random", random},
	{"zeros", func(p []byte, _ *rand.ChaCha8) { clear(p) }},
	{"ones", func(p []byte, _ *rand.ChaCha8) {
		for i := range p {
			p[i] = 0xFF
		}
	}},
	{"ends of ranges", func(p []byte, rng *rand.ChaCha8) {
		ends := []byte{0, 0xFF, 0x7F, 0x80, 0x7C, 0xFC, 0x03, 0x01, 0x3C}
		for i := range p {
			p[i] = ends[rng.Uint64()%uint64(len(ends))]
		}
	}},
	{"one bit in eight", func(p []byte, rng *rand.ChaCha8) {
		for i := range p {
			p[i] = 1 << (rng.Uint64() % 8) & byte(rng.Uint64())
		}
	}},
}

// A call runs one entry of a table on a destination and sources.
type call struct {
	name string
	run  func(o *Ops, dst, src []byte)
}

// same fails the test if compare finds a difference.
func same(t *testing.T, o *Ops, c call, src []byte, size int) {
	t.Helper()
	if err := compare(t, o, c, src, size); err != nil {
		t.Fatalf("%s: %v", c.name, err)
	}
}

// compare runs a call on the scalar table and on another, on memory that faults after (or
// before) the last byte, and compares every byte, those around the destination too.
func compare(t *testing.T, o *Ops, c call, src []byte, size int) (err error) {
	t.Helper()
	scalar := For(0)
	want := make([]byte, size)
	c.run(&scalar, want, src)
	guarded := walls(t)
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		switch fault := recover().(type) {
		case nil:
		case interface{ Addr() uintptr }:
			err = fmt.Errorf("touches memory at %#x that is not its own", fault.Addr())
		default:
			panic(fault)
		}
	}()
	for _, front := range []bool{false, true} {
		in, out := guard.At(guarded[0], len(src), front), guard.At(guarded[1], size, front)
		copy(in, src)
		c.run(o, out, in)
		if !bytes.Equal(want, out) {
			return errors.New(difference(want, out))
		}
	}
	const edge = 67
	in := make([]byte, len(src)+1)[1:]
	copy(in, src)
	out := bytes.Repeat([]byte{0xA5}, size+2*edge)
	c.run(o, out[edge:edge+size:edge+size], in)
	if !bytes.Equal(want, out[edge:edge+size]) {
		return fmt.Errorf("at an odd address: %s", difference(want, out[edge:]))
	}
	for i, b := range out {
		if (i < edge || i >= edge+size) && b != 0xA5 {
			return fmt.Errorf("byte %d of the destination of %d is written", i-edge, size)
		}
	}
	if !bytes.Equal(in, src) {
		return errors.New("the source is written")
	}
	return nil
}

// walls returns memory for sources, destination and other inputs, the same for all tests.
func walls(t *testing.T) [3][]byte {
	t.Helper()
	guarded, err := guardedMemory()
	if err != nil {
		t.Fatal(err)
	}
	return guarded
}

var guardedMemory = sync.OnceValues(func() (out [3][]byte, err error) {
	for i := range out {
		if out[i], err = guard.Memory(4 << 20); err != nil {
			return out, err
		}
	}
	return out, nil
})

func difference(want, got []byte) string {
	for i := range want {
		if want[i] != got[i] {
			lo := i &^ 3
			return fmt.Sprintf("byte %d of %d is %#x, want %#x: %x, want %x", i, len(want), got[i], want[i],
				got[lo:min(lo+8, len(got))], want[lo:min(lo+8, len(want))])
		}
	}
	return "no difference"
}

var types = []Type{F32, BF16, F16}

// Every kind of blocks, every type, numbers of blocks from none to seventeen, which is two
// rounds of eight and one.
func TestBlocksAgreeWithTheScalarFunctions(t *testing.T) {
	for level, o := range tables(t) {
		for k := range Kinds {
			for _, to := range types {
				t.Run(fmt.Sprintf("%v/%v to %v", level, k, to), func(t *testing.T) {
					lacks(t, o.blocks[to][k] == nil)
					rng := rand.NewChaCha8([32]byte{byte(k), byte(to)})
					c := call{k.String(), func(o *Ops, dst, src []byte) { o.Blocks(k, to, dst, src) }}
					for _, f := range fills {
						for _, n := range []int{0, 1, 2, 3, 5, 9, 17} {
							src := make([]byte, n*k.Bytes())
							f.set(src, rng)
							c.name = k.String() + " of " + f.name
							same(t, o, c, src, n*k.Elems()*to.Size())
						}
					}
				})
			}
		}
	}
}

// The exact way, which takes what kernels leave, all by itself.
func TestBlocksThatNoKernelTakesAgree(t *testing.T) {
	for level, o := range tables(t) {
		leaves := *o
		for k := range Kinds {
			rng := rand.NewChaCha8([32]byte{byte(k)})
			for _, to := range types {
				leaves.blocks[to][k] = func(_, _ *byte, n int) int { return n }
				for _, f := range fills {
					src := make([]byte, 1100/k.Elems()*k.Bytes())
					f.set(src, rng)
					c := call{fmt.Sprintf("%v, %v of %s", level, k, f.name), func(o *Ops, dst, src []byte) { o.Blocks(k, to, dst, src) }}
					same(t, &leaves, c, src, 1100/k.Elems()*k.Elems()*to.Size())
				}
			}
		}
	}
}

// Float16s as the scale, and as the minimum, over codes of every value: each of them in a whole search.
func TestEveryScaleOfBlocksAgrees(t *testing.T) {
	for level, o := range tables(t) {
		for k := range Kinds {
			t.Run(fmt.Sprintf("%v/%v", level, k), func(t *testing.T) {
				rng := rand.NewChaCha8([32]byte{byte(k)})
				const batch = 64
				step := k.Elems() / 32 * effort.Of(4, 1) // the larger blocks make up for it
				if testing.Short() || raced {
					step = 37
				}
				src := make([]byte, batch*k.Bytes())
				for first := 0; first < 1<<16; first += batch * step {
					rng.Read(src)
					for i := range batch {
						block := src[i*k.Bytes():][:k.Bytes()]
						for _, at := range halves[k] {
							v := first + i
							if at < 0 { // the other one keeps near, so that differences cancel
								at, v = -at, v^int(rng.Uint64()&0x83)
							}
							block[at], block[at+1] = byte(v), byte(v>>8)
						}
					}
					floats := make([]float32, batch*k.Elems())
					k.Decode(floats, src)
					for _, to := range types[:2] {
						if o.blocks[to][k] == nil {
							continue
						}
						want, got := make([]byte, len(floats)*to.Size()), make([]byte, len(floats)*to.Size())
						to.put(want, floats)
						o.Blocks(k, to, got, src)
						if !bytes.Equal(want, got) {
							t.Fatalf("%v, scales from %#x: %s", to, first, difference(want, got))
						}
					}
				}
			})
		}
	}
}

// halves has the offsets of the float16 of a block; the second is negative.
var halves = [Kinds][]int{
	Q4_0: {0}, Q4_1: {0, -2}, Q5_0: {0}, Q5_1: {0, -2}, Q8_0: {0}, Q8_1: {0}, Q2_K: {80, -82}, Q3_K: {108},
	Q4_K: {0, -2}, Q5_K: {0, -2}, Q6_K: {208}, IQ1_S: {0}, IQ2_XXS: {0}, IQ2_XS: {0}, IQ2_S: {0}, IQ3_XXS: {0},
	IQ3_S: {0}, IQ4_NL: {0}, IQ4_XS: {0}, TQ1_0: {52}, TQ2_0: {64}, Q1_0: {0}, Q2_0: {0},
}
