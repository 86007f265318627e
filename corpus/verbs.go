package corpus

import (
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
)

func verbs() map[string]verb {
	out := map[string]verb{
		"hex":     (*parser).hex,
		"str":     (*parser).str,
		"fmt":     (*parser).format,
		"repeat":  (*parser).repeat,
		"pad":     (*parser).pad,
		"align":   (*parser).align,
		"at":      (*parser).at,
		"cut":     (*parser).cut,
		"resum":   (*parser).resum,
		"len":     (*parser).length,
		"deflate": (*parser).deflate,
		"crc32":   (*parser).crc32,
		"seed":    (*parser).seed,
		"zip":     (*parser).zip,
		"op":      (*parser).op,
		"varint":  (*parser).varint,
		"crc32c":  (*parser).crc32c,
		"row":     (*parser).row,
		"block":   (*parser).tableBlock,
		"table":   (*parser).table,
	}
	for _, size := range []uint{8, 16, 32, 64} {
		for _, letter := range []string{"u", "i"} {
			name := letter + strconv.Itoa(int(size))
			out[name] = integers(size, binary.LittleEndian)
			out[name+"be"] = integers(size, binary.BigEndian)
		}
	}
	for _, size := range []uint{16, 32, 64} {
		name := "f" + strconv.Itoa(int(size))
		out[name] = floats(size, binary.LittleEndian)
		out[name+"be"] = floats(size, binary.BigEndian)
	}
	out["gstr"] = gstr(binary.LittleEndian)
	out["gstrbe"] = gstr(binary.BigEndian)
	return out
}

// put appends the low size bits of v.
func put(out []byte, order binary.AppendByteOrder, size uint, v uint64) []byte {
	switch size {
	case 8:
		return append(out, byte(v))
	case 16:
		return order.AppendUint16(out, uint16(v))
	case 32:
		return order.AppendUint32(out, uint32(v))
	default:
		return order.AppendUint64(out, v)
	}
}

// hex 93 4e 55: bytes, with or without spaces.
func (p *parser) hex() (node, error) {
	data, err := p.hexBytes()
	if err != nil || len(data) == 0 {
		return nil, p.fail("hex needs pairs of hexadecimal digits")
	}
	return func(b *builder) error { return b.write(data) }, nil
}

func (p *parser) hexBytes() ([]byte, error) {
	var digits strings.Builder
	for p.peek().kind == word {
		digits.WriteString(p.next().text)
	}
	return hex.DecodeString(digits.String())
}

// str "..." "...": text with Go's escapes, so \xff is a byte.
func (p *parser) str() (node, error) {
	var all string
	for first := true; first || p.peek().kind == text; first = false {
		s, err := p.text()
		if err != nil {
			return nil, err
		}
		all += s
	}
	return func(b *builder) error { return b.write([]byte(all)) }, nil
}

// fmt "t%d:%x" i i*8: text with numbers in it.
func (p *parser) format() (node, error) {
	s, err := p.text()
	if err != nil {
		return nil, err
	}
	var args []expr
	for p.peek().kind == word {
		e, err := p.number()
		if err != nil {
			return nil, err
		}
		args = append(args, e)
	}
	if n := strings.Count(strings.ReplaceAll(s, "%%", ""), "%"); n != len(args) {
		return nil, p.fail("fmt: the text has %d verbs, but %d numbers follow", n, len(args))
	}
	return func(b *builder) error {
		values := make([]any, len(args))
		for i, e := range args {
			v, err := e.eval(b.counters)
			if err != nil {
				return err
			}
			values[i] = v.abs
			if v.neg {
				values[i] = -int64(v.abs)
			}
		}
		return b.write(fmt.Appendf(nil, s, values...))
	}, nil
}

// u8 1 2 3, i32be -1, ...: integers.
func integers(size uint, order binary.AppendByteOrder) verb {
	return func(p *parser) (node, error) {
		return p.numbers(size, func(v uint64) []byte { return put(nil, order, size, v) })
	}
}

// numbers parses numbers of the given bits, and writes what turn returns for each.
func (p *parser) numbers(size uint, turn func(uint64) []byte) (node, error) {
	var list []expr
	for first := true; first || p.peek().kind == word; first = false {
		e, err := p.number()
		if err != nil {
			return nil, err
		}
		list = append(list, e)
	}
	return func(b *builder) error {
		for _, e := range list {
			if err := b.number(e, size, turn); err != nil {
				return err
			}
		}
		return nil
	}, nil
}

// number writes what turn returns for a number of the given bits.
func (b *builder) number(e expr, size uint, turn func(uint64) []byte) error {
	n, err := e.eval(b.counters)
	if err != nil {
		return err
	}
	v, ok := n.fits(size)
	if !ok {
		return fmt.Errorf("%v does not fit %d bits", n, size)
	}
	return b.write(turn(v))
}

func (b *builder) integer(e expr, size uint, order binary.AppendByteOrder) error {
	return b.number(e, size, func(v uint64) []byte { return put(nil, order, size, v) })
}

// f32 1.5 -inf nan, f16be, f64: floating point, rounded to nearest even.
func floats(size uint, order binary.AppendByteOrder) verb {
	return func(p *parser) (node, error) {
		var out []byte
		for first := true; first || p.peek().kind == word; first = false {
			v, err := strconv.ParseFloat(p.next().text, 64)
			if err != nil {
				return nil, p.fail("f%d needs numbers", size)
			}
			bits := math.Float64bits(v)
			switch size {
			case 16:
				bits = uint64(half(v))
			case 32:
				bits = uint64(math.Float32bits(float32(v)))
			}
			out = put(out, order, size, bits)
		}
		return func(b *builder) error { return b.write(out) }, nil
	}
}

// half rounds to IEEE binary16, to nearest even.
func half(v float64) uint16 {
	sign := uint16(math.Float64bits(v) >> 48 & 0x8000)
	v = math.Abs(v)
	switch {
	case v != v:
		return sign | 0x7e00
	case v >= 65520:
		return sign | 0x7c00
	case v < 0x1p-14:
		return sign | uint16(math.RoundToEven(v*0x1p24))
	}
	_, exp := math.Frexp(v) // v = m * 2^exp, m in [0.5, 1)
	return sign | uint16(math.RoundToEven(math.Ldexp(v, 11-exp))) + uint16(exp+13)<<10
}

// repeat N { ... }
func (p *parser) repeat() (node, error) {
	n, err := p.number()
	if err != nil {
		return nil, err
	}
	differs := new(bool)
	p.repeats = append(p.repeats, differs)
	body, err := p.body()
	p.repeats = p.repeats[:len(p.repeats)-1]
	if err != nil {
		return nil, err
	}
	return func(b *builder) error {
		count, err := n.eval(b.counters)
		if err != nil || count.neg {
			return fmt.Errorf("%v is not a count", count)
		}
		return b.repeat(count.abs, body, *differs)
	}, nil
}

// pad N [byte]: N times that byte, zero by default.
func (p *parser) pad() (node, error) {
	n, v, err := p.countAndByte()
	if err != nil {
		return nil, err
	}
	return func(b *builder) error {
		count, fill, err := evalCountAndByte(b, n, v)
		if err != nil {
			return err
		}
		return b.fill(count, fill)
	}, nil
}

// align N [byte]: up to the next multiple of N in this block.
func (p *parser) align() (node, error) {
	n, v, err := p.countAndByte()
	if err != nil {
		return nil, err
	}
	p.dependsOnPosition()
	return func(b *builder) error {
		to, fill, err := evalCountAndByte(b, n, v)
		if err != nil {
			return err
		}
		if to == 0 {
			return errors.New("the number must be positive")
		}
		return b.fill((to-uint64(len(b.out))%to)%to, fill)
	}, nil
}

func (p *parser) countAndByte() (n, v expr, err error) {
	if n, err = p.number(); err == nil && p.peek().kind == word {
		v, err = p.number()
	}
	return n, v, err
}

func evalCountAndByte(b *builder, count, fill expr) (uint64, byte, error) {
	n, err := count.eval(b.counters)
	if err != nil || n.neg {
		return 0, 0, fmt.Errorf("%v is not a count", n)
	}
	v, err := fill.eval(b.counters)
	if err != nil || v.neg || v.abs > 255 {
		return 0, 0, fmt.Errorf("%v is not a byte", v)
	}
	return n.abs, byte(v.abs), nil
}

// at OFFSET { ... }: overwrites the bytes at an offset, negative from the end.
func (p *parser) at() (node, error) {
	at, err := p.number()
	if err != nil {
		return nil, err
	}
	p.dependsOnPosition()
	body, err := p.body()
	if err != nil {
		return nil, err
	}
	return func(b *builder) error {
		off, err := at.eval(b.counters)
		if err != nil {
			return err
		}
		data, err := b.buildBlock(body)
		if err != nil {
			return err
		}
		return b.overwrite(off, data)
	}, nil
}

// resum FROM SIZE AT: writes the checksum of the SIZE bytes at FROM as HDF5 has it, at AT, which
// counts as zeros if it is among them.
func (p *parser) resum() (node, error) {
	var nums [3]expr
	for i := range nums {
		var err error
		if nums[i], err = p.number(); err != nil {
			return nil, err
		}
	}
	p.dependsOnPosition()
	return func(b *builder) error {
		var v [3]number
		for i, n := range nums {
			var err error
			if v[i], err = n.eval(b.counters); err != nil {
				return err
			}
		}
		from, err := b.index(v[0])
		if err != nil {
			return err
		}
		if v[1].neg || v[1].abs > uint64(len(b.out)-from) {
			return fmt.Errorf("resum: %v bytes at %d of %d", v[1], from, len(b.out))
		}
		if err := b.overwrite(v[2], make([]byte, 4)); err != nil {
			return err
		}
		return b.overwrite(v[2], put(nil, binary.LittleEndian, 32, uint64(lookup3(b.out[from:from+int(v[1].abs)]))))
	}, nil
}

// cut N: keeps the first N bytes of the block so far; negative, drops the last.
func (p *parser) cut() (node, error) {
	n, err := p.number()
	if err != nil {
		return nil, err
	}
	p.dependsOnPosition()
	return func(b *builder) error {
		to, err := n.eval(b.counters)
		if err != nil {
			return err
		}
		end, err := b.index(to)
		if err != nil {
			return err
		}
		b.out = b.out[:end]
		return nil
	}, nil
}
