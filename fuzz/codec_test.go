package fuzz_test

import (
	"bytes"
	"testing"

	"github.com/anamnesis-go/anamnesis/quant"
)

// FuzzCodec tests that any bytes decode without panic, and that the result does not depend
// on the size of tiles.
func FuzzCodec(f *testing.F) {
	for i := range quant.Codecs() {
		f.Add(uint8(i), bytes.Repeat([]byte{0, 1, 0x7F, 0x80, 0xFF, 0x3C, 0x7C, 0xFE}, 80), uint8(3))
	}
	f.Fuzz(func(t *testing.T, which uint8, src []byte, tile uint8) {
		codecs := quant.Codecs()
		c := codecs[int(which)%len(codecs)]
		g, _ := c.Type.Geometry()
		n := len(src) / int(g.Bytes)
		src = src[:n*int(g.Bytes)]
		whole := make([]float32, n*int(g.Elems))
		c.Decode(whole, src)
		cut := make([]float32, len(whole))
		for at := 0; at < n; at += int(tile)%7 + 1 {
			end := min(at+int(tile)%7+1, n)
			c.Decode(cut[at*int(g.Elems):end*int(g.Elems)], src[at*int(g.Bytes):end*int(g.Bytes)])
		}
		a, b := make([]byte, 4*len(whole)), make([]byte, 4*len(cut))
		quant.F32.Put(a, whole)
		quant.F32.Put(b, cut)
		if !bytes.Equal(a, b) {
			t.Fatalf("%v depends on the tiles", c.Type)
		}
	})
}
