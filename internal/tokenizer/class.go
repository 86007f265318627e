package tokenizer

import (
	"slices"
	"strconv"
	"strings"
	"unicode"
)

// class reads a bracket expression after its bracket.
func (r *exprReader) class(depth int) (*set, error) {
	if depth > maxNesting {
		return nil, r.unsupported("too many brackets")
	}
	s := &set{not: r.accept("^")}
	for first := true; ; first = false {
		switch {
		case r.at >= len(r.text):
			return nil, r.unsupported("a bracket that is not closed")
		case r.accept("[:"):
			return nil, r.unsupported("a named class")
		case r.accept("&&"):
			rest, err := r.intersection(depth)
			s.intersect = rest
			return s, err
		case r.accept("["):
			inner, err := r.class(depth + 1)
			if err != nil {
				return nil, err
			}
			s.items = append(s.items, setItem{set: inner})
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

// intersection reads the set after &&, up to the bracket.
func (r *exprReader) intersection(depth int) (*set, error) {
	if r.accept("[") {
		s, err := r.class(depth + 1)
		if err == nil && !r.accept("]") {
			err = r.unsupported("something after the set that follows &&")
		}
		return s, err
	}
	s := &set{}
	for !r.accept("]") {
		if r.at >= len(r.text) || r.text[r.at] == '&' || r.text[r.at] == '[' {
			return nil, r.unsupported("a bracket that is not closed")
		}
		if err := r.span(s); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// span reads a character or a range.
func (r *exprReader) span(s *set) error {
	x, err := r.character()
	if err != nil {
		return err
	}
	if x.set == nil && r.at+1 < len(r.text) && r.text[r.at] == '-' && r.text[r.at+1] != ']' {
		r.at++
		to, err := r.character()
		if err != nil {
			return err
		}
		if to.set != nil || to.hi < x.lo {
			return r.unsupported("a range")
		}
		x.hi = to.hi
	}
	s.items = append(s.items, x)
	return nil
}

// character reads a character, or an escape that stands for a set.
func (r *exprReader) character() (setItem, error) {
	c := r.text[r.at]
	r.at++
	if c != '\\' {
		return setItem{lo: c, hi: c}, nil
	}
	if r.at >= len(r.text) {
		return setItem{}, r.unsupported("an escape at the end")
	}
	c = r.text[r.at]
	r.at++
	switch c {
	case 's', 'S':
		return setOf(isSpace, c == 'S'), nil
	case 'd', 'D':
		return categorySet("Nd", c == 'D'), nil
	case 'w', 'W':
		return setOf(func(r rune) bool { return inRanges(exprWords(), r) }, c == 'W'), nil
	case 'p', 'P':
		return r.property(c == 'P')
	case 'u':
		return r.hex(4)
	case 'x':
		if r.accept("{") {
			x, err := r.hex(0)
			if err == nil && !r.accept("}") {
				err = r.unsupported("a brace that is not closed")
			}
			return x, err
		}
		return r.hex(2)
	}
	if i := strings.IndexRune("nrtfv", c); i >= 0 {
		c = rune("\n\r\t\f\v"[i])
	} else if unicode.IsLetter(c) || unicode.IsDigit(c) {
		return setItem{}, r.unsupported("an escape")
	}
	return setItem{lo: c, hi: c}, nil
}

// hex reads n hexadecimal digits, or any number of them for n = 0.
func (r *exprReader) hex(n int) (setItem, error) {
	from := r.at
	for r.at < len(r.text) && (n == 0 || r.at < from+n) && strings.ContainsRune("0123456789abcdefABCDEF", r.text[r.at]) && r.at < from+6 {
		r.at++
	}
	v, err := strconv.ParseUint(string(r.text[from:r.at]), 16, 32)
	if err != nil || v > unicode.MaxRune || n > 0 && r.at != from+n {
		return setItem{}, r.unsupported("the number of a character")
	}
	return setItem{lo: rune(v), hi: rune(v)}, nil
}

// property reads the name of a category or a script.
func (r *exprReader) property(not bool) (setItem, error) {
	if !r.accept("{") {
		return setItem{}, r.unsupported("a property without braces")
	}
	not = r.accept("^") != not
	from := r.at
	for r.at < len(r.text) && r.text[r.at] != '}' {
		r.at++
	}
	name := string(r.text[from:r.at])
	if !r.accept("}") {
		return setItem{}, r.unsupported("a brace that is not closed")
	}
	if _, ok := categoryMask(name); ok {
		return categorySet(name, not), nil
	}
	script := slices.Index(scriptNames, name) + 1
	if script == 0 {
		return setItem{}, r.unsupported("a property")
	}
	return setOf(func(r rune) bool { return int(scriptsOf(r)) == script }, not), nil
}

// setOf returns the set of characters that a test accepts, or its complement.
func setOf(is func(rune) bool, not bool) setItem {
	return setItem{set: &set{not: not, items: []setItem{{is: is}}}}
}

// categorySet returns the set of characters of a category, or its complement.
func categorySet(name string, not bool) setItem {
	mask, _ := categoryMask(name)
	return setOf(func(r rune) bool { return mask>>categoryOf(r)&1 != 0 }, not)
}
