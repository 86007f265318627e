package npy

import (
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
)

// A literal parses the one Python literal that is the header: a dict of strings,
// integers, booleans, tuples and lists as repr writes them. On error, at is the offset.
type literal struct {
	p       []byte
	at      int
	utf8    bool // set for version 3; else Latin-1
	b       *limits.Budget
	buf     []byte // buffer of quoted
	python2 bool   // a number was written 3L
	inner   note   // notes about the fields of a structured type
}

// header reads the dict and the padding after it.
func (l *literal) header(h *Header) error {
	if err := l.expect('{'); err != nil {
		return err
	}
	seen := 0
	for more := !l.take('}'); more; {
		start := l.mark()
		k, err := l.key()
		if err != nil {
			return err
		}
		if seen&(1<<k) != 0 {
			return l.back(start, wire.ErrDuplicate.WithRule("npy.key-twice").Errorf("key %q", keys[k]))
		}
		seen |= 1 << k
		if err := l.value(h, keys[k]); err != nil {
			return err
		}
		if more, err = l.more('}'); err != nil {
			return err
		}
	}
	for k, key := range keys {
		if seen&(1<<k) == 0 {
			return wire.ErrMissing.WithRule("npy.key-missing").Errorf("key %q", key)
		}
	}
	h.python2 = l.python2
	return l.padding()
}

var keys = [...]string{"descr", "fortran_order", "shape"}

// key reads one of the keys and the colon.
func (l *literal) key() (int, error) {
	start := l.mark()
	p, err := l.quoted()
	if err != nil {
		return 0, err
	}
	for k, key := range keys {
		if string(p) == key {
			return k, l.expect(':')
		}
	}
	return 0, l.back(start, wire.ErrSyntax.WithRule("npy.key-unknown").Errorf("key %s", wire.Quote(string(p[:min(len(p), wire.MaxQuoted+1)]))))
}

func (l *literal) value(h *Header, key string) (err error) {
	start := l.mark()
	switch key {
	case "descr":
		if h.Type, err = l.descr(); err == nil && h.Type.Descr == "" {
			h.Type.Descr, err = l.text(start, l.at)
		}
	case "fortran_order":
		h.Fortran, err = l.boolean()
	default:
		h.shapeAt = start
		h.Shape, err = l.tuple()
	}
	return err
}

// padding reads spaces up to the newline that ends the header.
func (l *literal) padding() error {
	for l.at < len(l.p) && l.p[l.at] == ' ' {
		l.at++
	}
	if l.at != len(l.p)-1 || l.p[l.at] != '\n' {
		return wire.ErrSyntax.WithRule("npy.header-padding").Errorf("header must end with spaces and one newline")
	}
	l.at++
	return nil
}

// mark skips white space and returns where the next token begins.
func (l *literal) mark() int {
	for l.at < len(l.p) && (l.p[l.at] == ' ' || l.p[l.at] == '\t' || l.p[l.at] == '\n') {
		l.at++
	}
	return l.at
}

// back returns an error at an earlier offset.
func (l *literal) back(at int, cause error) error {
	l.at = at
	return cause
}

// next returns the first byte of the next token, 0 at the end.
func (l *literal) next() byte {
	if l.mark(); l.at == len(l.p) {
		return 0
	}
	return l.p[l.at]
}

// take consumes c if it is next.
func (l *literal) take(c byte) bool {
	if l.next() != c || l.at == len(l.p) {
		return false
	}
	l.at++
	return true
}

func (l *literal) expect(c byte) error {
	if !l.take(c) {
		return wire.ErrSyntax.WithRule("npy.literal").Errorf("%q expected", c)
	}
	return nil
}

// more consumes a comma or the closing bracket, after one item of a list. It
// reports whether another item follows.
func (l *literal) more(closing byte) (bool, error) {
	if l.take(closing) {
		return false, nil
	}
	if err := l.expect(','); err != nil {
		return false, err
	}
	return !l.take(closing), nil
}

func (l *literal) boolean() (bool, error) {
	l.mark()
	for _, word := range [...]string{"True", "False"} {
		if end := l.at + len(word); end <= len(l.p) && string(l.p[l.at:end]) == word {
			l.at = end
			return word == "True", nil
		}
	}
	return false, wire.ErrSyntax.WithRule("npy.literal").Errorf("expected True or False")
}

// integer reads digits without sign, and the L that Python 2 wrote after a long.
func (l *literal) integer() (int64, error) {
	start := l.mark()
	n, ok := uint64(0), true
	for ; l.at < len(l.p) && l.p[l.at] >= '0' && l.p[l.at] <= '9'; l.at++ {
		if ok {
			n, ok = wire.Mul(n, 10)
		}
		if ok {
			n, ok = wire.Add(n, uint64(l.p[l.at]-'0'))
		}
	}
	switch digits := l.at - start; {
	case digits == 0:
		return 0, wire.ErrSyntax.WithRule("npy.number-syntax").Errorf("expected a number without a sign")
	case digits > 1 && l.p[start] == '0':
		return 0, l.back(start, wire.ErrSyntax.WithRule("npy.number-syntax").Errorf("number with leading zero"))
	case !ok:
		return 0, l.back(start, wire.ErrRange.WithRule("npy.number-size").Errorf("number of 2^63 or more"))
	}
	if !l.utf8 && l.at < len(l.p) && l.p[l.at] == 'L' {
		l.python2 = true
		l.at++
	}
	return int64(n), nil
}

// tuple reads a tuple of integers. One number in brackets is not a tuple.
func (l *literal) tuple() ([]int64, error) {
	if err := l.expect('('); err != nil {
		return nil, err
	}
	var dims []int64
	for more := !l.take(')'); more; {
		if len(dims) == maxDims {
			return nil, wire.ErrRange.WithRule("npy.dimensions").Errorf("more than %d dimensions", maxDims)
		}
		n, err := l.integer()
		if err != nil {
			return nil, err
		}
		if dims, err = limits.Append(l.b, dims, n); err != nil {
			return nil, err
		}
		if len(dims) == 1 && l.next() == ')' {
			return nil, wire.ErrSyntax.WithRule("npy.literal").Errorf("a tuple of one dimension needs a comma")
		}
		if more, err = l.more(')'); err != nil {
			return nil, err
		}
	}
	return dims, nil
}
