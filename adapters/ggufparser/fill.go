package gguf_parser

import (
	"fmt"
	"slices"
	"strings"

	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/gguf"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// A filler writes down one file after the other.
type filler struct {
	b   *limits.Budget
	o   *options
	out *GGUFFile
}

// widths are what the fields of a header take, by version.
type widths struct{ count, dimension, start int64 }

func widthsOf(version uint32) widths {
	if version == 1 {
		return widths{count: 4, dimension: 4, start: 16}
	}
	return widths{count: 8, dimension: 8, start: 24}
}

// add appends what one file says.
func (l *filler) add(f *gguf.File, size int64, alone bool) error {
	out, w := l.out, widthsOf(f.Version())
	out.Header.Magic, out.Header.Version = GGUFMagicGGUFLe, GGUFVersion(f.Version())
	if f.Order() == tensor.Big {
		out.Header.Magic = GGUFMagicGGUFBe
	}
	at, err := l.metadata(f, w)
	if err != nil {
		return err
	}
	end, err := l.tensors(f, w, at)
	if err != nil {
		return err
	}
	data := f.DataOffset()
	model := GGUFBytesScalar(max(0, size-data))
	out.SplitPaddings = append(out.SplitPaddings, data-end)
	out.SplitTensorDataStartOffsets = append(out.SplitTensorDataStartOffsets, data)
	out.SplitSizes = append(out.SplitSizes, GGUFBytesScalar(size))
	out.SplitModelSizes = append(out.SplitModelSizes, model)
	out.Size += GGUFBytesScalar(size)
	out.ModelSize += model
	if alone {
		out.Padding, out.TensorDataStartOffset = data-end, data
	}
	return nil
}

// metadata appends the keys and returns where the list of tensors begins.
func (l *filler) metadata(f *gguf.File, w widths) (int64, error) {
	h, at := &l.out.Header, w.start
	for key, value := range f.Meta() {
		kv := GGUFMetadataKV{Key: strings.TrimSpace(key)}
		var err error
		if kv.ValueType, kv.Value, err = l.value(key, value, w); err != nil {
			return 0, fmt.Errorf("metadata %s: %w", kv.Key, err)
		}
		at = endOf(at+w.count+int64(len(key))+4, value, w)
		if kv.Key == "split.no" {
			continue
		}
		if h.MetadataKV, err = limits.Append(l.b, h.MetadataKV, kv); err != nil {
			return 0, err
		}
		h.MetadataKVCount++
	}
	return at, nil
}

// endOf is where a value ends that begins at an offset.
func endOf(at int64, value any, w widths) int64 {
	switch v := value.(type) {
	case uint8, int8, bool:
		return at + 1
	case uint16, int16:
		return at + 2
	case uint32, int32, float32:
		return at + 4
	case string:
		return at + w.count + int64(len(v))
	case gguf.Array:
		return v.Span().End()
	default:
		return at + 8
	}
}

// value is a value in the words of gguf-parser-go, which trims texts.
func (l *filler) value(key string, value any, w widths) (GGUFMetadataValueType, any, error) {
	switch v := value.(type) {
	case string:
		return GGUFMetadataValueTypeString, strings.TrimSpace(v), nil
	case gguf.Array:
		a, err := l.array(key, v, w)
		return GGUFMetadataValueTypeArray, a, err
	default:
		return scalarType(value), value, nil
	}
}

func scalarType(value any) GGUFMetadataValueType {
	switch value.(type) {
	case uint8:
		return GGUFMetadataValueTypeUint8
	case int8:
		return GGUFMetadataValueTypeInt8
	case uint16:
		return GGUFMetadataValueTypeUint16
	case int16:
		return GGUFMetadataValueTypeInt16
	case uint32:
		return GGUFMetadataValueTypeUint32
	case int32:
		return GGUFMetadataValueTypeInt32
	case float32:
		return GGUFMetadataValueTypeFloat32
	case bool:
		return GGUFMetadataValueTypeBool
	case uint64:
		return GGUFMetadataValueTypeUint64
	case int64:
		return GGUFMetadataValueTypeInt64
	default:
		return GGUFMetadataValueTypeFloat64
	}
}

// The arrays that are read whatever the options say, because estimates need them.
var needed = []string{".feed_forward_length", ".attention.head_count", ".attention.head_count_kv", ".attention.sliding_window_pattern"}

// array reads the elements of an array, or says only where they are.
func (l *filler) array(key string, a gguf.Array, w widths) (GGUFMetadataKVArrayValue, error) {
	v := GGUFMetadataKVArrayValue{
		Type: GGUFMetadataValueType(a.Elem()), Len: uint64(a.Len()),
		StartOffset: a.Span().Off - 4 - w.count, Size: a.Span().Len,
	}
	wanted := slices.ContainsFunc(needed, func(s string) bool { return strings.HasSuffix(key, s) })
	if l.o.skipLarge && !wanted {
		return v, nil
	}
	all, err := limits.Make[any](l.b, int(a.Len()))
	if err != nil {
		return v, err
	}
	i := 0
	for e, err := range a.All(l.b) {
		if err == nil {
			_, all[i], err = l.value(key, e, w)
		}
		if err != nil {
			return v, err
		}
		i++
	}
	v.Array = all
	return v, nil
}

// tensors appends the list of tensors, which begins at an offset, and returns its end.
func (l *filler) tensors(f *gguf.File, w widths, at int64) (int64, error) {
	i := 0
	for info := range f.Tensors() {
		dims, err := limits.Make[uint64](l.b, len(info.Shape))
		if err != nil {
			return 0, err
		}
		for d, n := range info.Shape {
			dims[len(dims)-1-d] = uint64(n)
		}
		t := GGUFTensorInfo{
			Name: strings.TrimSpace(info.Name), NDimensions: uint32(len(dims)), Dimensions: dims, Type: GGMLType(f.Type(i)),
			Offset: uint64(info.Span.Off - f.DataOffset()), StartOffset: at,
		}
		if l.out.TensorInfos, err = limits.Append(l.b, l.out.TensorInfos, t); err != nil {
			return 0, err
		}
		at += w.count + int64(len(info.Name)) + 4 + w.dimension*int64(len(dims)) + 4 + 8
		i++
	}
	l.out.Header.TensorCount += uint64(i)
	return at, nil
}
