package journal

import (
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"
)

// cutSeal splits a line into its text and its seal.
func cutSeal(line []byte) (text, seal []byte, ok bool) {
	n := len(line) - 1 - seals
	if n < 1 || line[n-1] != ' ' {
		return nil, nil, false
	}
	return line[:n-1], line[n : len(line)-1], true
}

// parse parses the text of a record.
func (r *Record) parse(text string) bool {
	fields := cursor{rest: text, ok: true}
	kind := fields.next()
	r.End, r.Pieces = kind == "e", r.Pieces[:0]
	if kind != "e" && kind != "r" {
		return false
	}
	task := fields.number()
	r.Task, r.Lo, r.Hi = int(task), fields.number(), fields.number()
	for i := range r.Counts {
		r.Counts[i] = fields.number()
	}
	for fields.ok && fields.rest != "" {
		if len(r.Pieces) == MaxPieces {
			return false
		}
		p := Piece{File: int(fields.number()), Off: fields.number(), Len: fields.number()}
		sum := fields.next()
		n, err := hex.Decode(p.Sum[:], []byte(sum[:min(len(sum), 2*len(p.Sum))]))
		if err != nil || n != len(p.Sum) || len(sum) != 2*n {
			return false
		}
		r.Pieces = append(r.Pieces, p)
	}
	return fields.ok && int64(r.Task) == task && r.Lo <= r.Hi
}

// A cursor reads fields that are separated by one space.
type cursor struct {
	rest string
	ok   bool
}

func (c *cursor) next() string {
	field, rest, more := strings.Cut(c.rest, " ")
	c.rest = rest
	if field == "" || more && rest == "" {
		c.ok = false
	}
	return field
}

// number reads a number from 0 on.
func (c *cursor) number() int64 {
	field := c.next()
	n, err := strconv.ParseUint(field, 10, 63)
	if err != nil || strconv.FormatUint(n, 10) != field {
		c.ok = false
	}
	return int64(n)
}

// text appends the text of a record, without its seal.
func (r *Record) text(p []byte) []byte {
	kind := "r"
	if r.End {
		kind = "e"
	}
	p = fmt.Appendf(p, "%s %d %d %d", kind, r.Task, r.Lo, r.Hi)
	for _, n := range r.Counts {
		p = append(p, ' ')
		p = strconv.AppendInt(p, n, 10)
	}
	for i := range r.Pieces {
		x := &r.Pieces[i]
		p = fmt.Appendf(p, " %d %d %d ", x.File, x.Off, x.Len)
		p = hex.AppendEncode(p, x.Sum[:])
	}
	return p
}
