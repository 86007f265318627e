package tokenizer

import (
	"slices"
	"strconv"
	"strings"
	"unicode"
)

// class reads what stands between brackets.
func (r *exprReader) class(depth int) (*set, error) {
	if depth > maxNesting {
		return nil, r.unknown("too many brackets")
	}
	s := &set{not: r.take("^")}
	for first := true; ; first = false {
		switch {
		case r.at >= len(r.text):
			return nil, r.unknown("a bracket that is not closed")
		case r.take("[:"):
			return nil, r.unknown("a named class")
		case r.take("&&"):
			rest, err := r.rest(depth)
			s.within = rest
			return s, err
		case r.take("["):
			inner, err := r.class(depth + 1)
			if err != nil {
				return nil, err
			}
			s.items = append(s.items, item{of: inner})
			continue
		case r.text[r.at] == ']' && !first:
			r.at++
			return s, nil
		}
		if err := r.span(s); err != nil {
			return nil, err
		}
	}
}

// rest reads what follows && up to the bracket: the set within which the one
// before it counts.
func (r *exprReader) rest(depth int) (*set, error) {
	if r.take("[") {
		s, err := r.class(depth + 1)
		if err == nil && !r.take("]") {
			err = r.unknown("something after the set that follows &&")
		}
		return s, err
	}
	s := &set{}
	for !r.take("]") {
		if r.at >= len(r.text) || r.text[r.at] == '&' || r.text[r.at] == '[' {
			return nil, r.unknown("a bracket that is not closed")
		}
		if err := r.span(s); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// span reads one character, or a range of them.
func (r *exprReader) span(s *set) error {
	x, err := r.character()
	if err != nil {
		return err
	}
	if x.of == nil && r.at+1 < len(r.text) && r.text[r.at] == '-' && r.text[r.at+1] != ']' {
		r.at++
		to, err := r.character()
		if err != nil {
			return err
		}
		if to.of != nil || to.hi < x.lo {
			return r.unknown("a range")
		}
		x.hi = to.hi
	}
	s.items = append(s.items, x)
	return nil
}

// character reads one character, or an escape that is a set.
func (r *exprReader) character() (item, error) {
	c := r.text[r.at]
	r.at++
	if c != '\\' {
		return item{lo: c, hi: c}, nil
	}
	if r.at >= len(r.text) {
		return item{}, r.unknown("an escape at the end")
	}
	c = r.text[r.at]
	r.at++
	switch c {
	case 's', 'S':
		return some(isSpace, c == 'S'), nil
	case 'd', 'D':
		return ofCategory("Nd", c == 'D'), nil
	case 'w', 'W':
		return some(func(r rune) bool { return within(exprWords(), r) }, c == 'W'), nil
	case 'p', 'P':
		return r.property(c == 'P')
	case 'u':
		return r.hex(4)
	case 'x':
		if r.take("{") {
			x, err := r.hex(0)
			if err == nil && !r.take("}") {
				err = r.unknown("a brace that is not closed")
			}
			return x, err
		}
		return r.hex(2)
	}
	if i := strings.IndexRune("nrtfv", c); i >= 0 {
		c = rune("\n\r\t\f\v"[i])
	} else if unicode.IsLetter(c) || unicode.IsDigit(c) {
		return item{}, r.unknown("an escape")
	}
	return item{lo: c, hi: c}, nil
}

// hex reads a number of n digits, or of as many as there are for 0.
func (r *exprReader) hex(n int) (item, error) {
	from := r.at
	for r.at < len(r.text) && (n == 0 || r.at < from+n) && strings.ContainsRune("0123456789abcdefABCDEF", r.text[r.at]) && r.at < from+6 {
		r.at++
	}
	v, err := strconv.ParseUint(string(r.text[from:r.at]), 16, 32)
	if err != nil || v > unicode.MaxRune || n > 0 && r.at != from+n {
		return item{}, r.unknown("the number of a character")
	}
	return item{lo: rune(v), hi: rune(v)}, nil
}

// property reads the name of a category or a script.
func (r *exprReader) property(not bool) (item, error) {
	if !r.take("{") {
		return item{}, r.unknown("a property without braces")
	}
	not = r.take("^") != not
	from := r.at
	for r.at < len(r.text) && r.text[r.at] != '}' {
		r.at++
	}
	name := string(r.text[from:r.at])
	if !r.take("}") {
		return item{}, r.unknown("a brace that is not closed")
	}
	if _, ok := categoryMask(name); ok {
		return ofCategory(name, not), nil
	}
	script := slices.Index(scriptNames, name) + 1
	if script == 0 {
		return item{}, r.unknown("a property")
	}
	return some(func(r rune) bool { return int(scriptsOf(r)) == script }, not), nil
}

// some are the characters that a test accepts, or all others.
func some(is func(rune) bool, not bool) item {
	return item{of: &set{not: not, items: []item{{is: is}}}}
}

// ofCategory are the characters of a category, or all others.
func ofCategory(name string, not bool) item {
	mask, _ := categoryMask(name)
	return some(func(r rune) bool { return mask>>categoryOf(r)&1 != 0 }, not)
}
