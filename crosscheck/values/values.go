// Package values lays tensors out for comparison with other libraries. It is
// written apart from the module's own conversion, and as plainly as possible.
package values

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"slices"

	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// Body reads all stored bytes of a tensor.
func Body(b *limits.Budget, m tensor.Model, i tensor.Info) ([]byte, error) {
	r, err := m.Body(b, i)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	return io.ReadAll(r)
}

// Dense lays the elements out in row-major order and little endian. The stored
// bytes may change.
func Dense(raw []byte, i *tensor.Info) ([]byte, error) {
	g, ok := i.DType.Geometry()
	if !ok || g.Elems != 1 {
		if i.Strides != nil || i.Order == tensor.Big {
			return nil, fmt.Errorf("blocks of type %v with strides or big endian", i.DType)
		}
		return raw, nil
	}
	size := int64(g.Bytes)
	out := make([]byte, 0, i.Elements()*size)
	at := make([]int64, len(i.Shape))
	for range i.Elements() {
		place := i.Offset
		for d := range at {
			stride := int64(1)
			if i.Strides != nil {
				stride = i.Strides[d]
			} else {
				for _, n := range i.Shape[d+1:] {
					stride *= n
				}
			}
			place += at[d] * stride
		}
		if place < 0 || (place+1)*size > int64(len(raw)) {
			return nil, fmt.Errorf("element %v lies at %d of %d bytes", at, place*size, len(raw))
		}
		out = append(out, raw[place*size:(place+1)*size]...)
		for d := len(at) - 1; d >= 0; d-- {
			if at[d]++; at[d] < i.Shape[d] {
				break
			}
			at[d] = 0
		}
	}
	if i.Order == tensor.Big {
		swap(out, i.DType)
	}
	return out, nil
}

// swap reverses the bytes of each number; a complex one has two.
func swap(p []byte, t tensor.DType) {
	g, _ := t.Geometry()
	n := int(g.Bytes)
	switch t {
	case tensor.C32, tensor.C64, tensor.C128:
		n /= 2
	}
	for ; len(p) > 0; p = p[n:] {
		slices.Reverse(p[:n])
	}
}

// Digest is the SHA-256 of p in hexadecimal.
func Digest(p []byte) string {
	sum := sha256.Sum256(p)
	return hex.EncodeToString(sum[:])
}
