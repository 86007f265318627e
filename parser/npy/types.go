package npy

import (
	"strings"

	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// numberTypes are the types with a [tensor.DType], by kind and size.
var numberTypes = [...]struct {
	kind  byte
	size  int64
	dtype tensor.DType
}{
	{'b', 1, tensor.Bool},
	{'i', 1, tensor.I8}, {'i', 2, tensor.I16}, {'i', 4, tensor.I32}, {'i', 8, tensor.I64},
	{'u', 1, tensor.U8}, {'u', 2, tensor.U16}, {'u', 4, tensor.U32}, {'u', 8, tensor.U64},
	{'f', 2, tensor.F16}, {'f', 4, tensor.F32}, {'f', 8, tensor.F64},
	{'c', 8, tensor.C64}, {'c', 16, tensor.C128},
	{'f', 1, tensor.F8E5M2}, {'V', 2, tensor.BF16},
	{'f', 12, tensor.Unknown}, {'f', 16, tensor.Unknown}, {'c', 24, tensor.Unknown}, {'c', 32, tensor.Unknown},
}

// parseType reads a type string: byte order, kind, size, and the unit of a time.
func parseType(s string) (Type, error) {
	if len(s) < 2 || strings.IndexByte("<>=|", s[0]) < 0 || !letter(s[1]) {
		return Type{}, wire.ErrSyntax.WithRule("npy.type-syntax").Errorf("type %s", wire.Quote(s))
	}
	order, kind, rest := s[0], s[1], s[2:]
	if kind == 'O' {
		return Type{}, wire.ErrForbidden.WithRule("npy.object").Errorf("object type %s: the data is a pickle and is not read", wire.Quote(s))
	}
	size, unit, ok := digits(rest)
	if !ok || unit != "" && (kind != 'M' && kind != 'm' || !timeUnit(unit)) {
		return Type{}, wire.ErrSyntax.WithRule("npy.type-syntax").Errorf("type %s", wire.Quote(s))
	}
	if kind == 'U' {
		size *= 4
	}
	t := Type{Descr: s, Size: size}
	switch {
	case size > maxItem:
		return Type{}, wire.ErrRange.WithRule("npy.item-size").Errorf("type %s has more than %d bytes", wire.Quote(s), int64(maxItem))
	case (kind == 'M' || kind == 'm') && size != 8:
		return Type{}, wire.ErrSyntax.WithRule("npy.type-syntax").Errorf("type %s: times have 8 bytes", wire.Quote(s))
	}
	t.classify(kind)
	return t, t.order(order, kind)
}

// classify sets the DType, or notes why it is unknown.
func (t *Type) classify(kind byte) {
	for _, n := range numberTypes {
		if n.kind == kind && n.size == t.Size {
			t.DType = n.dtype
			switch n.dtype {
			case tensor.BF16:
				t.note |= noteBF16
			case tensor.F8E5M2:
				t.note |= noteE5M2
			}
			return
		}
	}
	switch {
	case kind == 'V' && t.Size == 1:
		t.note |= noteLost
	case strings.IndexByte("SUVMm", kind) < 0:
		t.note |= noteUnknown
	}
}

// order sets the byte order. Bytes and types of one byte have none; for others '|' would
// mean the reader's own. The order of V2, which ml_dtypes writes, is lost by NumPy.
func (t *Type) order(c, kind byte) error {
	if t.Size <= 1 || kind == 'S' || kind == 'V' && t.DType != tensor.BF16 {
		return nil
	}
	switch c {
	case '>':
		t.Order = tensor.Big
	case '=':
		t.note |= noteNative
	case '|':
		if t.note&noteUnknown != 0 || kind == 'V' {
			return nil
		}
		return wire.ErrSyntax.WithRule("npy.type-syntax").Errorf("type %s has no byte order", wire.Quote(t.Descr))
	}
	return nil
}

func letter(c byte) bool { return 'a' <= c|0x20 && c|0x20 <= 'z' }

// digits cuts a decimal number without leading zero off s.
func digits(s string) (n int64, rest string, ok bool) {
	i := 0
	for ; i < len(s) && s[i] >= '0' && s[i] <= '9'; i++ {
		if n = n*10 + int64(s[i]-'0'); n > maxItem {
			return maxItem + 1, strings.TrimLeft(s[i:], "0123456789"), s[0] != '0'
		}
	}
	return n, s[i:], i > 0 && (i == 1 || s[0] != '0')
}

// timeUnit reports whether s is a unit such as "[ns]" or "[25s]".
func timeUnit(s string) bool {
	if len(s) < 3 || s[0] != '[' || s[len(s)-1] != ']' {
		return false
	}
	s = s[1 : len(s)-1]
	if n, rest, ok := digits(s); ok && n > 0 && n <= maxItem {
		s = rest
	}
	switch s {
	case "Y", "M", "W", "D", "h", "m", "s", "ms", "us", "ns", "ps", "fs", "as":
		return true
	}
	return false
}
