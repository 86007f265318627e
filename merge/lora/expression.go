package lora

import (
	"errors"
	"slices"

	"github.com/anamnesis-go/anamnesis/limits"
)

// An expression is a regular expression of Python's re, which is asked whether a whole
// name fits it. There are no groups to be given back, so that it is enough to know at
// which places of the name a part of it can end: greedy or not, the answer is the same,
// and it costs the product of the expression's length and the name's, not a power.
type expression struct {
	op   operation
	set  [2]uint64 // characters, for opSet
	subs []*expression
	min  int // repetitions
	max  int
	not  bool // of an assertion

	// width is how many characters it fits; fixed says that there is one such number.
	width int
	fixed bool
}

type operation uint8

const (
	opSet operation = iota
	opThen
	opOr
	opRepeat
	opAhead
	opBehind
	opBegin
	opEnd
	opWord    // the beginning or the end of a word
	opNotWord // neither
)

// unbounded is the number of repetitions that has no end: more than a name has places, and
// its square fits an int of 32 bits. A larger count that is written out is refused.
const unbounded = 1 << 14

// errExpression is one that Python refuses, or that is not read here: references to
// groups, flags, conditions, possessive repetitions, sets whose meaning may change.
var errExpression = errors.New("not an expression that is read here")

// A syntaxReader reads an expression.
type syntaxReader struct {
	b     *limits.Budget
	rest  string
	names []string // of groups
}

// readExpression reads an expression of printable characters.
func readExpression(b *limits.Budget, text string) (*expression, error) {
	if len(text) > 8*maxPattern || !printable(text) {
		return nil, errExpression
	}
	s := &syntaxReader{b: b, rest: text}
	e, err := s.alternatives()
	if err == nil && s.rest != "" { // a parenthesis that closes nothing
		err = errExpression
	}
	return e, err
}

// node pays for a part of an expression.
func (s *syntaxReader) node(e expression) (*expression, error) {
	return &e, s.b.Hold(instruction)
}

// cut reports that the rest begins with a text, and drops it.
func (s *syntaxReader) cut(text string) bool {
	if len(s.rest) < len(text) || s.rest[:len(text)] != text {
		return false
	}
	s.rest = s.rest[len(text):]
	return true
}

// alternatives reads to a parenthesis that closes, or to the end.
func (s *syntaxReader) alternatives() (*expression, error) {
	if err := s.b.Enter(); err != nil {
		return nil, err
	}
	defer s.b.Leave()
	e, err := s.node(expression{op: opOr, fixed: true})
	for err == nil {
		var one *expression
		if one, err = s.sequence(); err != nil {
			break
		}
		e.fixed = e.fixed && one.fixed && (len(e.subs) == 0 || one.width == e.width)
		e.width = one.width
		if e.subs, err = limits.Append(s.b, e.subs, one); err != nil || !s.cut("|") {
			break
		}
	}
	return e, err
}

func (s *syntaxReader) sequence() (*expression, error) {
	e, err := s.node(expression{op: opThen, fixed: true})
	for err == nil && s.rest != "" && s.rest[0] != '|' && s.rest[0] != ')' {
		if err = s.b.Step(1); err != nil {
			break
		}
		var one *expression
		if one, err = s.item(); err != nil {
			break
		}
		if one, err = s.repeated(one); err != nil {
			break
		}
		e.width, e.fixed = min(e.width+one.width, unbounded), e.fixed && one.fixed
		e.subs, err = limits.Append(s.b, e.subs, one)
	}
	return e, err
}

// item reads what can be repeated, or an anchor.
func (s *syntaxReader) item() (*expression, error) {
	c := s.rest[0]
	s.rest = s.rest[1:]
	e := expression{op: opSet, width: 1, fixed: true}
	switch c {
	case '*', '+', '?':
		return nil, errExpression // nothing to repeat
	case '{': // a count without a beginning is a text, or is refused
		if _, _, is := s.counts(); is {
			return nil, errExpression
		}
		e.add(c)
	case '(':
		return s.group()
	case '[':
		if !s.class(&e) {
			return nil, errExpression
		}
	case '.':
		e.invert()
	case '^':
		e.op = opBegin
	case '$':
		e.op = opEnd
	case '\\':
		if s.rest == "" {
			return nil, errExpression
		}
		c, s.rest = s.rest[0], s.rest[1:]
		switch {
		case c == 'A':
			e.op = opBegin
		case c == 'Z':
			e.op = opEnd
		case c == 'b':
			e.op = opWord
		case c == 'B':
			e.op = opNotWord
		case !e.escape(c):
			return nil, errExpression
		}
	default:
		e.add(c)
	}
	if e.op != opSet {
		e.width = 0
	}
	return s.node(e)
}

// group reads what follows a parenthesis that opens.
func (s *syntaxReader) group() (*expression, error) {
	e := expression{op: opThen}
	switch {
	case s.cut("?:"):
	case s.cut("?="):
		e.op = opAhead
	case s.cut("?!"):
		e.op, e.not = opAhead, true
	case s.cut("?<="):
		e.op = opBehind
	case s.cut("?<!"):
		e.op, e.not = opBehind, true
	case s.cut("?P<"):
		if !s.name() {
			return nil, errExpression
		}
	case s.cut("?"):
		return nil, errExpression
	}
	sub, err := s.alternatives()
	if err != nil {
		return nil, err
	}
	if !s.cut(")") {
		return nil, errExpression
	}
	switch e.subs = []*expression{sub}; {
	case e.op == opBehind && !sub.fixed:
		return nil, errExpression
	case e.op == opThen:
		e.width, e.fixed = sub.width, sub.fixed
	default:
		e.fixed = true
	}
	return s.node(e)
}

// name reads the name of a group, which none before it has.
func (s *syntaxReader) name() bool {
	end := 0
	for end < len(s.rest) && isWordByte(s.rest[end]) {
		end++
	}
	name := s.rest[:end]
	if end == 0 || end == len(s.rest) || s.rest[end] != '>' || '0' <= name[0] && name[0] <= '9' || len(s.names) > 100 {
		return false
	}
	if slices.Contains(s.names, name) {
		return false
	}
	s.names, s.rest = append(s.names, name), s.rest[end+1:]
	return true
}

// repeated reads how often an item is repeated.
func (s *syntaxReader) repeated(e *expression) (*expression, error) {
	r := expression{op: opRepeat, subs: []*expression{e}}
	switch {
	case s.cut("*"):
		r.max = unbounded
	case s.cut("+"):
		r.min, r.max = 1, unbounded
	case s.cut("?"):
		r.max = 1
	case s.cut("{"):
		var is bool
		if r.min, r.max, is = s.counts(); !is { // a text
			s.rest = "{" + s.rest
			return e, nil
		}
		if r.max < r.min || r.max > unbounded {
			return nil, errExpression
		}
	default:
		return e, nil
	}
	switch e.op {
	case opBegin, opEnd, opWord, opNotWord:
		return nil, errExpression
	}
	s.cut("?") // as few as possible: that does not matter
	if s.rest != "" && (s.rest[0] == '*' || s.rest[0] == '+' || s.rest[0] == '?') {
		return nil, errExpression
	}
	if s.rest != "" && s.rest[0] == '{' {
		rest := s.rest
		s.rest = s.rest[1:]
		if _, _, is := s.counts(); is {
			return nil, errExpression
		}
		s.rest = rest
	}
	r.width, r.fixed = min(e.width*r.min, unbounded), e.fixed && r.min == r.max
	return s.node(r)
}

// counts reads the numbers behind a brace, and the brace that closes; it drops nothing
// where they are none.
func (s *syntaxReader) counts() (least, most int, is bool) {
	rest := s.rest
	low, lowOK := s.count()
	comma := s.cut(",")
	high, highOK := low, lowOK
	if comma {
		high, highOK = s.count()
	}
	if !comma && !lowOK || !s.cut("}") {
		s.rest = rest
		return 0, 0, false
	}
	if comma && !highOK {
		high = unbounded
	}
	return low, high, true
}

func (s *syntaxReader) count() (n int, ok bool) {
	for s.rest != "" && '0' <= s.rest[0] && s.rest[0] <= '9' {
		n, ok = min(10*n+int(s.rest[0]-'0'), unbounded+1), true
		s.rest = s.rest[1:]
	}
	return n, ok
}

// class reads a set of characters behind its bracket.
func (s *syntaxReader) class(e *expression) bool {
	not := s.cut("^")
	for first := true; ; first = false {
		low, set, ok := s.member(first)
		switch {
		case !ok:
			return false
		case set == nil && low == 0:
			if not {
				e.invert()
			}
			return true
		case set != nil:
			e.set[0], e.set[1] = e.set[0]|set[0], e.set[1]|set[1]
			if len(s.rest) > 1 && s.rest[0] == '-' && s.rest[1] != ']' {
				return false // a range that begins with a set
			}
			continue
		}
		high := low
		if len(s.rest) > 1 && s.rest[0] == '-' && s.rest[1] != ']' {
			s.rest = s.rest[1:]
			if high, set, ok = s.member(true); !ok || set != nil || high < low {
				return false
			}
		}
		for c := int(low); c <= int(high); c++ {
			e.add(byte(c))
		}
	}
}

// member reads a character of a set, or a set in it; 0 and none at the end.
func (s *syntaxReader) member(first bool) (c byte, set *[2]uint64, ok bool) {
	if s.rest == "" {
		return 0, nil, false
	}
	c, s.rest = s.rest[0], s.rest[1:]
	switch {
	case c == ']' && !first:
		return 0, nil, true
	case c == '[', len(s.rest) > 0 && c == s.rest[0] && (c == '-' || c == '&' || c == '~' || c == '|'):
		return 0, nil, false // operations on sets, of a Python to come
	case c != '\\':
		return c, nil, true
	case s.rest == "":
		return 0, nil, false
	}
	c, s.rest = s.rest[0], s.rest[1:]
	if !isWordByte(c) || c == '_' {
		return c, nil, true
	}
	var e expression
	ok = e.escape(c)
	return 0, &e.set, ok
}

func (e *expression) add(c byte) { e.set[c/64] |= 1 << (c % 64) }

// invert makes a set of the characters that are not in it.
func (e *expression) invert() { e.set[0], e.set[1] = ^e.set[0], ^e.set[1] }

// escape adds what a backslash and a character stand for, where that is a character or a
// set of some.
func (e *expression) escape(c byte) bool {
	if !isWordByte(c) || c == '_' {
		e.add(c)
		return true
	}
	var in func(byte) bool
	switch c | 0x20 {
	case 'd':
		in = func(c byte) bool { return '0' <= c && c <= '9' }
	case 'w':
		in = isWordByte
	case 's':
		in = func(c byte) bool { return c == ' ' }
	default:
		return false
	}
	for x := byte(' '); x <= '~'; x++ {
		if in(x) == (c >= 'a') {
			e.add(x)
		}
	}
	return true
}

func isWordByte(c byte) bool {
	return c == '_' || '0' <= c && c <= '9' || 'a' <= c|0x20 && c|0x20 <= 'z'
}
