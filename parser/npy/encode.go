package npy

import (
	"encoding/binary"
	"io"
	"slices"
	"strconv"
	"unicode/utf8"

	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

const (
	align = 64 // ARRAY_ALIGN of numpy.lib.format
	// growth is the number of digits up to which NumPy leaves room for the longest axis
	// to grow in place (GROWTH_AXIS_MAX_DIGITS).
	growth = 21
)

// EncodeHeader returns the header that numpy.save writes for the tensor, byte
// for byte. Info.Stored is written if it is a type of this format that means
// Info.DType; else DType and Order decide. Strides must be those of C or of
// Fortran order.
func EncodeHeader(b *limits.Budget, i *tensor.Info) ([]byte, error) {
	descr, err := describe(b, i)
	if err != nil {
		return nil, wire.At(format, "tensor "+wire.Quote(i.Name), wire.NoOffset, err)
	}
	fortran, err := isFortran(i)
	if err != nil {
		return nil, wire.At(format, "tensor "+wire.Quote(i.Name), wire.NoOffset, err)
	}
	// Braces, keys and padding fit into 256 bytes; a dimension has up to 20 digits and ",
	// ".
	buf, err := limits.Make[byte](b, 2*len(descr)+22*len(i.Shape)+256)
	if err != nil {
		return nil, wire.At(format, "tensor "+wire.Quote(i.Name), wire.NoOffset, err)
	}
	return wrap(dictionary(buf[:0], descr, fortran, i.Shape), descr)
}

// Encode writes header and data. The body must give exactly the tensor's bytes.
func Encode(b *limits.Budget, w io.Writer, i *tensor.Info, body io.Reader) error {
	head, err := EncodeHeader(b, i)
	if err != nil {
		return err
	}
	if _, err := w.Write(head); err != nil {
		return err
	}
	n, err := io.Copy(w, io.LimitReader(body, i.Span.Len+1))
	if err == nil && n != i.Span.Len {
		err = wire.At(format, "tensor "+wire.Quote(i.Name), wire.NoOffset, wire.ErrMismatch.Errorf("%d bytes of data, expected %d", n, i.Span.Len))
	}
	return err
}

// describe returns the tensor's type as a Python literal.
func describe(b *limits.Budget, i *tensor.Info) (string, error) {
	if len(i.Stored) > 0 && i.Stored[0] == '[' {
		l := literal{p: []byte(i.Stored), b: b, utf8: true}
		if _, err := l.descr(); err != nil || l.at != len(l.p) || i.DType != tensor.Unknown {
			return "", wire.ErrUnsupported.Errorf("type %s", wire.Quote(i.Stored))
		}
		return i.Stored, nil
	}
	if t, err := parseType(i.Stored); err == nil && t.DType == i.DType && t.Order == i.Order {
		return "'" + t.Descr + "'", nil
	}
	for _, n := range numberTypes {
		if n.dtype != i.DType || i.DType == tensor.Unknown {
			continue
		}
		order := "<"
		switch {
		case n.size == 1 && n.dtype != tensor.F8E5M2:
			order = "|"
		case i.Order == tensor.Big:
			order = ">"
		}
		return "'" + order + string(rune(n.kind)) + strconv.FormatInt(n.size, 10) + "'", nil
	}
	return "", wire.ErrUnsupported.Errorf("type %s has no name in this format", wire.Quote(i.TypeName()))
}

// isFortran reports whether the strides are those of Fortran order. If they are those of
// both orders, it is C order.
func isFortran(i *tensor.Info) (bool, error) {
	if i.Strides == nil {
		return false, nil
	}
	rows, columns := len(i.Strides) == len(i.Shape), len(i.Strides) == len(i.Shape)
	down, up := int64(1), int64(1)
	for k := range i.Strides {
		last := len(i.Shape) - 1 - k
		if !rows && !columns {
			break
		}
		columns = columns && i.Strides[k] == up
		rows = rows && i.Strides[last] == down
		up, down = up*i.Shape[k], down*i.Shape[last]
	}
	if !rows && !columns {
		return false, wire.ErrUnsupported.Errorf("strides %d of shape %d are neither C nor Fortran order", i.Strides, i.Shape)
	}
	return !rows, nil
}

// dictionary appends the repr of the header's dict and the room for growth.
func dictionary(p []byte, descr string, fortran bool, shape []int64) []byte {
	p = append(p, "{'descr': "...)
	p = append(p, descr...)
	p = append(p, ", 'fortran_order': "...)
	if fortran {
		p = append(p, "True"...)
	} else {
		p = append(p, "False"...)
	}
	p = append(p, ", 'shape': ("...)
	for k, n := range shape {
		if k > 0 {
			p = append(p, ", "...)
		}
		p = strconv.AppendInt(p, n, 10)
	}
	if len(shape) == 1 {
		p = append(p, ',')
	}
	p = append(p, "), }"...)
	if len(shape) == 0 {
		return p
	}
	grows := shape[0]
	if fortran {
		grows = shape[len(shape)-1]
	}
	return pad(p, growth-len(strconv.FormatInt(grows, 10)))
}

func pad(p []byte, n int) []byte {
	for range n {
		p = append(p, ' ')
	}
	return p
}

// wrap puts magic, version and length before the dictionary and pads it. The
// version is the first that can hold it.
func wrap(dict []byte, descr string) ([]byte, error) {
	version, prefix := byte(1), 10
	text, latin := latin1(dict)
	switch {
	case !latin:
		version, prefix, text = 3, 12, dict
	case padded(prefix, len(text))-prefix > 1<<16-1:
		version, prefix = 2, 12
	}
	total := padded(prefix, len(text))
	if total-prefix > maxHeader {
		return nil, wire.At(format, "", wire.NoOffset, wire.ErrUnsupported.Errorf("header of %d bytes for type %s", total, wire.Quote(descr)))
	}
	head := [12]byte{}
	copy(head[:], magic)
	head[6] = version
	binary.LittleEndian.PutUint32(head[8:], uint32(total-prefix))
	out := slices.Insert(text, 0, head[:prefix]...)
	return append(pad(out, total-1-len(out)), '\n'), nil
}

// padded returns the length of a header whose dictionary has n bytes. NumPy pads a header
// that is already aligned by a whole unit.
func padded(prefix, n int) int {
	n += prefix + 1
	return n + align - n%align
}

// latin1 converts UTF-8 to Latin-1 in place; ok is false if a character does not fit, and
// then p is unchanged.
func latin1(p []byte) ([]byte, bool) {
	for _, r := range string(p) {
		if r > 0xff {
			return p, false
		}
	}
	n := 0
	for i := 0; i < len(p); {
		r, size := utf8.DecodeRune(p[i:])
		p[n] = byte(r)
		n++
		i += size
	}
	return p[:n], true
}
