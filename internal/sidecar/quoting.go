package sidecar

import "strings"

// A mode is the context of a place in a YAML text.
type mode uint8

const (
	between  mode = iota // of two tokens
	aPlain               // a text without quotes
	aDouble              // one in double quotes,
	aSingle              // or in single ones
	aName                // a tag, an anchor or an alias
	aHeader              // the rest of the line that begins a block scalar
	aComment             // the rest of a line
	ofText               // a line of a block scalar
)

// A quoting follows a YAML text and says where its comments begin, as PyYAML and libyaml scan it: a
// number sign within a quoted text or a block scalar begins none. It gets each byte once, and the
// end of each line.
type quoting struct {
	mode   mode
	flow   int // brackets that are open
	parent int // column of the block around the place, -1 for none
	// Of the line at hand.
	column int
	begun  bool // something but blanks was there
	start  int  // column of the token that may be a key, or -1
	prev   byte // the byte before, 0 at the beginning of the line
	mark   byte // prev, if it may be an indicator: one of -?:
	closed bool // prev ended a quoted text
	skip   bool // prev escapes what follows
	// Of a block scalar.
	text   bool
	indent int // of its lines, 0 if none was seen
	blank  int // the longest of the blank lines before them
	// lost says that loaders may read the text in another way than it is followed here. It stays.
	lost bool
	// nested says that the line at hand began within brackets or a text, inText that it goes on with a text.
	nested, inText bool
}

func newQuoting() quoting { return quoting{parent: -1, start: -1} }

func isBlankByte(c byte) bool { return c == ' ' || c == '\t' }

// scan goes past a part of a line, and returns where a comment begins in it, or its length.
func (q *quoting) scan(part string) int {
	comment := len(part)
	if q.mode == aComment {
		comment = 0
	}
	for i := 0; i < len(part) && q.mode != aComment; i++ {
		if q.mode == aPlain && q.begun && !plainEnds[part[i]] { // most bytes of a text change nothing
			n := plainEnds.index(part[i:])
			if n < 0 {
				n = len(part) - i
			}
			i += n
			q.column, q.prev = q.column+n, part[i-1]
			if i == len(part) {
				break
			}
		}
		if q.next(part[i], part[i:]) {
			comment = i
		}
		q.prev = part[i]
		q.column++
	}
	return comment
}

// next goes past a byte, and reports whether a comment begins with it.
func (q *quoting) next(c byte, rest string) bool {
	if !q.begun {
		if c == ' ' || c == '\t' && !q.text {
			return false
		}
		q.begun = true
		q.begins(c, rest)
	}
	switch q.mode {
	case ofText:
	case aDouble:
		switch {
		case q.skip:
			q.skip = false
		case c == '\\':
			q.skip = true
		case c == '"':
			q.mode, q.closed = between, true
			return false
		}
	case aSingle:
		if c == '\'' {
			q.mode, q.closed = between, true
			return false
		}
	case aPlain:
		return q.inPlain(c)
	case aName:
		switch {
		case isBlankByte(c), q.flow > 0 && strings.IndexByte(",]}", c) >= 0:
			q.mode = between
			return q.token(c)
		case strings.IndexByte(`"'[]{}`, c) >= 0:
			q.lost = true
		}
	case aHeader:
		if '1' <= c && c <= '9' {
			q.indent = max(q.parent+1, 1) + int(c-'1')
		}
		return c == '#' && isBlankByte(q.prev) && q.comments()
	default:
		return q.token(c)
	}
	return false
}

// begins decides what a line is, by its first byte that is no blank.
func (q *quoting) begins(c byte, rest string) {
	marks := q.column == 0 && (strings.HasPrefix(rest, "---") || strings.HasPrefix(rest, "...")) && (len(rest) == 3 || isBlankByte(rest[3]))
	if q.text {
		switch {
		case marks, q.indent == 0 && q.column <= q.parent, q.indent > 0 && q.column < q.indent:
			q.lost = q.lost || marks && q.parent < 0 // which ruamel.yaml takes for a line of it
			q.text, q.mode = false, between
		case q.indent == 0:
			q.indent = max(q.column, 1)
			q.lost = q.lost || q.column == 0 || q.blank > q.column
			q.mode = ofText
		default:
			q.mode = ofText
		}
	}
	switch q.mode {
	case aDouble, aSingle:
		q.lost, q.inText = q.lost || marks, true
		return
	case ofText:
		q.inText = true
		return
	case aPlain:
		if q.flow == 0 && q.column <= q.parent || marks {
			q.mode = between
		}
	}
	q.inText = q.mode == aPlain
	if marks {
		q.lost = q.lost || q.flow > 0
		q.mode, q.parent = aName, -1 // up to the next blank
	}
}

// comments begins a comment.
func (q *quoting) comments() bool {
	q.mode = aComment
	return true
}

// inPlain goes past a byte of a text without quotes.
func (q *quoting) inPlain(c byte) bool {
	switch {
	case c == '#' && (q.prev == 0 || q.prev == ' '):
		return q.comments()
	case c == '#' && q.prev == '\t':
		q.lost = true
	case q.prev == ':' && isBlankByte(c):
		q.ended()
	case q.flow > 0 && strings.IndexByte(",[]{}", c) >= 0:
		if q.prev == ':' {
			q.ended()
		}
		q.mode = between
		return q.token(c)
	case q.flow > 0 && strings.IndexByte(`"'`, c) >= 0 && (q.prev == ':' || q.prev == '?'):
		q.lost = true
	}
	return false
}

// ended goes past the colon behind a key.
func (q *quoting) ended() {
	q.mode = between
	if q.flow == 0 && q.start >= 0 {
		q.parent, q.start = q.start, -1
	}
}

// token goes past a byte between tokens.
func (q *quoting) token(c byte) bool {
	closed, mark := q.closed, q.mark
	q.closed, q.mark = false, 0
	switch {
	case mark != 0 && isBlankByte(c):
		q.indicates(mark)
	case mark == ':' && q.flow > 0, mark == 0:
	case mark == '?' && q.flow > 0, mark == ':' && strings.IndexByte(`"'`, c) >= 0:
		q.lost = true
	default:
		q.mode = aPlain
		if q.start < 0 && q.flow == 0 {
			q.start = q.column - 1
		}
		return q.inPlain(c)
	}
	switch c {
	case ' ', '\t':
		return false
	case '#':
		q.lost = q.lost || q.prev != 0 && !isBlankByte(q.prev)
		return q.comments()
	case '\'':
		if closed && q.prev == c { // it was no end
			q.mode = aSingle
			return false
		}
	}
	q.lost = q.lost || closed && strings.IndexByte(`"'`, c) >= 0
	q.opens(c)
	return false
}

// indicates goes past a dash, a question mark or a colon with a blank behind it.
func (q *quoting) indicates(mark byte) {
	if mark == ':' {
		q.ended()
	} else if q.flow == 0 {
		q.parent, q.start = q.column-1, -1
	}
}

// opens begins a token.
func (q *quoting) opens(c byte) {
	keys := q.flow == 0 // it may be a key of a block
	switch c {
	case '"':
		q.mode = aDouble
	case '\'':
		q.mode = aSingle
	case '[', '{':
		q.flow++
	case ']', '}':
		q.lost = q.lost || q.flow == 0
		q.flow, keys = max(q.flow-1, 0), false
	case ',':
		q.lost, keys = q.lost || q.flow == 0, false
	case '-', '?':
		q.mark, keys = c, false
	case ':':
		q.mark = c
	case '|', '>':
		q.mode, keys = aPlain, false
		if q.lost = q.lost || q.flow > 0; q.flow == 0 {
			q.mode, q.text, q.indent, q.blank = aHeader, true, 0, 0
		}
	case '!', '&', '*':
		q.mode = aName
	case '%', '@', '`':
		q.mode, q.lost = aName, q.lost || c != '%' || q.column > 0 || q.flow > 0
	default:
		q.mode = aPlain
	}
	if keys && q.start < 0 {
		q.start = q.column
	}
}

// end goes past the end of a line.
func (q *quoting) end() {
	switch {
	case !q.begun && q.text:
		q.blank = max(q.blank, q.column)
	case q.mode == aPlain && q.prev == ':':
		q.ended()
	case q.mark != 0:
		q.indicates(q.mark)
	}
	if q.mode == aName || q.mode == aHeader || q.mode == aComment || q.mode == ofText {
		q.mode = between
	}
	q.column, q.begun, q.start, q.prev, q.mark, q.closed, q.skip, q.inText = 0, false, -1, 0, 0, false, false, false
	q.nested = q.mode == aDouble || q.mode == aSingle || q.flow > 0
}
