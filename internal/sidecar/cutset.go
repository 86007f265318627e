package sidecar

import "strings"

// A cutset is a set of ASCII characters. Lines of YAML are cut at the same few of them again and
// again, and package strings makes a set anew for each call.
type cutset [256]bool

func cutsetOf(chars string) *cutset {
	var set cutset
	for i := range len(chars) {
		set[chars[i]] = true
	}
	return &set
}

func (set *cutset) trimLeft(s string) string {
	for len(s) > 0 && set[s[0]] {
		s = s[1:]
	}
	return s
}

func (set *cutset) trimRight(s string) string {
	for len(s) > 0 && set[s[len(s)-1]] {
		s = s[:len(s)-1]
	}
	return s
}

func (set *cutset) trim(s string) string { return set.trimRight(set.trimLeft(s)) }

// index returns the place of the first character of the set, or -1.
func (set *cutset) index(s string) int {
	for i := range len(s) {
		if set[s[i]] {
			return i
		}
	}
	return -1
}

// lastIndex returns the place of the last character of the set, or -1.
func (set *cutset) lastIndex(s string) int {
	for i := len(s) - 1; i >= 0; i-- {
		if set[s[i]] {
			return i
		}
	}
	return -1
}

// fields calls visit with the parts of a text between characters of the set, none of which is
// empty, until visit returns an error.
func (set *cutset) fields(s string, visit func(part string) error) error {
	for {
		for len(s) > 0 && set[s[0]] {
			s = s[1:]
		}
		if s == "" {
			return nil
		}
		end := set.index(s)
		if end < 0 {
			end = len(s)
		}
		if err := visit(s[:end]); err != nil {
			return err
		}
		s = s[end:]
	}
}

var (
	spaces      = cutsetOf(" \t")
	lineBlanks  = cutsetOf(" \t\r")
	dashes      = cutsetOf(" \t-")
	keyCut      = cutsetOf(" \t\"'")
	valueCut    = cutsetOf(" \t\r\"',")
	elementCut  = cutsetOf(" \t\r\n\"',-")
	partCut     = cutsetOf(" \t\r\n\"'-")
	assigning   = cutsetOf(":=")
	brackets    = cutsetOf("{[")
	bracketPart = cutsetOf(",{}[]")
	plainEnds   = cutsetOf("# \t,[]{}\"'") // bytes that inPlain of a quoting asks about
)

// breakAt returns the place of the first character that ends a line to PyYAML, or -1.
func breakAt(s string) int {
	for i := range len(s) {
		switch c := s[i]; {
		case c == '\n', c == '\r':
			return i
		case c >= 0x80 && breakLen(s[i:]) > 0:
			return i
		}
	}
	return -1
}

// breakLen returns the length of a character that ends a line, 0 for any other.
func breakLen(s string) int {
	switch {
	case s == "":
		return 0
	case s[0] == '\n', s[0] == '\r':
		return 1
	case strings.HasPrefix(s, "\u0085"):
		return 2
	case strings.HasPrefix(s, "\u2028"), strings.HasPrefix(s, "\u2029"):
		return 3
	}
	return 0
}

// trimBreaks removes the characters that end lines from the beginning of a text.
func trimBreaks(s string) string {
	for {
		n := breakLen(s)
		if n == 0 {
			return s
		}
		s = s[n:]
	}
}
