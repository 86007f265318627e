package model

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// numbersOf is a model of F32 tensors in memory. Where ordered says so, they can only be
// read in order, as the members of a compressed archive.
type numbersOf struct {
	tensor.Model
	of      map[string][]float32
	ordered bool
}

func (m *numbersOf) bytes(i tensor.Info) *bytes.Reader {
	var p []byte
	for _, f := range m.of[i.Name] {
		p = binary.LittleEndian.AppendUint32(p, math.Float32bits(f))
	}
	return bytes.NewReader(p)
}

func (m *numbersOf) At(i tensor.Info) (io.ReaderAt, bool) { return m.bytes(i), !m.ordered }
func (m *numbersOf) Body(_ *limits.Budget, i tensor.Info) (io.ReadCloser, error) {
	return io.NopCloser(m.bytes(i)), nil
}

// A made is a source with the numbers that it must have, computed here in the plainest way.
type made struct {
	Source
	want    []float32
	reorder bool // rows are not in the order of the storage
}

// composed returns a source that is made of random verbs, some levels deep.
func composed(r *rand.Rand, m *Straight, rooms *Rooms[byte], depth int) made {
	rows, cols := 2*(1+r.Int64N(5)), 1+r.Int64N(7)
	if depth == 0 {
		i := Plain(fmt.Sprintf("t%d", len(m.Model.(*numbersOf).of)), tensor.F32, []int64{rows, cols})
		want := make([]float32, rows*cols)
		for k := range want {
			want[k] = float32(r.IntN(2000) - 1000)
		}
		m.Model.(*numbersOf).of[i.Name] = want
		return made{m.Source(&i), want, false}
	}
	one := composed(r, m, rooms, depth-1)
	shape := one.Info().Shape
	rows, cols = shape[0], shape[1]
	switch r.IntN(5) {
	case 0:
		from := r.Int64N(rows)
		n := 1 + r.Int64N(rows-from)
		return made{NewRows(one.Source, from, n), one.want[from*cols : (from+n)*cols], true}
	case 1:
		if rows%2 != 0 {
			return one
		}
		back := r.IntN(2) == 0
		want := make([]float32, len(one.want))
		for to := range rows {
			from := to%2*(rows/2) + to/2
			if back {
				from = to%(rows/2)*2 + to/(rows/2)
			}
			copy(want[to*cols:(to+1)*cols], one.want[from*cols:])
		}
		return made{NewHeads(one.Source, rooms, rows, back), want, true}
	case 2:
		want := slices.Concat(one.want, one.want)
		return made{NewConcat(Plain("c", tensor.F32, []int64{2 * rows, cols}), one.Source, one.Source), want, one.reorder}
	case 3:
		var want []float32
		for at := int64(0); at < rows; at++ {
			row := one.want[at*cols : (at+1)*cols]
			want = append(append(want, row...), row...)
		}
		return made{NewTurns(Plain("t", tensor.F32, []int64{2 * rows, cols}), rooms, cols, one.Source, one.Source), want, one.reorder}
	default:
		want := make([]float32, len(one.want))
		for k, f := range one.want {
			want[k] = f*2 + 1
		}
		return made{NewCast(one.Source, rooms, tensor.F32, Change{Times: []float32{2}, Add: 1}), want, one.reorder}
	}
}

// Verbs of any order give the numbers that they say, at any range of elements and in order.
// Of storages that are only read in order they give them in order, or say that they cannot.
func TestVerbsCompose(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for n := range 3000 {
		b := limits.Policy{}.Budget(t.Context())
		ordered := n%3 == 0
		m := NewStraight(b, &numbersOf{of: map[string][]float32{}, ordered: ordered})
		one := composed(r, m, m.Rooms(), 1+n%5)
		var want []byte
		for _, f := range one.want {
			want = binary.LittleEndian.AppendUint32(want, math.Float32bits(f))
		}
		if size := one.Info().Bytes(); size != int64(len(want)) {
			t.Fatalf("%d: %d bytes, want %d", n, size, len(want))
		}
		at, ok := one.At()
		if ok == ordered {
			t.Fatalf("%d: it can be read at any offset: %t", n, ok)
		}
		for range 20 {
			if ordered {
				break
			}
			lo := r.IntN(len(want)/4+1) * 4
			got := make([]byte, r.IntN((len(want)-lo)/4+1)*4)
			if k, err := at.ReadAt(got, int64(lo)); k != len(got) || err != nil && err != io.EOF || !bytes.Equal(got, want[lo:lo+len(got)]) {
				t.Fatalf("%d: %d of %d bytes at %d are not those asked for: %v", n, k, len(got), lo, err)
			}
		}
		got, err := inPieces(b, one.Source, 4*(1+r.IntN(9)))
		switch {
		case ordered && one.reorder && err != nil:
		case err != nil || !bytes.Equal(got, want):
			t.Fatalf("%d: in order, %d bytes are not those asked for: %v", n, len(got), err)
		}
		b.Close()
	}
}

// inPieces reads all of a source in order.
func inPieces(b *limits.Budget, s Source, size int) ([]byte, error) {
	body, err := s.Body(b)
	if err != nil {
		return nil, err
	}
	defer body.Close()
	var all []byte
	for p := make([]byte, size); ; {
		n, err := body.Read(p)
		all = append(all, p[:n]...)
		if err == io.EOF {
			return all, nil
		}
		if err != nil {
			return nil, err
		}
	}
}
