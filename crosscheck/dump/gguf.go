package main

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash"
	"io"
	"math"

	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/gguf"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// A ggufFile is the content of a GGUF file except its tensors.
type ggufFile struct {
	Version    uint32           `json:"version"`
	Big        bool             `json:"big"`
	Alignment  int64            `json:"alignment"`
	DataOffset int64            `json:"data_offset"`
	Fields     map[string]field `json:"fields"`
	Offsets    map[string]place `json:"offsets"`
}

// A field is the kinds of a value, outermost first, and the digest of the
// scalars in it; gguf.py makes the same of what gguf-py reads.
type field struct {
	Kinds  []uint32 `json:"kinds"`
	Digest string   `json:"digest"`
}

type place struct {
	Part   int32 `json:"part"`
	Offset int64 `json:"offset"`
	Bytes  int64 `json:"bytes"`
}

// firstGGUF finds the file whose metadata a model has.
func firstGGUF(m tensor.Model) *gguf.File {
	for {
		switch f := m.(type) {
		case *gguf.File:
			return f
		case interface{ First() tensor.Model }:
			m = f.First()
		case interface{ Unwrap() tensor.Model }:
			m = f.Unwrap()
		default:
			return nil
		}
	}
}

func ggufOf(b *limits.Budget, m tensor.Model) (*ggufFile, error) {
	f := firstGGUF(m)
	if f == nil {
		return nil, nil
	}
	out := &ggufFile{f.Version(), f.Order() == tensor.Big, f.Alignment(), f.DataOffset(), map[string]field{}, map[string]place{}}
	for k, v := range m.Meta() {
		h := sha256.New()
		kinds, err := scalars(b, h, v)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", k, err)
		}
		out.Fields[k] = field{kinds, hex.EncodeToString(h.Sum(nil))}
	}
	for i := range m.Tensors() {
		out.Offsets[i.Name] = place{i.Part, i.Span.Off, i.Span.Len}
	}
	return out, nil
}

// scalars writes the scalars of a value, one per line, arrays flattened.
func scalars(b *limits.Budget, h hash.Hash, v any) ([]uint32, error) {
	a, ok := v.(gguf.Array)
	if !ok {
		kind, text := scalar(v)
		io.WriteString(h, text)
		return []uint32{kind}, nil
	}
	kinds := []uint32{9, uint32(a.Elem())}
	first := true
	for e, err := range a.All(b) {
		if err != nil {
			return nil, err
		}
		inner, err := scalars(b, h, e)
		if err != nil {
			return nil, err
		}
		if first {
			kinds = append(kinds[:1], inner...)
		}
		first = false
	}
	return kinds, nil
}

// scalar is a value's kind and one line of text: floats by their bits, texts by
// their length.
func scalar(v any) (uint32, string) {
	switch v := v.(type) {
	case string:
		return 8, fmt.Sprintf("%d:%s\n", len(v), v)
	case float32:
		return 6, fmt.Sprintf("%08x\n", math.Float32bits(v))
	case float64:
		return 12, fmt.Sprintf("%016x\n", math.Float64bits(v))
	case bool:
		return 7, fmt.Sprintf("%v\n", v)
	default:
		return wholeKind(v), fmt.Sprintf("%d\n", v)
	}
}

func wholeKind(v any) uint32 {
	switch v.(type) {
	case uint8:
		return 0
	case int8:
		return 1
	case uint16:
		return 2
	case int16:
		return 3
	case uint32:
		return 4
	case int32:
		return 5
	case uint64:
		return 10
	case int64:
		return 11
	default:
		panic(fmt.Sprintf("internal error: a value of the type %T", v))
	}
}
