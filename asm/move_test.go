package asm

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/anamnesis-go/anamnesis/internal/guard"
)

// Matrices of every shape up to 20x20 and some larger, in rows with and without
// room between them.
func TestTransposeAgreesWithTheScalarFunction(t *testing.T) {
	rng := rand.NewChaCha8([32]byte{3})
	for level, o := range tables(t) {
		for _, size := range []int{1, 2, 4, 8} {
			t.Run(fmt.Sprintf("%v/%d", level, size), func(t *testing.T) {
				lacks(t, o.transpose[size] == nil)
				for rows := range 20 {
					for cols := range 20 {
						shape := [2]int{rows, cols}
						if rows == 19 {
							shape[0] = 65
						}
						agreesTransposed(t, o, rng, size, shape, rows%3)
					}
				}
			})
		}
	}
}

func agreesTransposed(t *testing.T, o *Ops, rng *rand.ChaCha8, size int, shape [2]int, room int) {
	t.Helper()
	rows, cols := shape[0], shape[1]
	from, to := cols*size+room, rows*size+room
	src := make([]byte, max(0, rows*from-room))
	rng.Read(src)
	c := call{fmt.Sprintf("%dx%d", rows, cols), func(o *Ops, dst, src []byte) {
		o.Transpose(size, dst, src, rows, cols, Strides{to, from})
	}}
	if room == 0 { // else what lies between rows stays as it was
		same(t, o, c, src, cols*to)
		return
	}
	want, got := make([]byte, cols*to), make([]byte, cols*to)
	rng.Read(want)
	copy(got, want)
	scalar := For(0)
	c.run(&scalar, want, src)
	c.run(o, got, src)
	if string(want) != string(got) {
		t.Fatalf("%s: %s", c.name, difference(want, got))
	}
}

func TestSwapAndLanesAgreeWithTheScalarFunctions(t *testing.T) {
	rng := rand.NewChaCha8([32]byte{4})
	for level, o := range tables(t) {
		t.Run(level.String(), func(t *testing.T) {
			lacks(t, o.swap[2] == nil)
			for n := range 140 {
				for _, size := range []int{2, 4, 8} {
					src := make([]byte, n*size)
					rng.Read(src)
					same(t, o, call{fmt.Sprint("swap ", n, " of ", size), func(o *Ops, dst, src []byte) { o.Swap(size, dst, src) }}, src, n*size)
				}
				src := make([]byte, n)
				rng.Read(src)
				same(t, o, call{fmt.Sprint("spread ", n), func(o *Ops, dst, src []byte) { o.Spread(dst, src) }}, src, 2*n)
				src = make([]byte, 4*n)
				rng.Read(src)
				same(t, o, call{fmt.Sprint("lanes of ", n), func(o *Ops, dst, src []byte) { o.Lanes(dst, src, n) }}, src, 4*n)
			}
		})
	}
}

// Fields of every width, as many as end within and at the end of a byte.
func TestFieldsAgreeWithTheScalarFunction(t *testing.T) {
	rng := rand.NewChaCha8([32]byte{7})
	for level, o := range tables(t) {
		for bits := 1; bits < 8; bits++ {
			t.Run(fmt.Sprintf("%v/%d bits", level, bits), func(t *testing.T) {
				lacks(t, o.fields == nil)
				for n := range 300 {
					src := make([]byte, (n*bits+7)/8)
					rng.Read(src)
					less := uint8(rng.Uint64())
					same(t, o, call{fmt.Sprint(n, " fields"), func(o *Ops, dst, src []byte) { o.Fields(bits, less, dst, src) }}, src, n)
				}
			})
		}
	}
}

// Columns of words in any order of groups, widths that kernels do not take, and
// rows with and without room between them.
func TestColumnsAgreeWithTheScalarFunction(t *testing.T) {
	rng := rand.NewChaCha8([32]byte{9})
	for level, o := range tables(t) {
		for _, bits := range []int{4, 8} {
			for _, to := range types {
				t.Run(fmt.Sprintf("%v/%d bits/%v", level, bits, to), func(t *testing.T) {
					lacks(t, o.columns[columnsWords[bits]-1][to] == nil)
					for _, shape := range [][4]int{{1, 8, 1, 0}, {3, 8, 2, 0}, {8, 16, 4, 0}, {17, 24, 5, 0}, {16, 7, 3, 0}, {9, 13, 2, 0}, {32, 64, 8, 0}, {11, 16, 3, 12}} {
						columnsAgree(t, o, rng, bits, to, shape)
					}
				})
			}
		}
	}
}

func columnsAgree(t *testing.T, o *Ops, rng *rand.ChaCha8, bits int, to Type, shape [4]int) {
	words, count, groups, room := shape[0], shape[1], shape[2], shape[3]
	per := 32 / bits
	c := Columns{Bits: bits, Words: words, Count: count, Groups: make([]uint32, per*words), Scales: scalesOf(rng, groups*count), Zeros: scalesOf(rng, groups*count)}
	for i := range c.Zeros {
		if i%3 > 0 {
			c.Zeros[i] = float32(rng.Uint64() % 17)
		}
	}
	for i := range c.Groups {
		c.Groups[i] = uint32(rng.Uint64() % uint64(groups))
	}
	c.Room = make([]float32, 3*len(c.Scales))
	from, row := 4*count+room, per*words*to.Size()
	src := make([]byte, words*from-room)
	rng.Read(src)
	if room == 0 {
		same(t, o, call{fmt.Sprint(shape), func(o *Ops, dst, src []byte) { o.Columns(c, to, dst, src, row, from) }}, src, count*row)
		return
	}
	want, got := make([]byte, count*(row+room)), make([]byte, count*(row+room))
	scalar := For(0)
	scalar.Columns(c, to, want, src, row+room, from)
	o.Columns(c, to, got, src, row+room, from)
	if string(want) != string(got) {
		t.Fatalf("%v: %s", shape, difference(want, got))
	}
}

// Numbers of every kind, under scales and less numbers of every kind, most of
// which give products that are subnormal, infinite or NaN.
func TestEachAgreesWithTheScalarFunction(t *testing.T) {
	rng := rand.NewChaCha8([32]byte{11})
	for level, o := range tables(t) {
		for _, to := range types {
			t.Run(fmt.Sprintf("%v/to %v", level, to), func(t *testing.T) {
				for n := range 300 {
					src := Raw(scalesOf(rng, n))
					s, z := scalesOf(rng, n), scalesOf(rng, n)
					for i := range z {
						if i%3 > 0 {
							z[i] = float32(rng.Uint64() % 17)
						}
					}
					same(t, o, call{fmt.Sprint(n, " numbers"), func(o *Ops, dst, src []byte) { o.Each(to, dst, floatsOf(src), s, z) }}, src, n*to.Size())
				}
			})
		}
	}
}

// Masks of few bits and of many, of every length, none and all among them: the
// mask itself lies at the end of memory too.
func TestExpandAgreesWithTheScalarFunction(t *testing.T) {
	rng := rand.NewChaCha8([32]byte{12})
	for level, o := range tables(t) {
		for _, size := range []int{1, 2, 4} {
			t.Run(fmt.Sprintf("%v/%d", level, size), func(t *testing.T) {
				if inherits(level, func(o *Ops) any { return o.expand[size] }) {
					t.Skip("tested without an emulator")
				}
				for n := range 300 {
					for _, dense := range []uint64{0, 1, 2, 3, 4} {
						mask := guard.At(walls(t)[2], (n+7)/8, false)
						clear(mask)
						for i := range n {
							if rng.Uint64()%4 < dense {
								mask[i/8] |= 1 << (i % 8)
							}
						}
						src := make([]byte, Ones(mask)*size)
						rng.Read(src)
						same(t, o, call{fmt.Sprintf("%d numbers, %x", n, mask), func(o *Ops, dst, src []byte) { o.Expand(size, dst, src, mask) }}, src, n*size)
					}
				}
			})
		}
	}
}

func TestPickAgreesWithTheScalarFunction(t *testing.T) {
	rng := rand.NewChaCha8([32]byte{13})
	for level, o := range tables(t) {
		for bits := 1; bits <= 8; bits++ {
			t.Run(fmt.Sprintf("%v/%d bits", level, bits), func(t *testing.T) {
				for n := range 140 {
					src := make([]byte, 4*n)
					rng.Read(src)
					shift := int(rng.Uint64() % uint64(33-bits))
					same(t, o, call{fmt.Sprint(n, " words at ", shift), func(o *Ops, dst, src []byte) { o.Pick(shift, bits, dst, src) }}, src, n)
				}
			})
		}
	}
}
