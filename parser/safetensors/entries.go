package safetensors

import (
	"errors"
	"strings"

	"github.com/anamnesis-go/anamnesis/internal/strictjson"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// metadataKey is the only key of the header that is not a tensor.
const metadataKey = "__metadata__"

// fields are the required fields of a tensor's entry, in the order of the reference's
// writer.
var fields = []string{"dtype", "shape", "data_offsets"}

// An entry is the tensor that is being read.
type entry struct {
	*decoder
	json *strictjson.Decoder
	dims []int64  // block from which shapes are allocated
	nums []uint64 // the current shape or offsets
	info *tensor.Info
	at   uint32 // offset of the offsets in the header

	other int    // number of tensors of unknown type
	first string // name of the first of them
}

// entries reads the header's JSON into Infos and metadata.
func (d *decoder) entries() error {
	// An upper bound, exact unless a text holds braces: each tensor has one brace and at
	// least this many bytes.
	const shortest = len(`"":{"dtype":"","shape":[],"data_offsets":[0,0]},`)
	n := min(strings.Count(d.text, "{")-1, len(d.text)/shortest)
	var err error
	if d.h.Infos, err = limits.Make[tensor.Info](d.b, n); err != nil {
		return d.fail("header", lengthSize, err)
	}
	if d.places, err = limits.Make[uint32](d.b, n); err != nil {
		return d.fail("header", lengthSize, err)
	}
	d.h.Infos, d.places = d.h.Infos[:0], d.places[:0]
	text := strictjson.Text{Format: Format, Body: d.text, Off: lengthSize, Whole: d.part}
	e := entry{decoder: d}
	return within("header", strictjson.Decode(d.b, text, func(json *strictjson.Decoder) error {
		e.json = json
		if err := json.ObjectOf(n, e.member); err != nil {
			return err
		}
		if pad := strings.TrimLeft(json.Rest(), " "); pad != "" {
			return d.fail("header", lengthSize+int64(len(d.text)-len(pad)), wire.ErrTrailing.WithRule("safetensors.header-padding").Errorf("only spaces may follow the JSON object"))
		}
		return e.unknown()
	}))
}

// member reads one member of the header.
func (e *entry) member(name string) error {
	if name == metadataKey {
		return within(metadataKey, e.allMetadata())
	}
	if err := e.tensor(name); err != nil {
		return within("tensor "+wire.Quote(name), err)
	}
	return nil
}

// within adds a place to an error of the JSON reader.
func within(where string, err error) error {
	if at, ok := errors.AsType[*wire.Error](err); ok && at.Where == "" {
		at.Where = where
	}
	return err
}

// allMetadata reads the object of metadata, or null, which MLX writes if there is none.
func (e *entry) allMetadata() error {
	if kind, err := e.json.Kind(); err != nil || kind == strictjson.Null {
		return err
	}
	return e.json.Object(e.metadata)
}

func (e *entry) metadata(key string) error {
	value, err := e.json.String()
	if err != nil {
		return err
	}
	e.h.meta, err = limits.Append(e.b, e.h.meta, Entry{Key: key, Value: value})
	if err != nil {
		return e.json.Fail("", err)
	}
	return nil
}

func (e *entry) tensor(name string) error {
	start := e.json.Off()
	if err := e.grow(); err != nil {
		return e.fail("", start, err)
	}
	e.h.Infos = e.h.Infos[:len(e.h.Infos)+1]
	e.info = &e.h.Infos[len(e.h.Infos)-1] // zero, since entries are never removed
	e.info.Name = name
	has, err := e.json.Fields(fields, e.field)
	if err != nil {
		return err
	}
	if has != 1<<len(fields)-1 {
		return e.fail("", start, wire.ErrMissing.WithRule("safetensors.entry-incomplete").Errorf("an entry needs dtype, shape and data_offsets"))
	}
	if err := e.size(); err != nil {
		return e.fail("", lengthSize+int64(e.at), err)
	}
	if e.info.DType == tensor.Unknown {
		if e.other++; e.other == 1 {
			e.first = name
		}
	}
	e.places = append(e.places, e.at)
	return nil
}

// grow makes room for another tensor if the count was too low.
func (e *entry) grow() (err error) {
	if len(e.h.Infos) == cap(e.h.Infos) {
		if e.h.Infos, err = limits.Grow(e.b, e.h.Infos, 1); err != nil {
			return err
		}
	}
	if len(e.places) == cap(e.places) {
		e.places, err = limits.Grow(e.b, e.places, 1)
	}
	return err
}

func (e *entry) field(i int) error {
	switch i {
	case 0:
		text, err := e.json.String()
		e.info.Stored, e.info.DType = text, parseDType(text)
		return err
	case 1:
		return e.shape()
	default:
		return e.offsets()
	}
}

// shapeBlock is how many dimensions are allocated at once.
const shapeBlock = 4096

func (e *entry) shape() error {
	var err error
	if e.nums, err = e.json.Uints(e.nums[:0], wire.MaxSize); err != nil {
		return err
	}
	n := len(e.nums)
	if n > cap(e.dims)-len(e.dims) {
		block := max(n, min(shapeBlock, 2*cap(e.h.Infos)))
		if e.dims, err = limits.Make[int64](e.b, block); err != nil {
			return e.json.Fail("", err)
		}
		e.dims = e.dims[:0]
	}
	start := len(e.dims)
	for _, dim := range e.nums {
		e.dims = append(e.dims, int64(dim))
	}
	e.info.Shape = e.dims[start:len(e.dims):len(e.dims)]
	return nil
}

func (e *entry) offsets() error {
	e.at = uint32(e.json.Off() - lengthSize)
	var err error
	if e.nums, err = e.json.Uints(e.nums[:0], wire.MaxSize-uint64(e.h.Len)); err != nil {
		return err
	}
	if len(e.nums) != 2 {
		return e.fail("", lengthSize+int64(e.at), wire.ErrSyntax.WithRule("safetensors.offsets-count").Errorf("data_offsets has %d numbers, not two", len(e.nums)))
	}
	begin, end := e.nums[0], e.nums[1]
	if end < begin {
		return e.fail("", lengthSize+int64(e.at), wire.ErrRange.WithRule("safetensors.offsets-reversed").Errorf("data_offsets end at %d, before they begin at %d", end, begin))
	}
	e.info.Span = tensor.Span{Off: e.h.Len + int64(begin), Len: int64(end - begin)}
	return nil
}

// size compares the span with shape and type.
func (e *entry) size() error {
	g, known := e.info.DType.Geometry()
	n, ok := elements(e.info.Shape, g)
	if !ok {
		return wire.ErrOverflow.WithRule("safetensors.shape-overflow").Errorf("the elements or bytes of the shape do not fit 63 bits")
	}
	if !known {
		return nil
	}
	want, ok := g.Size(n)
	if !ok {
		return wire.ErrAlign.WithRule("safetensors.bits").Errorf("%d elements of %s do not fill whole bytes", n, e.info.Stored)
	}
	if want != uint64(e.info.Span.Len) {
		return wire.ErrMismatch.WithRule("safetensors.tensor-size").Errorf("data_offsets span %d bytes, but shape and dtype %s need %d", e.info.Span.Len, e.info.Stored, want)
	}
	return nil
}

// elements returns the product of a shape; ok is false if elements or bytes overflow. A
// zero dimension does not hide an overflow of the others, because loaders differ there.
func elements(shape []int64, g tensor.Geometry) (uint64, bool) {
	n, empty := uint64(1), false
	for _, dim := range shape {
		if dim == 0 {
			empty = true
			continue
		}
		var ok bool
		if n, ok = wire.Mul(n, uint64(dim)); !ok {
			return 0, false
		}
	}
	_, ok := wire.Mul(n, uint64(g.Bytes))
	if empty {
		n = 0
	}
	return n, ok
}

// unknown adds one finding if there are tensors of unknown types.
func (e *entry) unknown() error {
	if e.other == 0 {
		return nil
	}
	return e.h.Found.Add(e.b, Format, tensor.Finding{
		Code: "safetensors.dtype-unknown", Severity: tensor.Note,
		Where: "tensor " + wire.Quote(e.first), Off: wire.NoOffset,
		Text: plural(e.other, "tensor has a type that is not known here and cannot be read",
			"tensors have types that are not known here and cannot be read"),
	})
}
