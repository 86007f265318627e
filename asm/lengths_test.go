package asm

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/anamnesis-go/anamnesis/internal/guard"
)

// A fit is a method with a destination and a source of matching lengths. A byte more or
// less in either must panic, except where a longer one is allowed.
type fit struct {
	name     string
	dst, src int
	unit     int  // bytes too few that show
	longer   bool // what is longer fits
	call     func(o *Ops, dst, src []byte)
}

func fits() []fit {
	scales, codebook := []float32{1, 1}, &[16]float32{}
	last := float32(0.5)
	out := []fit{
		{"swap 2", 64, 64, 1, false, func(o *Ops, d, s []byte) { o.Swap(2, d, s) }},
		{"swap 4", 64, 64, 1, false, func(o *Ops, d, s []byte) { o.Swap(4, d, s) }},
		{"swap 8", 64, 64, 1, false, func(o *Ops, d, s []byte) { o.Swap(8, d, s) }},
		{"spread", 64, 32, 1, false, func(o *Ops, d, s []byte) { o.Spread(d, s) }},
		{"lanes", 128, 128, 1, true, func(o *Ops, d, s []byte) { o.Lanes(d, s, 32) }},
		{"nearest", 32, 256, 4, false, func(o *Ops, d, s []byte) { o.Nearest(testQuantizer, d, floatsOf(s), scales, 32) }},
		{"int8", 64, 256, 4, false, func(o *Ops, d, s []byte) { o.Int8(d, floatsOf(s), scales, 32) }},
		{"absmax", 8, 256, 128, false, func(o *Ops, d, s []byte) { o.Absmax(floatsOf(d), floatsOf(s), 32) }},
	}
	out = append(out, fit{"E4M3", 64, 256, 4, false, func(o *Ops, d, s []byte) { o.E4M3Over(d, floatsOf(s), 2, BF16) }})
	for k := range Kinds {
		if k.Encodes() && !k.NeedsMatrix() {
			out = append(out, fit{"row of " + k.String(), 2 * k.Bytes(), 8 * k.Elems(), 4, false, func(o *Ops, d, s []byte) { o.EncodeRow(k, d, floatsOf(s), nil) }})
		}
	}
	for _, size := range []int{1, 2, 4} {
		mask := bytes.Repeat([]byte{0xA5}, 8)
		out = append(out, fit{fmt.Sprint("expand ", size), 64 * size, 32 * size, 1, false, func(o *Ops, d, s []byte) { o.Expand(size, d, s, mask) }})
	}
	for _, size := range []int{1, 2, 4, 8} {
		out = append(out, fit{fmt.Sprint("transpose ", size), 256 * size, 256 * size, 1, true,
			func(o *Ops, d, s []byte) { o.Transpose(size, d, s, 16, 16, Strides{16 * size, 16 * size}) }})
	}
	out = append(out, fit{"pick", 64, 256, 4, false, func(o *Ops, d, s []byte) { o.Pick(27, 3, d, s) }})
	for bits := 1; bits < 8; bits++ {
		out = append(out, fit{fmt.Sprint("fields ", bits), 64, 8 * bits, 8, false, func(o *Ops, d, s []byte) { o.Fields(bits, 1, d, s) }})
	}
	for _, to := range types {
		for _, bits := range []int{4, 8} {
			words := bits
			c := Columns{Bits: bits, Words: words, Count: 8, Groups: make([]uint32, 32), Scales: make([]float32, 8), Zeros: make([]float32, 8), Room: make([]float32, 24)}
			out = append(out, fit{fmt.Sprintf("columns of %d bits to %v", bits, to), 256 * to.Size(), 32 * words, 1, true, func(o *Ops, d, s []byte) { o.Columns(c, to, d, s, 32*to.Size(), 32) }})
		}
		n := to.Size()
		add := func(name string, dst, src, unit int, call func(o *Ops, d, s []byte)) {
			out = append(out, fit{fmt.Sprintf("%s to %v", name, to), dst, src, unit, false, call})
		}
		for k := range Kinds {
			add(k.String(), 2*k.Elems()*n, 2*k.Bytes(), 1, func(o *Ops, d, s []byte) { o.Blocks(k, to, d, s) })
		}
		for f := range Float(floats8) {
			add(f.String(), 64*n, 64, 1, func(o *Ops, d, s []byte) { o.Float8(f, to, d, s, scales, 32) })
			add(f.String()+", shifted", 64*n, 64, 1, func(o *Ops, d, s []byte) { o.Float8Shift(f, to, d, s, Runs{scales, scales, 32}) })
		}
		for op := range opsN {
			add(fmt.Sprint("bytes ", op), 64*n, 64, 1, func(o *Ops, d, s []byte) { o.Bytes(Bytes{Op: op}, to, d, s, Runs{scales, scales, 32}) })
			for _, high := range []bool{false, true} {
				for _, run := range []int{16, 32, 64} {
					add(fmt.Sprint("nibbles ", op, high, run), 2*run*n, run, 1, func(o *Ops, d, s []byte) {
						o.Nibbles(Nibbles{Op: op, High: high, Codebook: codebook}, to, d, s, Runs{scales, scales, run})
					})
				}
			}
		}
		add("bytes twice", 64*n, 64, 1, func(o *Ops, d, s []byte) { o.Bytes(Bytes{Last: &last}, to, d, s, Runs{scales, nil, 32}) })
		add("half bytes", 64*n, 64, 1, func(o *Ops, d, s []byte) { o.HalfBytes(HalfBytes{4, codebook}, to, d, s, Runs{scales, scales, 32}) })
		ones := make([]float32, 64)
		add("each", 64*n, 256, 4, func(o *Ops, d, s []byte) { o.Each(to, d, floatsOf(s), ones, ones) })
		add("put", 64*n, 256, 4, func(o *Ops, d, s []byte) { o.Put(to, d, floatsOf(s)) })
		for _, from := range types {
			add("cast of "+from.String(), 64*n, 64*from.Size(), 1, func(o *Ops, d, s []byte) { o.Cast(from, to, d, s) })
		}
	}
	return out
}

// Every entry of every level, with a destination and a source that are short,
// long, missing or the same memory: each panics before a byte is touched. With
// those that fit, also at odd addresses, none does.
func TestEveryEntryRefusesWhatDoesNotFit(t *testing.T) {
	var memory [2][]byte
	for i := range memory {
		m, err := guard.Memory(16 * guard.Page)
		if err != nil {
			t.Fatal(err)
		}
		memory[i] = m
	}
	p := func(n int) []byte { return guard.At(memory[0], n, false) }
	q := func(n int) []byte { return guard.At(memory[1], n, true) }
	for level, o := range withScalar(t) {
		for _, f := range fits() {
			f.call(o, p(f.dst), q(f.src))
			if f.unit == 1 {
				f.call(o, make([]byte, f.dst+1)[1:], make([]byte, f.src+1)[1:])
			}
			wrong := map[string]func(){
				"a short destination": func() { f.call(o, p(f.dst-min(f.unit, f.dst)), q(f.src)) },
				"a short source":      func() { f.call(o, p(f.dst), q(f.src-f.unit)) },
				"no destination":      func() { f.call(o, nil, q(f.src)) },
				"memory that is both": func() { m := p(f.dst + f.src); f.call(o, m[:f.dst], m[f.dst-1:][:f.src]) },
				"memory of the other": func() { m := p(f.dst + f.src); f.call(o, m[f.src-1:][:f.dst], m[:f.src]) },
			}
			if !f.longer {
				wrong["a long destination"] = func() { f.call(o, p(f.dst+f.unit), q(f.src)) }
				wrong["no source"] = func() { f.call(o, p(f.dst), nil) }
				wrong["a long source"] = func() { f.call(o, p(f.dst), q(f.src+f.unit)) }
			}
			for name, call := range wrong {
				text := func() (text string) {
					defer func() { text = fmt.Sprint(recover()) }()
					call()
					return
				}()
				if !strings.HasPrefix(text, "internal error: a kernel was called wrongly") {
					t.Errorf("%v, %s, %s: %s", level, f.name, name, text)
				}
			}
		}
	}
}
