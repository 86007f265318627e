package flatbuffers

import (
	"bytes"
	"math/rand/v2"
	"testing"

	"github.com/anamnesis-go/anamnesis/limits"
)

// counted counts reads.
type counted struct {
	*bytes.Reader

	reads int
}

func (c *counted) ReadAt(p []byte, off int64) (int, error) {
	c.reads++
	return c.Reader.ReadAt(p, off)
}

// Bytes are those of the file wherever they are asked for, across pages and at the end, and a page
// in memory is not read again.
func TestPagesAreThoseOfTheFile(t *testing.T) {
	data := make([]byte, 40*pageLen+123)
	rng := rand.New(rand.NewPCG(1, 2))
	for i := range data {
		data[i] = byte(rng.Uint32())
	}
	b := limits.Policy{}.Budget(t.Context())
	defer b.Close()
	file := &counted{Reader: bytes.NewReader(data)}
	p, err := newPages(b, file, int64(len(data)))
	if err != nil {
		t.Fatal(err)
	}
	for range 20000 {
		got := make([]byte, rng.IntN(2*pageLen))
		off := rng.IntN(len(data) - len(got))
		if err := p.read(got, int64(off)); err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got, data[off:][:len(got)]) {
			t.Fatalf("%d bytes at %#x differ", len(got), off)
		}
	}
	var one [1]byte
	for at := range pageCount {
		if err := p.read(one[:], int64(at*pageLen)); err != nil {
			t.Fatal(err)
		}
	}
	before := file.reads
	for range 10 {
		for at := range pageCount {
			if err := p.read(one[:], int64(at*pageLen+7)); err != nil || one[0] != data[at*pageLen+7] {
				t.Fatal(one[0], err)
			}
		}
	}
	if file.reads != before {
		t.Errorf("%d reads of pages in memory", file.reads-before)
	}
}
