package fuzz

import (
	"encoding/binary"
	"fmt"
	"math"
	"strings"
)

func (p *Pickle) integer(n int64) {
	switch kind := p.byte() % 6; {
	case kind == 0 && n >= 0 && n < 256:
		p.with('K', 1, uint64(n), "")
	case kind <= 1 && n >= 0 && n < 65536:
		p.with('M', 2, uint64(n), "")
	case kind <= 2 && n >= math.MinInt32 && n <= math.MaxInt32:
		p.with('J', 4, uint64(n), "")
	case kind == 3:
		p.op(fmt.Sprintf("I%d\n", n))
	case kind == 4:
		p.op(fmt.Sprintf("L%dL\n", n))
	case p.byte()&1 == 0:
		p.with(0x8a, 1, 8, string(binary.LittleEndian.AppendUint64(nil, uint64(n))))
	default:
		p.with(0x8b, 4, 9, string(append(binary.LittleEndian.AppendUint64(nil, uint64(n)), byte(n>>63))))
	}
}

// number writes a float, or an integer of any size.
func (p *Pickle) number() {
	switch raw := p.raw(); p.byte() % 4 {
	case 0:
		p.with('G', 0, 0, string(binary.BigEndian.AppendUint64(nil, uint64(p.next)<<52|uint64(p.byte()))))
	case 1:
		p.op([]string{"F1.5\n", "F-1e-07\n", "Finf\n", "F-inf\n", "Fnan\n", "F0.0\n"}[p.byte()%6])
	case 2:
		raw = raw[:min(len(raw), 255)]
		p.with(0x8a, 1, uint64(len(raw)), string(raw))
	default:
		p.with(0x8b, 4, uint64(len(raw)), string(raw))
	}
}

// text writes a str by any instruction that can.
func (p *Pickle) text(s string) {
	s = strings.ToValidUTF8(s, "?")
	plain := strings.IndexFunc(s, func(r rune) bool { return r < ' ' || r > '~' || r == '\\' || r == '\'' }) < 0
	switch kind := p.byte() % 8; {
	case kind == 0 && plain:
		p.op("V" + s + "\n")
	case kind == 1 && plain:
		p.op("S'" + s + "'\n")
	case kind == 2 && len(s) < 256:
		p.with('U', 1, uint64(len(s)), s)
	case kind == 3:
		p.with('T', 4, uint64(len(s)), s)
	case kind <= 5 && len(s) < 256:
		p.with(0x8c, 1, uint64(len(s)), s)
	case kind == 6:
		p.with(0x8d, 8, uint64(len(s)), s)
	default:
		p.with('X', 4, uint64(len(s)), s)
	}
}

// bytesOf writes bytes or a bytearray, by an instruction or by a call.
func (p *Pickle) bytesOf() {
	raw := string(p.raw())
	switch kind := p.byte() % 7; {
	case kind == 0 && len(raw) < 256:
		p.with('C', 1, uint64(len(raw)), raw)
	case kind == 1:
		p.with(0x8e, 8, uint64(len(raw)), raw)
	case kind == 2:
		p.with(0x96, 8, uint64(len(raw)), raw)
	case kind == 3:
		p.global("_codecs", "encode")
		latin := make([]rune, 0, len(raw))
		for i := range len(raw) {
			latin = append(latin, rune(raw[i]))
		}
		p.text(string(latin))
		p.text("latin1")
		p.call(2)
	case kind == 4:
		p.global("builtins", "bytearray")
		p.with('B', 4, uint64(len(raw)), raw)
		p.call(1)
	case kind == 5:
		p.global("builtins", "bytes")
		p.op(")R")
	default:
		p.with('B', 4, uint64(len(raw)), raw)
	}
}

// put memoizes the value on top, by any instruction that can.
func (p *Pickle) put(kind byte) {
	i := len(p.memo)
	switch p.byte() % 4 {
	case 0:
		p.op(fmt.Sprintf("p%d\n", i))
	case 1:
		p.with('r', 4, uint64(i), "")
	case 2:
		p.op("\x94")
	default:
		if i > 255 {
			p.with('r', 4, uint64(i), "")
		} else {
			p.with('q', 1, uint64(i), "")
		}
	}
	p.memo = append(p.memo, known{i, kind})
}

// replay writes a value of the memo, or None if there is none of the kind.
func (p *Pickle) replay(kind byte) bool {
	if len(p.memo) > 0 {
		k := p.memo[int(p.byte())%len(p.memo)]
		if kind == anything || k.kind == kind {
			switch p.byte() % 3 {
			case 0:
				p.op(fmt.Sprintf("g%d\n", k.index))
			case 1:
				p.with('j', 4, uint64(k.index), "")
			default:
				p.get(k.index)
			}
			return true
		}
	}
	if kind == anything {
		p.op("N")
	}
	return false
}

func (p *Pickle) get(i int) {
	if i < 256 {
		p.with('h', 1, uint64(i), "")
	} else {
		p.with('j', 4, uint64(i), "")
	}
}

// detour writes instructions without an effect.
func (p *Pickle) detour() {
	switch p.byte() % 4 {
	case 0:
		p.op("N")
		p.op("0")
	case 1:
		p.op("(")
		p.op("N")
		p.op("1")
	case 2:
		p.op("(")
		p.op("0")
	default:
		p.op("N")
		p.op("2")
		p.op("0")
		p.op("0")
	}
	p.op("N")
}

// global names a pair, by one of three instructions that can.
func (p *Pickle) global(module, name string) {
	if p.proto < 4 && p.byte()&3 != 0 || p.byte()&1 == 0 {
		if p.proto < 3 && module == "builtins" {
			module = "__builtin__"
		}
		p.op("c" + module + "\n" + name + "\n")
		return
	}
	if p.proto < 3 && module == "builtins" {
		module = "__builtin__"
	}
	p.with(0x8c, 1, uint64(len(module)), module)
	p.with(0x8c, 1, uint64(len(name)), name)
	p.op("\x93")
}

// call makes a tuple of the n values on top and calls what is below them.
func (p *Pickle) call(n int) {
	p.op([]string{")", "\x85", "\x86", "\x87"}[n])
	p.op("R")
}
