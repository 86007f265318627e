package safetensors

import (
	"cmp"
	"encoding/binary"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// A Plan is how a file is laid out before any of its data is known.
type Plan struct {
	// Header is the file's first bytes: length, JSON, padding.
	Header []byte
	// Order lists the tensors, by their index in what [Layout] was given, in
	// the order of their bytes.
	Order []int32
	// Offsets is where each tensor's bytes begin in the file, by its index.
	Offsets []int64
	// Size is the length of the file.
	Size int64
}

// Layout plans a file of these tensors and metadata as the reference's Python
// writer does, byte for byte: tensors by type, the widest first, then by name,
// the JSON padded by spaces to a multiple of 8. Of each Info it reads name, type
// and shape. Metadata is sorted by key, where the reference's order is random;
// nil writes none, and an empty list writes an empty object.
func Layout(b *limits.Budget, infos []tensor.Info, meta []Entry) (*Plan, error) {
	p := &planner{b: b, infos: infos}
	if err := p.sort(); err != nil {
		return nil, err
	}
	if meta != nil {
		var err error
		if meta, err = limits.Clone(b, meta); err != nil {
			return nil, encodeError("", err)
		}
		slices.SortFunc(meta, func(x, y Entry) int { return strings.Compare(x.Key, y.Key) })
	}
	if err := p.header(meta); err != nil {
		return nil, err
	}
	for i := range p.plan.Offsets {
		p.plan.Offsets[i] += int64(len(p.plan.Header))
	}
	p.plan.Size += int64(len(p.plan.Header))
	return &p.plan, nil
}

type planner struct {
	b     *limits.Budget
	infos []tensor.Info
	plan  Plan
}

func encodeError(where string, err error) error {
	return wire.At(Format, where, wire.NoOffset, err)
}

// sort sets Order and Offsets, relative to the end of the header.
func (p *planner) sort() error {
	order, err := limits.Make[int32](p.b, len(p.infos))
	if err != nil {
		return encodeError("", err)
	}
	offsets, err := limits.Make[int64](p.b, len(p.infos))
	if err != nil {
		return encodeError("", err)
	}
	for i := range p.infos {
		if err := storable(&p.infos[i]); err != nil {
			return encodeError("tensor "+wire.Quote(p.infos[i].Name), err)
		}
		order[i] = int32(i)
	}
	err = limits.SortUnstable(p.b, order, func(i, j int32) int {
		x, y := &p.infos[i], &p.infos[j]
		return cmp.Or(rank(y.DType)-rank(x.DType), strings.Compare(x.Name, y.Name))
	})
	if err != nil {
		return encodeError("", err)
	}
	end := uint64(0)
	for _, i := range order {
		offsets[i] = int64(end)
		var ok bool
		if end, ok = wire.Add(end, byteSize(&p.infos[i])); !ok || end > wire.MaxSize-lengthSize-MaxHeader {
			return encodeError("", wire.ErrUnsupported.Errorf("more bytes of data than a file can hold"))
		}
	}
	p.plan.Order, p.plan.Offsets, p.plan.Size = order, offsets, int64(end)
	return p.unique()
}

// unique returns an error if two tensors have the same name.
func (p *planner) unique() error {
	set, err := wire.NewNameSet(p.b, len(p.infos), func(i int) string { return p.infos[i].Name })
	if err != nil {
		return encodeError("", err)
	}
	for i := range p.infos {
		if _, added, err := set.Add(i); err != nil {
			return encodeError("", err)
		} else if !added {
			return encodeError("", wire.ErrDuplicate.Errorf("two tensors are named %s", wire.Quote(p.infos[i].Name)))
		}
	}
	return nil
}

// storable returns an error if the format cannot hold a tensor.
func storable(t *tensor.Info) error {
	switch {
	case !Stores(t.DType):
		return wire.ErrUnsupported.Errorf("safetensors cannot hold the type %s", wire.Quote(t.TypeName()))
	case t.Name == metadataKey:
		return wire.ErrUnsupported.Errorf("safetensors reserves this name for metadata")
	case !utf8.ValidString(t.Name):
		return wire.ErrUnsupported.Errorf("the name is not UTF-8")
	case t.Strides != nil || t.Order == tensor.Big:
		return wire.ErrUnsupported.Errorf("safetensors holds row-major, little-endian data only")
	}
	g, _ := t.DType.Geometry()
	n, ok := elements(t.Shape, g)
	if !ok {
		return wire.ErrUnsupported.Errorf("the elements or bytes of its shape do not fit 63 bits")
	}
	if _, ok := g.Size(n); !ok {
		return wire.ErrUnsupported.Errorf("%d elements of %v do not fill whole bytes", n, t.DType)
	}
	return nil
}

// byteSize returns the size of a storable tensor.
func byteSize(t *tensor.Info) uint64 {
	g, _ := t.DType.Geometry()
	n, _ := wire.Product(t.Shape)
	size, _ := g.Size(n)
	return size
}

// header writes the length, the JSON and its padding.
func (p *planner) header(meta []Entry) error {
	w := writer{b: p.b}
	w.put("\x00\x00\x00\x00\x00\x00\x00\x00{")
	comma := ""
	if meta != nil {
		w.metadata(meta)
		comma = ","
	}
	for _, i := range p.plan.Order {
		w.put(comma)
		w.tensor(&p.infos[i], p.plan.Offsets[i])
		comma = ","
	}
	w.put("}")
	for w.err == nil && len(w.buf)%8 != 0 {
		w.put(" ")
	}
	if w.err != nil {
		return encodeError("", w.err)
	}
	binary.LittleEndian.PutUint64(w.buf, uint64(len(w.buf)-lengthSize))
	p.plan.Header = w.buf
	return nil
}

// Encode writes a model as one safetensors file: its tensors as they are, and
// the metadata whose values are strings.
func Encode(b *limits.Budget, w io.Writer, m tensor.Model) error {
	infos, err := limits.Make[tensor.Info](b, m.Len())
	if err != nil {
		return encodeError("", err)
	}
	infos = infos[:0]
	for t := range m.Tensors() {
		if infos, err = limits.Append(b, infos, t); err != nil {
			return encodeError("", err)
		}
	}
	var meta []Entry
	for k, v := range m.Meta() {
		if s, ok := v.(string); ok {
			if meta, err = limits.Append(b, meta, Entry{Key: k, Value: s}); err != nil {
				return encodeError("", err)
			}
		}
	}
	plan, err := Layout(b, infos, meta)
	if err != nil {
		return err
	}
	if _, err := w.Write(plan.Header); err != nil {
		return err
	}
	buf, err := limits.Make[byte](b, copySize)
	if err != nil {
		return encodeError("", err)
	}
	for _, i := range plan.Order {
		if err := copyBody(b, w, m, &infos[i], buf); err != nil {
			return err
		}
	}
	return nil
}

// copySize is the buffer size for copying bodies.
const copySize = 256 << 10

func copyBody(b *limits.Budget, w io.Writer, m tensor.Model, t *tensor.Info, buf []byte) error {
	body, err := m.Body(b, *t)
	if err != nil {
		return err
	}
	defer body.Close()
	want := int64(byteSize(t))
	n, err := io.CopyBuffer(struct{ io.Writer }{w}, io.LimitReader(body, want+1), buf)
	if err == nil && n != want {
		err = encodeError("tensor "+wire.Quote(t.Name), wire.ErrMismatch.Errorf("its body does not have the %d bytes of its shape", want))
	}
	return err
}
