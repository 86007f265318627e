package fuzz

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"slices"

	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// maxBody bounds the bytes of bodies that one description includes.
const maxBody = 1 << 20

// Sound checks what every user of a Model relies on.
func Sound(m tensor.Model, size int64) error {
	count := 0
	for i := range m.Tensors() {
		count++
		if why := unsound(m, &i, size); why != "" {
			return broken(Proven, "tensor %q: %s: %+v", i.Name, why, i)
		}
	}
	if count != m.Len() {
		return broken(Proven, "Len says %d, listed are %d", m.Len(), count)
	}
	return nil
}

func unsound(m tensor.Model, i *tensor.Info, size int64) string {
	n, ok := wire.Product(i.Shape)
	if !ok {
		return "the shape overflows"
	}
	if i.Span.Off < 0 || i.Span.Len < 0 {
		return "negative span"
	}
	if _, inFile := m.At(*i); inFile && (i.Span.Len > size || i.Span.Off > size-i.Span.Len) {
		return "span outside of the file"
	}
	if i.Strides != nil {
		return unsoundView(i)
	}
	if i.Offset != 0 {
		return "an offset without strides"
	}
	g, known := i.DType.Geometry()
	if !known {
		return ""
	}
	if want, ok := g.Size(n); ok && want != uint64(i.Span.Len) || !ok && i.Span.Len != i.Bytes() {
		return "the span is not what shape and type say"
	}
	return ""
}

// unsoundView says which element of a strided view is outside of the span, or returns "".
func unsoundView(i *tensor.Info) string {
	if len(i.Strides) != len(i.Shape) {
		return "strides and shape differ in length"
	}
	low, high := i.Offset, i.Offset
	for d, n := range i.Shape {
		if n == 0 {
			return ""
		}
		reach := (n - 1) * i.Strides[d]
		if n > 1 && reach/(n-1) != i.Strides[d] {
			return "a stride overflows"
		}
		low, high = low+min(reach, 0), high+max(reach, 0)
		if high < 0 || low < 0 {
			return "the view leaves its span"
		}
	}
	if g, known := i.DType.Geometry(); known {
		if end, ok := wire.Mul((uint64(high)+uint64(g.Elems))/uint64(g.Elems), uint64(g.Bytes)); !ok || end > uint64(i.Span.Len) {
			return "the view leaves its span"
		}
	}
	return ""
}

// Describe reads a model, up to a bound of bytes, and returns its digest. A refusal of the
// bodies is part of it, with class and offset.
func Describe(b *limits.Budget, m tensor.Model, size int64) (Answer, error) {
	exact, core := sha256.New(), sha256.New()
	both := io.MultiWriter(exact, core)
	for i := range m.Tensors() {
		fmt.Fprintf(both, "%q %v %q %v %v\n", i.Name, i.DType, i.Stored, i.Shape, i.Order)
		fmt.Fprintf(exact, "%v %d %q %v %d\n", i.Strides, i.Offset, i.Storage, i.Span, i.Part)
	}
	metaLines(m, both)
	for _, f := range m.Findings() {
		fmt.Fprintf(exact, "%s %v %q %d %q\n", f.Code, f.Severity, f.Where, f.Off, f.Text)
	}
	verdict, err := bodies(b, m, size, both)
	if err != nil {
		return Answer{}, err
	}
	say := func(h hash.Hash) string {
		return fmt.Sprintf("%s, %d tensors, %s, digest %s", m.Format(), m.Len(), verdict, hex.EncodeToString(h.Sum(nil)[:8]))
	}
	return Answer{say(exact), say(core)}, nil
}

// metaLines writes metadata sorted by key, since an encoder may sort.
func metaLines(m tensor.Model, w io.Writer) {
	var lines []string
	for k, v := range m.Meta() {
		lines = append(lines, fmt.Sprintf("%q %T %v", k, v, v))
	}
	slices.Sort(lines)
	for _, s := range lines {
		fmt.Fprintln(w, s)
	}
}

// bodies verifies and reads the bodies. fault is an error that no input may cause.
func bodies(b *limits.Budget, m tensor.Model, size int64, w io.Writer) (verdict string, fault error) {
	if v, ok := m.(tensor.Verifier); ok {
		if err := v.Verify(b); err != nil {
			return refusal(err, size)
		}
	}
	left := int64(maxBody)
	for i := range m.Tensors() {
		if left -= i.Span.Len; left < 0 {
			return "bodies read in part", nil
		}
		err := body(b, m, i, w)
		if i.DType == tensor.Unknown && wire.ClassOf(err) == wire.Unsupported {
			continue
		}
		if err != nil {
			return refusal(err, size)
		}
	}
	return "bodies read", nil
}

func body(b *limits.Budget, m tensor.Model, i tensor.Info, w io.Writer) error {
	r, err := m.Body(b, i)
	if err != nil {
		return err
	}
	defer r.Close()
	n, err := io.Copy(w, r)
	if err != nil {
		return err
	}
	if n != i.Span.Len {
		return broken(Proven, "the body of %q has %d bytes, its span %d", i.Name, n, i.Span.Len)
	}
	return nil
}

func refusal(err error, size int64) (string, error) {
	if fault := Placed(err, size); fault != nil {
		return "", fault
	}
	if wire.ClassOf(err) == wire.Limit {
		return "", err // as Decode would: a tighter budget may end here
	}
	placed, _ := errors.AsType[*wire.Error](err)
	return fmt.Sprintf("bodies refused: %v at %#x", wire.ClassOf(err), placed.Off), nil
}
