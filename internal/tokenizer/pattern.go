package tokenizer

import (
	"slices"

	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
)

// A pattern is a regular expression in Oniguruma's grammar, as pre-tokenizers write them.
// It follows all alternatives at once, in order of priority (R. Pike's machine), without
// backtracking: from each position, a text of n characters takes at most n times the size
// of the program. Constructs that are not regular or not known are refused.
type pattern struct {
	code []inst
}

type opcode uint8

const (
	opClass opcode = iota // one character of a set
	opSplit               // both, x first
	opJump
	opLook // succeeds if the next character is (not) in the set
	opBegin
	opEnd
	opLineBegin
	opLineEnd
	opMatch
)

type inst struct {
	op   opcode
	not  bool
	x, y int32
	set  *set
	cost int64 // steps of evaluating the set
}

const (
	maxPattern = 4 << 10 // bytes of an expression
	maxProgram = 8 << 10 // instructions
	maxRepeat  = 64
	maxNesting = 32
)

// compile parses an expression.
func compile(b *limits.Budget, expr string) (*pattern, error) {
	if len(expr) > maxPattern {
		return nil, wire.ErrUnsupported.Errorf("an expression of %d bytes, at most %d are read", len(expr), maxPattern)
	}
	r := &exprReader{text: []rune(expr)}
	if err := b.Hold(int64(64 * len(r.text))); err != nil {
		return nil, err
	}
	n, err := r.alternatives(0, false)
	if err == nil && r.at < len(r.text) {
		err = r.unsupported("an unopened parenthesis")
	}
	if err != nil {
		return nil, err
	}
	p := &pattern{}
	if err := p.emit(b, n); err != nil {
		return nil, err
	}
	return p, p.add(b, inst{op: opMatch})
}

func (p *pattern) add(b *limits.Budget, i inst) (err error) {
	if len(p.code) == maxProgram {
		return wire.ErrUnsupported.Errorf("an expression of more than %d steps", maxProgram)
	}
	i.cost = 1 + weight(i.set)/8
	p.code, err = limits.Append(b, p.code, i)
	return err
}

// emit writes the program of a node.
func (p *pattern) emit(b *limits.Budget, n *node) error {
	switch n.kind {
	case nodeSet:
		return p.add(b, inst{op: opClass, set: n.set})
	case nodeLook:
		return p.add(b, inst{op: opLook, set: n.set, not: n.not})
	case nodeBegin:
		return p.add(b, inst{op: opBegin})
	case nodeEnd:
		return p.add(b, inst{op: opEnd})
	case nodeLineBegin:
		return p.add(b, inst{op: opLineBegin})
	case nodeLineEnd:
		return p.add(b, inst{op: opLineEnd})
	case nodeSequence:
		for _, one := range n.list {
			if err := p.emit(b, one); err != nil {
				return err
			}
		}
		return nil
	case nodeChoice:
		return p.choice(b, n.list)
	default:
		return p.repeat(b, n)
	}
}

func (p *pattern) choice(b *limits.Budget, list []*node) error {
	var ends []int
	for i, one := range list {
		at := len(p.code)
		if i < len(list)-1 {
			if err := p.add(b, inst{op: opSplit, x: int32(at + 1)}); err != nil {
				return err
			}
		}
		if err := p.emit(b, one); err != nil {
			return err
		}
		if i < len(list)-1 {
			ends = append(ends, len(p.code))
			if err := p.add(b, inst{op: opJump}); err != nil {
				return err
			}
			p.code[at].y = int32(len(p.code))
		}
	}
	for _, e := range ends {
		p.code[e].x = int32(len(p.code))
	}
	return nil
}

// repeat writes the node min times, and up to max times optionally.
func (p *pattern) repeat(b *limits.Budget, n *node) error {
	one := n.list[0]
	for range n.min {
		if err := p.emit(b, one); err != nil {
			return err
		}
	}
	if n.max < 0 {
		at := len(p.code)
		if err := p.split(b); err != nil {
			return err
		}
		if err := p.emit(b, one); err != nil {
			return err
		}
		if err := p.add(b, inst{op: opJump, x: int32(at)}); err != nil {
			return err
		}
		p.setExit(at, n.lazy)
		return nil
	}
	var splits []int
	for range n.max - n.min {
		splits = append(splits, len(p.code))
		if err := p.split(b); err != nil {
			return err
		}
		if err := p.emit(b, one); err != nil {
			return err
		}
	}
	for _, at := range splits {
		p.setExit(at, n.lazy)
	}
	return nil
}

func (p *pattern) split(b *limits.Budget) error { return p.add(b, inst{op: opSplit}) }

// setExit makes the split at a position either enter what follows it or go to the end of
// the program so far.
func (p *pattern) setExit(at int, lazy bool) {
	in, out := int32(at+1), int32(len(p.code))
	if lazy {
		in, out = out, in
	}
	p.code[at].x, p.code[at].y = in, out
}

// A machine runs a pattern on one text.
type machine struct {
	p             *pattern
	text          []rune
	current, next []int32
	seen          []int32 // the position at which an instruction was last reached, plus one
	stack         []int32
	cost          int64 // of the instructions that follow visited, not charged yet
}

func newMachine(b *limits.Budget, p *pattern, text []rune) (*machine, error) {
	m := &machine{p: p, text: text}
	var err error
	for _, list := range []*[]int32{&m.current, &m.next, &m.seen, &m.stack} {
		if *list, err = limits.Make[int32](b, 2*len(p.code)); err != nil {
			return nil, err
		}
	}
	return m, nil
}

// match returns the end of the preferred match at a position, or -1.
func (m *machine) match(b *limits.Budget, from int) (int, error) {
	clear(m.seen)
	m.cost = int64(len(m.seen) / 16)
	m.current = m.follow(m.current[:0], 0, from)
	end := -1
	for at := from; len(m.current) > 0; at++ {
		for _, pc := range m.current {
			m.cost += m.p.code[pc].cost
		}
		if err := b.Step(m.cost); err != nil {
			return 0, err
		}
		m.cost = 0
		m.next = m.next[:0]
		for _, pc := range m.current {
			i := &m.p.code[pc]
			if i.op == opMatch {
				end = at
				break // what follows is of lower priority
			}
			if at < len(m.text) && i.set.has(m.text[at]) {
				m.next = m.follow(m.next, pc+1, at+1)
			}
		}
		m.current, m.next = m.next, m.current
	}
	return end, b.Step(m.cost)
}

// follow adds the instructions that are reached without a character.
func (m *machine) follow(list []int32, pc int32, at int) []int32 {
	m.stack = append(m.stack[:0], pc)
	for len(m.stack) > 0 {
		pc := m.stack[len(m.stack)-1]
		m.stack = m.stack[:len(m.stack)-1]
		if m.seen[pc] == int32(at)+1 {
			continue
		}
		m.seen[pc] = int32(at) + 1
		i := &m.p.code[pc]
		if i.op != opClass { // match charges those
			m.cost += i.cost
		}
		switch i.op {
		case opJump:
			m.stack = append(m.stack, i.x)
		case opSplit:
			m.stack = append(m.stack, i.y, i.x)
		case opLook:
			if (at < len(m.text) && i.set.has(m.text[at])) != i.not {
				m.stack = append(m.stack, pc+1)
			}
		case opBegin:
			if at == 0 {
				m.stack = append(m.stack, pc+1)
			}
		case opEnd:
			if at == len(m.text) {
				m.stack = append(m.stack, pc+1)
			}
		case opLineBegin:
			if at == 0 || at < len(m.text) && m.text[at-1] == '\n' {
				m.stack = append(m.stack, pc+1)
			}
		case opLineEnd:
			if at == len(m.text) || m.text[at] == '\n' {
				m.stack = append(m.stack, pc+1)
			}
		default:
			list = append(list, pc)
		}
	}
	return list
}

// A part is a range of a text's characters.
type part struct {
	from, to int
	match    bool
}

// parts cuts a text into matches, which do not overlap, and what lies between.
func (p *pattern) parts(b *limits.Budget, text []rune) ([]part, error) {
	m, err := newMachine(b, p, text)
	if err != nil {
		return nil, err
	}
	var list []part
	put := func(x part) (err error) {
		if x.from < x.to {
			list, err = limits.Append(b, list, x)
		}
		return err
	}
	last := 0
	for at := 0; at < len(text); {
		end, err := m.match(b, at)
		if err != nil {
			return nil, err
		}
		if end <= at { // nothing, or nothing of any length
			at++
			continue
		}
		if err := put(part{last, at, false}); err != nil {
			return nil, err
		}
		if err := put(part{at, end, true}); err != nil {
			return nil, err
		}
		at, last = end, end
	}
	err = put(part{last, len(text), false})
	return slices.Clip(list), err
}
