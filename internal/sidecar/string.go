package sidecar

import (
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/anamnesis-go/anamnesis/limits"
)

// A kept string is the beginning of a string, and what else decides about a long one.
type kept struct {
	text   string
	size   int64  // size of the whole string
	end    string // its last bytes, at most tailLen
	spaced bool   // it contains white space
	dotted bool   // all of it is names with dots between them
	lone   bool   // it has half of a surrogate pair
}

// tailLen is longer than any ending that decides.
const tailLen = 16

// isCut reports whether the string is longer than what is kept.
func (k *kept) isCut() bool { return k.size > int64(len(k.text)) }

// read reads a string after its opening quote, and keeps its first limit bytes.
func (w *walk) read(limit int) (k kept, err error) {
	var tail [tailLen]byte // a ring
	k.dotted = true
	out := w.scratch[:0]
	for {
		if plain, err := w.plainRun(); err != nil {
			return kept{}, err
		} else if len(plain) > 0 {
			if out, err = k.addRun(w.b, out, plain, &tail, limit); err != nil {
				return kept{}, err
			}
			continue
		}
		c, err := w.next()
		if err != nil {
			return kept{}, err
		}
		var add [utf8.UTFMax]byte
		p := append(add[:0], c)
		switch c {
		case '"':
			w.scratch = out
			k.text = string(out)
			if k.end = k.text[max(0, len(k.text)-tailLen):]; k.isCut() {
				at := k.size % tailLen
				k.end = string(append(tail[at:], tail[:at]...))
				k.end = k.end[max(0, tailLen-int(min(k.size, tailLen))):]
			}
			return k, nil
		case '\\':
			r, err := w.escape()
			if err != nil {
				return kept{}, err
			}
			k.lone = k.lone || utf16.IsSurrogate(r)
			p = utf8.AppendRune(add[:0], r)
		}
		for _, c := range p {
			tail[k.size%tailLen] = c
			k.size++
			k.spaced = k.spaced || c == ' ' || c == '\t' || c == '\n'
			k.dotted = k.dotted && (inName(c) || c == '.')
			if len(out) < limit {
				if out, err = limits.Append(w.b, out, c); err != nil {
					return kept{}, err
				}
			}
		}
	}
}

// plainRun returns what comes next of a string, up to a quote or a backslash, and goes past it: as
// much as the buffer has, nothing if it is empty. It is valid until the next read.
func (w *walk) plainRun() ([]byte, error) {
	p, _ := w.in.Peek(w.in.Buffered()) // which it has
	n := 0
	for n < len(p) && p[n] != '"' && p[n] != '\\' {
		n++
	}
	if n == 0 {
		return nil, nil
	}
	for at := (w.off + stepLen - 1) / stepLen * stepLen; at < w.off+int64(n); at += stepLen {
		if err := w.steps.Step(); err != nil { // as next does
			return nil, err
		}
	}
	w.in.Discard(n)
	w.off += int64(n)
	return p[:n], nil
}

// addRun adds plain bytes to what is kept of a string.
func (k *kept) addRun(b *limits.Budget, out, p []byte, tail *[tailLen]byte, limit int) ([]byte, error) {
	for _, c := range p {
		k.spaced = k.spaced || c == ' ' || c == '\t' || c == '\n'
		k.dotted = k.dotted && (inName(c) || c == '.')
	}
	for i := max(0, len(p)-tailLen); i < len(p); i++ {
		tail[(k.size+int64(i))%tailLen] = p[i]
	}
	k.size += int64(len(p))
	p = p[:max(0, min(len(p), limit-len(out)))]
	for len(p) > 0 {
		n := min(len(p), cap(out)-len(out))
		out, p = append(out, p[:n]...), p[n:]
		if len(p) > 0 {
			var err error
			if out, err = limits.Append(b, out, p[0]); err != nil {
				return nil, err
			}
			p = p[1:]
		}
	}
	return out, nil
}

var escapes = map[byte]rune{'"': '"', '\\': '\\', '/': '/', 'b': '\b', 'f': '\f', 'n': '\n', 'r': '\r', 't': '\t'}

// escape reads what follows a backslash. A surrogate without its other half is returned unchanged,
// and the text after it is not read.
func (w *walk) escape() (rune, error) {
	if err := w.steps.Step(); err != nil { // it takes as long as all other bytes of a step
		return 0, err
	}
	c, err := w.next()
	if err != nil {
		return 0, err
	}
	if c != 'u' {
		plain, ok := escapes[c]
		if !ok {
			return 0, errNoJSON
		}
		return plain, nil
	}
	r, err := w.hex()
	if err != nil || !utf16.IsSurrogate(r) {
		return r, err
	}
	const unit = len(`\u0000`)
	next, err := w.in.Peek(unit)
	if err != nil || string(next[:2]) != `\u` {
		return r, nil // the end of the text is an error of what reads on
	}
	low, err := strconv.ParseUint(string(next[2:]), 16, 16)
	if pair := utf16.DecodeRune(r, rune(low)); err == nil && pair != utf8.RuneError {
		w.in.Discard(unit)
		w.off += int64(unit)
		return pair, nil
	}
	return r, nil
}

func (w *walk) hex() (rune, error) {
	var p [4]byte
	for i := range p {
		c, err := w.next()
		if err != nil {
			return 0, err
		}
		p[i] = c
	}
	n, err := strconv.ParseUint(string(p[:]), 16, 16)
	if err != nil {
		return 0, errNoJSON
	}
	return rune(n), nil
}

// unescaped is a line with the characters that double quotes write as numbers.
func unescaped(line string) string {
	if !strings.Contains(line, `\`) {
		return line
	}
	var out strings.Builder
	for i := 0; i < len(line); i++ {
		width := 0
		if line[i] == '\\' && i+1 < len(line) {
			switch line[i+1] {
			case 'x':
				width = 2
			case 'u':
				width = 4
			case 'U':
				width = 8
			}
		}
		if width > 0 && i+2+width <= len(line) {
			if n, err := strconv.ParseUint(line[i+2:i+2+width], 16, 31); err == nil {
				out.WriteRune(rune(n))
				i += 1 + width
				continue
			}
		}
		out.WriteByte(line[i])
	}
	return out.String()
}
