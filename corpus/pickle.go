package corpus

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/big"
	"slices"
	"strconv"
	"strings"
)

// op NAME operand...: one pickle instruction. raw="..." gives the operand's bytes
// unchanged, len=N overrides a length.
func (p *parser) op() (node, error) {
	t := p.next()
	o, ok := opcodes[t.text]
	if !ok || t.kind != word {
		return nil, fmt.Errorf("line %d: op: no opcode has the name %q", t.line, t.text)
	}
	operand, err := p.operand(o.layout)
	if err != nil {
		return nil, err
	}
	own, err := p.attrs(func(key string) bool { return key == "raw" || key == "len" && o.layout >= data1 })
	if err != nil {
		return nil, err
	}
	if _, has := own["raw"]; has {
		operand = func(b *builder) error {
			raw, err := own.bytes(b, "raw")
			if err != nil {
				return err
			}
			return b.write(raw)
		}
	} else if operand == nil {
		return nil, p.fail("op %s needs an operand", t.text)
	}
	return func(b *builder) error {
		if err := b.write([]byte{o.code}); err != nil {
			return err
		}
		at := len(b.out)
		if err := operand(b); err != nil {
			return err
		}
		if _, has := own["len"]; !has {
			return nil
		}
		n, err := own.num(b, "len", 0)
		size := lengthSize(o.layout)
		v, fits := n.fits(size)
		if err == nil && !fits {
			err = fmt.Errorf("len=%v does not fit %d bits", n, size)
		}
		copy(b.out[at:], put(nil, binary.LittleEndian, size, v))
		return err
	}, nil
}

// operand parses an operand in its natural form; nil if there is none.
func (p *parser) operand(l layout) (node, error) {
	switch {
	case l == bare:
		return func(*builder) error { return nil }, nil
	case !p.more():
		return nil, nil
	}
	switch l {
	case u1, u2, u4, u8, i4:
		e, err := p.number()
		if err != nil {
			return nil, err
		}
		return fixed(e, l), nil
	case integer1, integer4:
		return p.integer(l)
	case decimal, long:
		return p.digits(l)
	case real, double:
		return p.real(l)
	case data1, data4, data8:
		return p.data(l)
	default:
		return p.lines(l)
	}
}

func fixed(e expr, l layout) node {
	size := map[layout]uint{u1: 8, u2: 16, u4: 32, u8: 64, i4: 32}[l]
	return func(b *builder) error { return b.integer(e, size, binary.LittleEndian) }
}

// lengthSize returns the number of bits of the length before an operand.
func lengthSize(l layout) uint {
	switch l {
	case data1, integer1:
		return 8
	case data8:
		return 64
	default:
		return 32
	}
}

func sized(l layout, data []byte) ([]byte, error) {
	size := lengthSize(l)
	if size < 64 && uint64(len(data)) >= 1<<size {
		return nil, fmt.Errorf("%d bytes do not fit a length of %d bits", len(data), size)
	}
	return append(put(nil, binary.LittleEndian, size, uint64(len(data))), data...), nil
}

// integer parses a decimal or hexadecimal integer of any size, or hex and its bytes.
func (p *parser) integer(l layout) (node, error) {
	t := p.next()
	var data []byte
	if t.text == "hex" && t.kind == word {
		var err error
		if data, err = p.hexBytes(); err != nil {
			return nil, p.fail("hex needs pairs of hexadecimal digits")
		}
	} else {
		n, ok := new(big.Int).SetString(t.text, 0)
		if !ok {
			return nil, p.fail("%v is not an integer", t)
		}
		data = complement(n)
	}
	out, err := sized(l, data)
	if err != nil {
		return nil, p.fail("%v", err)
	}
	return func(b *builder) error { return b.write(out) }, nil
}

// complement returns the shortest little-endian two's complement, empty for zero.
func complement(n *big.Int) []byte {
	if n.Sign() == 0 {
		return nil
	}
	size := n.BitLen()/8 + 1 // with room for the sign
	if n.Sign() < 0 {
		n = new(big.Int).Add(n, new(big.Int).Lsh(big.NewInt(1), uint(8*size)))
	}
	out := make([]byte, size)
	n.FillBytes(out)
	slices.Reverse(out)
	for len(out) > 1 && (out[len(out)-1] == 0 && out[len(out)-2] < 0x80 || out[len(out)-1] == 0xff && out[len(out)-2] >= 0x80) {
		out = out[:len(out)-1]
	}
	return out
}

// digits parses a number that is written as text; "01" in quotes is written unchanged.
func (p *parser) digits(l layout) (node, error) {
	end := "\n"
	if l == long {
		end = "L\n"
	}
	if p.peek().kind == text {
		s := p.next().text + end
		return func(b *builder) error { return b.write([]byte(s)) }, nil
	}
	e, err := p.number()
	if err != nil {
		return nil, err
	}
	return func(b *builder) error {
		n, err := e.eval(b.counters)
		if err != nil {
			return err
		}
		return b.write([]byte(n.String() + end))
	}, nil
}

func (p *parser) real(l layout) (node, error) {
	t := p.next()
	v, err := strconv.ParseFloat(t.text, 64)
	if err != nil {
		return nil, p.fail("%v is not a number", t)
	}
	out := []byte(t.text + "\n")
	if l == double {
		out = binary.BigEndian.AppendUint64(nil, math.Float64bits(v))
	}
	return func(b *builder) error { return b.write(out) }, nil
}

func (p *parser) data(l layout) (node, error) {
	s, err := p.text()
	if err != nil {
		return nil, err
	}
	out, err := sized(l, []byte(s))
	if err != nil {
		return nil, p.fail("%v", err)
	}
	return func(b *builder) error { return b.write(out) }, nil
}

func (p *parser) lines(l layout) (node, error) {
	s, err := p.text()
	if err != nil {
		return nil, err
	}
	switch l {
	case quoted:
		s = "'" + strings.NewReplacer(`\`, `\\`, `'`, `\'`, "\n", `\n`).Replace(s) + "'"
	case escaped:
		s = strings.NewReplacer(`\`, `\u005c`, "\n", `\u000a`).Replace(s)
	case pair:
		name, err := p.text()
		if err != nil {
			return nil, err
		}
		s += "\n" + name
	}
	s += "\n"
	return func(b *builder) error { return b.write([]byte(s)) }, nil
}
