package family

import (
	"encoding/binary"
	"math"

	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// readNumber reads the single value of a tensor that becomes an element of a key.
func (p *planner) readNumber(i *tensor.Info, at *location) error {
	r, direct := p.m.At(*i)
	g, _ := i.DType.Geometry()
	if !direct || i.Elements() != 1 || g.Elems != 1 || g.Bytes > 4 {
		return wire.ErrUnsupported.Errorf("a number that becomes a key, and cannot be read at an offset")
	}
	var have [4]byte
	if err := wire.ReadFull(r, have[4-g.Bytes:], 0); err != nil {
		return err
	}
	if i.Order != tensor.Little {
		return wire.ErrUnsupported.Errorf("a number that becomes a key, in big-endian order")
	}
	f := math.Float32frombits(binary.LittleEndian.Uint32(have[:]))
	if i.DType == tensor.F16 {
		f = halfNumber(binary.LittleEndian.Uint16(have[2:]))
	}
	if math.IsInf(float64(f), 0) || math.IsNaN(float64(f)) {
		return wire.ErrRange.Errorf("it is %v", f)
	}
	if p.numbers == nil {
		p.numbers = map[string][]float32{}
	}
	list := p.numbers[at.name.key]
	if list == nil {
		var err error
		if list, err = limits.Make[float32](p.b, int(p.c.layers())); err != nil {
			return err
		}
		for l := range list {
			list[l] = float32(math.NaN()) // until it is read
		}
	}
	list[at.layer] = f
	p.numbers[at.name.key] = list
	return nil
}

// hasNumber reports whether the value of a layer was read.
func (p *planner) hasNumber(at *location) bool {
	list := p.numbers[at.name.key]
	return list != nil && !math.IsNaN(float64(list[at.layer]))
}

// halfNumber converts an F16.
func halfNumber(bits uint16) float32 {
	exponent, fraction := int(bits>>10&31), float64(bits&1023)
	f := math.Ldexp(1+fraction/1024, exponent-15)
	switch exponent {
	case 0:
		f = math.Ldexp(fraction, -24)
	case 31:
		f = math.Inf(1)
	}
	if bits&0x8000 != 0 {
		f = -f
	}
	return float32(f)
}
