package fuzz_test

import (
	"bytes"
	"fmt"
	"io"
	"testing"

	"github.com/anamnesis-go/anamnesis/fuzz"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/npy"
)

var npyTarget = func() fuzz.Target {
	t := fuzz.Models(npy.Decode)
	t.Rewrite = rewriteNPY
	return t
}()

func rewriteNPY(b *limits.Budget, data []byte) ([]byte, error) {
	f, err := npy.Decode(b, bytes.NewReader(data), int64(len(data)))
	if err != nil {
		return nil, err
	}
	i := f.Infos[0]
	var out bytes.Buffer
	err = npy.Encode(b, &out, &i, io.NewSectionReader(bytes.NewReader(data), i.Span.Off, i.Span.Len))
	return out.Bytes(), err
}

// FuzzNPY tests the reader with any bytes, and with files whose dictionary and data come
// from bytes, with correct lengths.
func FuzzNPY(f *testing.F) {
	addSeeds(f, "npy")
	answersFirst(f, "to-npy")
	f.Fuzz(func(t *testing.T, data []byte) {
		built := npyFrom(data)
		npyTarget.Check(t, data)
		npyTarget.Check(t, built)
		if oneOfSixteen(data) {
			secondNPYCheck(t, data)
			secondNPYCheck(t, built)
		}
	})
}

// Parts of headers: most combinations are legal.
var (
	npyTypes = []string{"'<f4'", "'>f8'", "'|b1'", "'<V2'", "'|u1'", "'<c16'", "'|S3'", "'<U2'", "'<M8[ns]'", "'<f16'", "'|V0'", "'<W4'", "'=i2'", "'|O'",
		"[('a', '<f4'), ('', '|V4'), ('b', '>i2', (2, 3))]", `[(("t", 'n'), [("x", '|u1')])]`}
	npyShapes = []string{"()", "(3,)", "(2, 3)", "(0, 5)", "(2,1,2 )", "(1, 1, 1)", "(3L,)", "(4, 0, 922337203685477)", "(0, 9223372036854775807, 3)", "(3)", "(-1,)"}
)

// npyFrom builds an array file: version, type, shape and order from the first bytes, then
// edits of the header, then the data that the shape needs if the header is still legal.
func npyFrom(plan []byte) []byte {
	next := (*script)(&plan).next
	version := 1 + next()%3
	order := [...]string{"False", "True"}[next()%2]
	head := []byte(fmt.Sprintf("{'descr': %s, 'fortran_order': %s, 'shape': %s, }",
		npyTypes[next()%len(npyTypes)], order, npyShapes[next()%len(npyShapes)]))
	size := next()
	for len(plan) >= 2 {
		at, c := next(), byte(next())
		if c == 0 {
			head = append(head[:at%len(head)], head[at%len(head)+1:]...)
		} else {
			head[at%len(head)] = c
		}
		if len(head) == 0 {
			break
		}
	}
	head = append(head, "   \n"...)
	out := append([]byte("\x93NUMPY"), byte(version), 0, byte(len(head)), byte(len(head)>>8))
	if version > 1 {
		out = append(out, 0, 0)
	}
	return append(append(out, head...), make([]byte, size)...)
}

// Some of the built files must be accepted, or the target tests the door.
func TestBuiltArraysAreOftenAccepted(t *testing.T) {
	accepted, built := 0, 0
	for version := range byte(3) {
		for typ := range byte(len(npyTypes)) {
			for shape := range byte(len(npyShapes)) {
				for _, size := range []byte{0, 1, 2, 3, 4, 6, 12, 18, 24, 48, 96} {
					built++
					if npyTarget.Check(t, npyFrom([]byte{version, shape, typ, shape, size})) {
						accepted++
					}
				}
			}
		}
	}
	if accepted*30 < built {
		t.Errorf("%d of %d are accepted", accepted, built)
	}
}
