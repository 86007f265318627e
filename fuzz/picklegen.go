package fuzz

import (
	"encoding/binary"
	"fmt"
	"math"
	"strings"
)

// A Pickle is a plan of a pickle, made of a fuzzer's bytes: values of every
// kind, written with any of the instructions that write them, memoized and
// replayed, framed or not. Every plan gives a pickle that an allowlisting
// loader takes. [Pickle.Damaged] is the same with instructions moved, and
// [Pickle.Attack] with a call among them that nobody should make.
type Pickle struct {
	plan
	proto int
	list  [][]byte // the instructions
	memo  []known
	next  int // a number for the next key, so that no key stands twice
	evil  bool
}

// known is a value of the memo. Only what nothing changes any more is replayed.
type known struct {
	index int
	kind  byte
}

// Kinds of memoized values.
const (
	anything byte = iota
	hashable      // may be a key
	shape         // a tuple of integers
	tensorKind
	dtypeKind
)

// The nesting of a plan, and its instructions.
const (
	maxPickleDepth = 12
	maxPickleOps   = 600
)

// NewPickle reads a plan.
func NewPickle(data []byte) *Pickle {
	p := &Pickle{plan: plan{data: data}}
	p.proto = int(p.byte()) % 6
	return p
}

// Bytes is the pickle. It can be asked for once.
func (p *Pickle) Bytes() []byte {
	p.value(0)
	return p.join()
}

// Attack is the pickle with a call of os.system somewhere among its values.
func (p *Pickle) Attack() []byte {
	p.evil = true
	p.op("(")
	p.value(0)
	if p.evil { // no leaf has taken it
		p.attack()
	}
	p.op("t")
	return p.join()
}

// Damaged is the pickle with a few instructions dropped, doubled, swapped or
// changed. Frames are made afterwards, so that they fit.
func (p *Pickle) Damaged() []byte {
	p.value(0)
	for n := 1 + int(p.byte())%4; n > 0 && len(p.list) > 0; n-- {
		i := int(uint(p.byte())<<8|uint(p.byte())) % len(p.list)
		switch p.byte() % 5 {
		case 0:
			p.list = append(p.list[:i], p.list[i+1:]...)
		case 1:
			p.list = append(p.list[:i+1], p.list[i:]...)
		case 2:
			j := int(p.byte()) % len(p.list)
			p.list[i], p.list[j] = p.list[j], p.list[i]
		case 3:
			changed := []byte(string(p.list[i]))
			changed[int(p.byte())%len(changed)] = p.byte()
			p.list[i] = changed
		default:
			p.list[i] = []byte{p.byte()}
		}
	}
	return p.join()
}

// join puts the instructions together, with frames from protocol 4 on.
func (p *Pickle) join() []byte {
	var out []byte
	if p.proto >= 2 {
		out = append(out, 0x80, byte(p.proto))
	}
	p.op(".")
	if p.proto < 4 || p.byte()&3 == 0 {
		for _, op := range p.list {
			out = append(out, op...)
		}
		return out
	}
	for len(p.list) > 0 {
		n := min(len(p.list), 1+int(p.byte())%64)
		var frame []byte
		for _, op := range p.list[:n] {
			frame = append(frame, op...)
		}
		p.list = p.list[n:]
		out = binary.LittleEndian.AppendUint64(append(out, 0x95), uint64(len(frame)))
		out = append(out, frame...)
	}
	return out
}

func (p *Pickle) op(s string) { p.list = append(p.list, []byte(s)) }

// with writes an opcode and an unsigned operand of n bytes.
func (p *Pickle) with(code byte, n int, v uint64, rest string) {
	out := []byte{code}
	for i := range n {
		out = append(out, byte(v>>(8*i)))
	}
	p.list = append(p.list, append(out, rest...))
}

func (p *Pickle) full(depth int) bool { return depth >= maxPickleDepth || len(p.list) >= maxPickleOps }

// value writes one value of any kind.
func (p *Pickle) value(depth int) {
	if p.evil && depth > 0 && p.byte()&7 == 0 {
		p.attack()
		return
	}
	choice := p.byte()
	if p.full(depth) {
		choice %= 8
	}
	switch choice % 24 {
	case 8, 9:
		p.tuple(depth)
	case 10, 11:
		p.listOf(depth)
	case 12, 13:
		p.dict(depth)
	case 14:
		p.set()
	case 15:
		p.classDict(depth)
	case 16, 17:
		p.tensor()
	case 18:
		p.numpy()
	case 19:
		p.object(depth)
	case 20:
		p.replay(anything)
	case 21:
		p.parameter()
	case 22:
		p.bytesOf()
	case 23:
		p.detour()
	default:
		p.key()
	}
	if choice&0x40 != 0 {
		p.put(anything)
	}
}

// key writes a value that may be a key, unlike every one before it where it
// must be: the counter sees to that.
func (p *Pickle) key() {
	switch p.byte() % 6 {
	case 0:
		p.op("N")
	case 1:
		p.op([]string{"I00\n", "I01\n", "\x88", "\x89"}[p.byte()%4])
	case 2:
		p.integer(int64(int8(p.byte())))
	case 3:
		p.number()
	case 4:
		p.text(string(p.raw()))
	default:
		p.fresh()
	}
}

// fresh writes a key that was not there before.
func (p *Pickle) fresh() {
	p.next++
	if p.byte()&1 == 0 {
		p.integer(int64(1000 + p.next))
		return
	}
	p.text(fmt.Sprintf("key %d", p.next))
	if p.byte()&1 == 0 {
		p.put(anything)
	}
}

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

// detour does something and undoes it.
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

func (p *Pickle) attack() {
	p.evil = false
	switch p.byte() % 4 {
	case 0:
		p.op("(")
		p.text("id")
		p.op("ios\nsystem\n")
	case 1:
		p.op("(")
		p.op("cposix\nsystem\n")
		p.text("id")
		p.op("o")
	case 2:
		p.with(0x82, 1, 1+uint64(p.byte())%200, "")
	default:
		p.global("os", "system")
		p.text("id")
		p.call(1)
	}
}
