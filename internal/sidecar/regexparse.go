package sidecar

import (
	"strconv"
	"strings"
	"unicode/utf8"
)

// A regexParser reads an expression as Python's re and Oniguruma do. Where these differ, or where
// a construct is not known here, what is read may match more.
type regexParser struct {
	text      string
	at        int
	depth     int
	folds     bool // upper and lower case are the same
	tokenizer bool // Oniguruma takes what Python refuses
	loose     bool // a set of characters was read that may be larger than it is
	bad       bool // no expression for Python
	why       string
}

// parse returns nil if the text is not an expression.
func (p *regexParser) parse() *regexNode {
	n := p.choices()
	if !p.bad && p.why == "" && p.at < len(p.text) {
		p.bad = true // a parenthesis that nothing opens
	}
	if p.bad || p.why != "" {
		return nil
	}
	return n
}

func (p *regexParser) done() bool { return p.bad || p.why != "" || p.at >= len(p.text) }

// take skips a text if it comes next.
func (p *regexParser) take(text string) bool {
	if !strings.HasPrefix(p.text[p.at:], text) {
		return false
	}
	p.at += len(text)
	return true
}

func (p *regexParser) choices() *regexNode {
	if p.depth++; p.depth > maxRegexDepth {
		p.why = "it has more groups in groups than any honest one"
		return nil
	}
	kids := []*regexNode{p.sequence()}
	for !p.done() && p.take("|") {
		kids = append(kids, p.sequence())
	}
	p.depth--
	if len(kids) == 1 || p.bad || p.why != "" {
		return kids[0]
	}
	n := &regexNode{kind: choice, kids: kids}
	for _, k := range kids {
		n.first, n.empty = n.first.or(k.first), n.empty || k.empty
	}
	return n
}

func (p *regexParser) sequence() *regexNode {
	n := &regexNode{kind: sequence, empty: true}
	for !p.done() && p.text[p.at] != '|' && p.text[p.at] != ')' {
		k := p.quantified()
		if k == nil {
			continue
		}
		for _, k := range k.parts() {
			if n.empty {
				n.first = n.first.or(k.first)
			}
			n.empty = n.empty && k.empty
			n.kids = append(n.kids, k)
		}
	}
	return n
}

// quantified reads a part and how often it is repeated.
func (p *regexParser) quantified() *regexNode {
	n := p.part()
	for times := 0; !p.done(); times++ {
		least, most, ok := p.quantifier()
		switch {
		case !ok:
			return n
		case n == nil || times > 0 && !p.tokenizer:
			p.bad = true
			return nil
		case least > maxRepeat || most > maxRepeat+1:
			p.why = "it repeats a part more than " + strconv.Itoa(maxRepeat) + " times"
			return nil
		}
		if !p.take("?") {
			p.take("+")
		}
		n = &regexNode{kind: repeat, kids: []*regexNode{n}, first: n.first, empty: n.empty || least == 0, least: least, most: most}
	}
	return n
}

func (p *regexParser) quantifier() (least, most int, ok bool) {
	const anyNumber = maxRepeat + 1
	switch p.text[p.at] {
	case '*':
		p.at++
		return 0, anyNumber, true
	case '+':
		p.at++
		return 1, anyNumber, true
	case '?':
		p.at++
		return 0, 1, true
	case '{':
		end := strings.IndexByte(p.text[p.at:], '}')
		if end < 0 {
			return 0, 0, false
		}
		from, to, ranged := strings.Cut(p.text[p.at+1:p.at+end], ",")
		if strings.Trim(from+to, "0123456789") != "" || from+to == "" && !ranged {
			return 0, 0, false // the brace stands for itself
		}
		p.at += end + 1
		least = count(from, 0)
		if !ranged {
			return least, least, true
		}
		return least, count(to, anyNumber), true
	}
	return 0, 0, false
}

// count reads a number of repetitions, which may be left out.
func count(text string, without int) int {
	if text == "" {
		return without
	}
	if n, err := strconv.Atoi(text); err == nil && n <= maxRepeat {
		return n
	}
	return maxRepeat + 2
}

func (p *regexParser) one(c chars) *regexNode {
	if p.folds {
		c = c.folded()
	}
	return &regexNode{kind: oneChar, first: c}
}

// part reads what a quantifier may follow, or returns nil for what it may not.
func (p *regexParser) part() *regexNode {
	r, size := utf8.DecodeRuneInString(p.text[p.at:])
	switch r {
	case '(':
		p.at++
		return p.group()
	case '[':
		p.at++
		return p.one(p.class())
	case '\\':
		p.at++
		return p.escape()
	case '.':
		p.at++
		return p.one(anyChar)
	case '^', '$':
		p.at++
		return &regexNode{kind: sequence, empty: true}
	case '*', '+', '?':
		p.bad = !p.tokenizer // nothing to repeat
	case '{':
		if _, _, ok := p.quantifier(); ok {
			p.bad = !p.tokenizer
			return nil
		}
	}
	p.at += size
	var c chars
	c.add(r, r)
	return p.one(c)
}

// group reads behind an opening parenthesis.
func (p *regexParser) group() *regexNode {
	look := false
	if p.take("?") {
		switch {
		case p.take("#"):
			end := strings.IndexByte(p.text[p.at:], ')')
			if p.bad = end < 0; !p.bad {
				p.at += end + 1
			}
			return nil
		case p.take("="), p.take("!"), p.take("<="), p.take("<!"):
			look = true
		case p.take(":"), p.take(">"):
		case p.take("P="):
			return p.back(")")
		case p.take("("):
			p.back(")") // a group that decides between two branches
		case p.take("P<"), p.take("<"):
			p.back(">")
		default:
			if !p.flags() {
				return nil
			}
		}
	}
	n := p.choices()
	if p.bad || p.why != "" {
		return nil
	}
	if !p.take(")") {
		p.bad = true
		return nil
	}
	if look {
		return &regexNode{kind: lookaside, kids: []*regexNode{n}, empty: true}
	}
	return n
}

// back reads the name of a group, which may match anything.
func (p *regexParser) back(until string) *regexNode {
	end := strings.Index(p.text[p.at:], until)
	if p.bad = end < 0; p.bad {
		return nil
	}
	p.at += end + 1
	return &regexNode{kind: repeat, kids: []*regexNode{p.one(anyChar)}, first: anyChar, empty: true, most: maxRepeat + 1}
}

// flags reads flags, and reports whether a group follows them.
func (p *regexParser) flags() bool {
	for !p.done() {
		c := p.text[p.at]
		p.at++
		switch {
		case c == ':':
			return true
		case c == ')':
			return false
		case c == 'i':
			p.folds = true
		case c == 'x':
			p.why = "it has a flag that is not judged"
			return false
		case c != '-' && (c|0x20 < 'a' || c|0x20 > 'z'):
			p.bad = true
			return false
		}
	}
	p.bad = true
	return false
}

// escape reads behind a backslash, outside of a class.
func (p *regexParser) escape() *regexNode {
	if p.at >= len(p.text) {
		p.bad = true
		return nil
	}
	switch c := p.text[p.at]; {
	case strings.IndexByte("bBAZzG", c) >= 0:
		p.at++
		return &regexNode{kind: sequence, empty: true}
	case '1' <= c && c <= '9', c == 'k' || c == 'g':
		p.at++
		return &regexNode{kind: repeat, kids: []*regexNode{p.one(anyChar)}, first: anyChar, empty: true, most: maxRepeat + 1}
	}
	c, _ := p.escaped()
	return p.one(c)
}

// escaped reads the characters of an escape; single is that of one character, or -1.
func (p *regexParser) escaped() (c chars, single rune) {
	r, size := utf8.DecodeRuneInString(p.text[p.at:])
	p.at += size
	switch r {
	case 'd':
		return digits.or(chars{other: true}), -1
	case 'w':
		return inWord, -1
	case 's':
		return blanks, -1
	case 'D':
		return digits.not(), -1
	case 'W':
		return inWord.not(), -1
	case 'S':
		return blanks.not(), -1
	case 'p', 'P':
		c = p.property(r == 'P')
		return c, -1
	case 'x':
		r = p.code(2)
	case 'u':
		r = p.code(4)
	case 'U':
		r = p.code(8)
	case 'N', 'X', 'R', 'h', 'H', 'K', '0', '1', '2', '3', '4', '5', '6', '7':
		p.loose = true
		return anyChar, -1
	default:
		if i := strings.IndexRune("ntrfvae", r); i >= 0 {
			r = rune("\n\t\r\f\v\a\x1b"[i])
		}
	}
	if r < 0 {
		p.loose = true
		return anyChar, -1
	}
	c.add(r, r)
	return c, r
}

// code reads a character by its number, or returns -1.
func (p *regexParser) code(width int) rune {
	if p.at+width > len(p.text) {
		p.bad = !p.tokenizer
		return -1
	}
	n, err := strconv.ParseUint(p.text[p.at:p.at+width], 16, 31)
	if err != nil {
		p.bad = !p.tokenizer
		return -1
	}
	p.at += width
	return rune(n)
}

// property reads a property of Unicode behind \p, which Python does not have.
func (p *regexParser) property(not bool) chars {
	if !p.tokenizer || !p.take("{") {
		p.bad = !p.tokenizer
		return anyChar
	}
	name, _, ok := strings.Cut(p.text[p.at:], "}")
	if !ok {
		p.bad = true
		return anyChar
	}
	p.at += len(name) + 1
	bare := strings.TrimPrefix(name, "^")
	of, exact := anyChar, false
	switch bare {
	case "L":
		of, exact = letters, true
	case "N":
		of, exact = digits.or(chars{other: true}), true
	case "Lu", "Ll", "Lt", "Lm", "Lo":
		of = letters
	case "Nd", "Nl", "No":
		of = digits.or(chars{other: true})
	case "M", "Mn", "Mc", "Me", "Han", "Hiragana", "Katakana", "Hangul":
		of, exact = chars{other: true}, true
	case "P", "S", "Pc", "Pd", "Ps", "Pe", "Pi", "Pf", "Po", "Sm", "Sc", "Sk", "So":
		of = pointings
	case "Z", "Zs":
		of = rangesOf(true, ' ', ' ')
	}
	p.loose = p.loose || !exact
	switch {
	case not == (len(bare) < len(name)):
		return of
	case exact:
		return of.not()
	}
	return anyChar
}

// class reads behind an opening bracket.
func (p *regexParser) class() (c chars) {
	not := p.take("^")
	p.loose = false
	for first := true; ; first = false {
		if p.done() {
			p.bad = true
			return c
		}
		if p.text[p.at] == ']' && !first {
			p.at++
			break
		}
		if p.tokenizer && (p.take("[") || p.take("&&")) { // a class in a class, or what two have together
			if p.text[p.at-1] == '[' {
				if p.depth++; p.depth > maxRegexDepth {
					p.why = "it has more classes in classes than any honest one"
					return c
				}
				p.class()
				p.depth--
			}
			c, p.loose = anyChar, true
			continue
		}
		from := p.member(&c)
		if from < 0 || !strings.HasPrefix(p.text[p.at:], "-") || strings.HasPrefix(p.text[p.at:], "-]") {
			continue
		}
		p.at++
		if p.done() {
			p.bad = true
			return c
		}
		if to := p.member(&c); to >= from {
			c.add(from, to)
		} else {
			p.bad = !p.tokenizer
		}
	}
	if p.folds {
		c = c.folded()
	}
	switch {
	case not && p.loose:
		return anyChar
	case not:
		return c.not()
	}
	return c
}

// member reads one member of a class, and returns it if it is one character.
func (p *regexParser) member(to *chars) rune {
	r, size := utf8.DecodeRuneInString(p.text[p.at:])
	p.at += size
	c := chars{}
	if r == '\\' {
		if p.at >= len(p.text) {
			p.bad = true
			return -1
		}
		if p.text[p.at] == 'b' {
			p.at++
			c.add('\b', '\b')
			*to = to.or(c)
			return '\b'
		}
		c, r = p.escaped()
	} else {
		c.add(r, r)
	}
	*to = to.or(c)
	return r
}
