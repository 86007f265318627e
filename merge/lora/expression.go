package lora

import (
	"errors"
	"slices"

	"github.com/anamnesis-go/anamnesis/limits"
)

// An expression is a regular expression of Python's re, to be matched with whole names. Since
// groups are not returned, it suffices to know the places in the name at which each part can
// end. Greedy or not, the result is the same, and the cost is the product of the lengths of
// the expression and the name, not exponential.
type expression struct {
	op   operation
	set  [2]uint64 // the characters of opSet
	subs []*expression
	min  int // repetitions
	max  int
	not  bool // the assertion is negated

	// width is the number of characters that it matches, if fixed says that there is only one.
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
	opWord    // a word boundary
	opNotWord // no word boundary
)

// unbounded is the maximum of a repetition without one: more than a name has places; its square
// fits an int of 32 bits. Larger explicit counts are rejected.
const unbounded = 1 << 14

// errExpression means that Python rejects the expression, or that it has something that is not
// supported: references to groups, flags, conditions, possessive repetitions, sets whose
// meaning may change.
var errExpression = errors.New("unsupported expression")

// An exprParser parses an expression.
type exprParser struct {
	b     *limits.Budget
	rest  string
	names []string // names of groups
}

// readExpression parses an expression of printable characters.
func readExpression(b *limits.Budget, text string) (*expression, error) {
	if len(text) > 8*maxPattern || !printable(text) {
		return nil, errExpression
	}
	s := &exprParser{b: b, rest: text}
	e, err := s.alternatives()
	if err == nil && s.rest != "" { // an unmatched closing parenthesis
		err = errExpression
	}
	return e, err
}

// node charges for a node, and returns it.
func (s *exprParser) node(e expression) (*expression, error) {
	return &e, s.b.Hold(instructionBytes)
}

// cut drops text if the rest begins with it, and reports whether it does.
func (s *exprParser) cut(text string) bool {
	if len(s.rest) < len(text) || s.rest[:len(text)] != text {
		return false
	}
	s.rest = s.rest[len(text):]
	return true
}

// alternatives parses up to a closing parenthesis or the end.
func (s *exprParser) alternatives() (*expression, error) {
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

func (s *exprParser) sequence() (*expression, error) {
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

// item parses one item: what can be repeated, or an anchor.
func (s *exprParser) item() (*expression, error) {
	c := s.rest[0]
	s.rest = s.rest[1:]
	e := expression{op: opSet, width: 1, fixed: true}
	switch c {
	case '*', '+', '?':
		return nil, errExpression // nothing to repeat
	case '{': // nothing to repeat, or else a literal brace
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

// group parses what follows an opening parenthesis.
func (s *exprParser) group() (*expression, error) {
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

// name parses the name of a group, which must be new.
func (s *exprParser) name() bool {
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

// repeated parses the repetition of an item, if any.
func (s *exprParser) repeated(e *expression) (*expression, error) {
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
		if r.min, r.max, is = s.counts(); !is { // a literal brace
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
	s.cut("?") // not greedy, which makes no difference here
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

// counts parses the numbers after a brace, and the closing brace. If they are invalid, it
// consumes nothing.
func (s *exprParser) counts() (least, most int, is bool) {
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

func (s *exprParser) count() (n int, ok bool) {
	for s.rest != "" && '0' <= s.rest[0] && s.rest[0] <= '9' {
		n, ok = min(10*n+int(s.rest[0]-'0'), unbounded+1), true
		s.rest = s.rest[1:]
	}
	return n, ok
}

// class parses a set of characters after its bracket.
func (s *exprParser) class(e *expression) bool {
	not := s.cut("^")
	for first := true; ; first = false {
		low, set, ok := s.setMember(first)
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
			if high, set, ok = s.setMember(true); !ok || set != nil || high < low {
				return false
			}
		}
		for c := int(low); c <= int(high); c++ {
			e.add(byte(c))
		}
	}
}

// setMember parses a character of a set, or a class in it; 0 and nil at the end of the set.
func (s *exprParser) setMember(first bool) (c byte, set *[2]uint64, ok bool) {
	if s.rest == "" {
		return 0, nil, false
	}
	c, s.rest = s.rest[0], s.rest[1:]
	switch {
	case c == ']' && !first:
		return 0, nil, true
	case c == '[', len(s.rest) > 0 && c == s.rest[0] && (c == '-' || c == '&' || c == '~' || c == '|'):
		return 0, nil, false // set operations of future Python versions
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

// invert replaces the set by its complement.
func (e *expression) invert() { e.set[0], e.set[1] = ^e.set[0], ^e.set[1] }

// escape adds the character or class that an escape stands for; it returns false for other
// escapes.
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
