package edit

import (
	"math"
	"strconv"

	"github.com/anamnesis-go/anamnesis/internal/strictjson"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/gguf"
)

// scalar reads one value of a kind.
func (r metaReader) scalar(k gguf.Kind) (any, error) {
	switch k {
	case gguf.KindU8:
		return boxed(r.d, unsigned[uint8])
	case gguf.KindI8:
		return boxed(r.d, signed[int8])
	case gguf.KindU16:
		return boxed(r.d, unsigned[uint16])
	case gguf.KindI16:
		return boxed(r.d, signed[int16])
	case gguf.KindU32:
		return boxed(r.d, unsigned[uint32])
	case gguf.KindI32:
		return boxed(r.d, signed[int32])
	case gguf.KindU64:
		return boxed(r.d, unsigned[uint64])
	case gguf.KindI64:
		return boxed(r.d, signed[int64])
	case gguf.KindF32:
		return boxed(r.d, single)
	case gguf.KindF64:
		return boxed(r.d, (*strictjson.Decoder).Float)
	case gguf.KindBool:
		return boxed(r.d, (*strictjson.Decoder).Bool)
	default:
		return boxed(r.d, textOf)
	}
}

// list reads an array of values of a kind.
func (r metaReader) list(k gguf.Kind) (any, error) {
	switch k {
	case gguf.KindU8:
		return listOf(r, unsigned[uint8])
	case gguf.KindI8:
		return listOf(r, signed[int8])
	case gguf.KindU16:
		return listOf(r, unsigned[uint16])
	case gguf.KindI16:
		return listOf(r, signed[int16])
	case gguf.KindU32:
		return listOf(r, unsigned[uint32])
	case gguf.KindI32:
		return listOf(r, signed[int32])
	case gguf.KindU64:
		return listOf(r, unsigned[uint64])
	case gguf.KindI64:
		return listOf(r, signed[int64])
	case gguf.KindF32:
		return listOf(r, single)
	case gguf.KindF64:
		return listOf(r, (*strictjson.Decoder).Float)
	case gguf.KindBool:
		return listOf(r, (*strictjson.Decoder).Bool)
	default:
		return listOf(r, textOf)
	}
}

func listOf[T any](r metaReader, read func(*strictjson.Decoder) (T, error)) (any, error) {
	var list []T
	err := r.d.Array(func(int) error {
		v, err := read(r.d)
		if err == nil {
			list, err = limits.Append(r.b, list, v)
		}
		return err
	})
	return list, err
}

func boxed[T any](d *strictjson.Decoder, read func(*strictjson.Decoder) (T, error)) (any, error) {
	v, err := read(d)
	return v, err
}

func unsigned[T uint8 | uint16 | uint32 | uint64](d *strictjson.Decoder) (T, error) {
	n, err := d.Uint(uint64(^T(0)))
	return T(n), err
}

func signed[T int8 | int16 | int32 | int64](d *strictjson.Decoder) (T, error) {
	at := d.Off()
	n, err := d.Int()
	if err == nil && int64(T(n)) != n {
		err = d.FailAt("", at, wire.ErrRange.Errorf("%d does not fit", n))
	}
	return T(n), err
}

// single reads a number and rounds it to f32. A number that is too large for it is
// refused.
func single(d *strictjson.Decoder) (float32, error) {
	at := d.Off()
	s, err := d.Number()
	if err != nil {
		return 0, err
	}
	f, err := strconv.ParseFloat(s, 32)
	if err != nil || math.IsInf(f, 0) {
		return 0, d.FailAt("", at, wire.ErrRange.Errorf("the number is too large for f32"))
	}
	return float32(f), nil
}

func textOf(d *strictjson.Decoder) (string, error) {
	at := d.Off()
	s, err := d.String()
	if err == nil && !isText(s) {
		err = d.FailAt("", at, wire.ErrText.Errorf("a string holds a NUL"))
	}
	return s, err
}
