package fuzz

import (
	"encoding/binary"
	"fmt"
)

// A Pickle is a plan of a pickle, made of a fuzzer's bytes: values of every kind, written
// with any suitable instruction, memoized and replayed, framed or not. Every plan gives a
// pickle that an allowlisting loader accepts. [Pickle.Damaged] is the same with
// instructions moved, and [Pickle.Attack] with a dangerous call.
type Pickle struct {
	plan
	proto int
	list  [][]byte // the instructions
	memo  []known
	next  int // a number for the next key, so that no key is duplicate
	evil  bool
}

// A known is a memoized value. Only values that no longer change are replayed.
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

// Bytes returns the pickle. It may be called once.
func (p *Pickle) Bytes() []byte {
	p.value(0)
	return p.join()
}

// Attack returns the pickle with a call of os.system among its values.
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

// Damaged returns the pickle with a few instructions dropped, doubled, swapped or changed,
// in frames that fit.
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

// join joins the instructions, with frames from protocol 4 on.
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

// key writes a hashable value, different from all before it where it must be.
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

// fresh writes a key that did not occur before.
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
