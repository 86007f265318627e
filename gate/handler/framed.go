package handler

import (
	"bytes"
	"io"
	"strings"
)

// A framed reads a form, and refuses what readers of forms split into parts in more than one way:
// bytes before its first boundary or after its last one, a boundary anywhere but in a line of its
// own, and lines of headers that do not end with CR LF.
type framed struct {
	r        io.Reader
	boundary []byte // "--boundary"
	tail     []byte // of a part's content: a possible beginning of a boundary
	after    string // the end of the content that is no longer in tail, at most CR LF
	where    place
	line     int  // bytes of the line of a header
	prev     byte // the byte before, in headers
	err      error
}

// A place is one of a form.
type place int

const (
	beginning place = iota // before the first boundary
	header
	content
	end // after the last boundary
)

func newFramed(r io.Reader, boundary string) *framed {
	return &framed{r: r, boundary: []byte("--" + boundary)}
}

func (f *framed) Read(p []byte) (int, error) {
	if f.err != nil {
		return 0, f.err
	}
	n, err := f.r.Read(p)
	if f.err = f.see(p[:n]); f.err != nil {
		return 0, f.err
	}
	return n, err
}

// see looks at bytes as they come.
func (f *framed) see(p []byte) (err error) {
	for len(p) > 0 && err == nil {
		switch f.where {
		case header:
			p, err = f.headers(p)
		case end:
			if len(bytes.Trim(p, "\r\n")) > 0 {
				err = outside("after its last boundary")
			}
			return err
		default:
			p, err = f.contents(p)
		}
	}
	return err
}

// headers looks at the headers of a part, and returns the bytes after them.
func (f *framed) headers(p []byte) ([]byte, error) {
	for i, c := range p {
		switch {
		case (c == '\n') != (f.prev == '\r'), c < ' ' && c != '\t' && c != '\r' && c != '\n', c == 0x7f:
			return nil, bad("a line of a part's headers ends with CR LF and has no other control characters")
		case f.line == 0 && (c == ' ' || c == '\t'):
			return nil, bad("a header of a part is one line")
		case c == '\n' && f.line == 0:
			f.where, f.prev, f.after = content, 0, ""
			return p[i+1:], nil
		case c == '\n':
			f.line = 0
		case c != '\r':
			f.line++
		}
		f.prev = c
	}
	return nil, nil
}

// contents looks for the next boundary, and returns the bytes after it.
func (f *framed) contents(p []byte) ([]byte, error) {
	all := append(f.tail, p...)
	at := bytes.Index(all, f.boundary)
	if f.where == beginning && at != 0 {
		if n := min(len(all), len(f.boundary)); n < len(f.boundary) && bytes.Equal(all, f.boundary[:n]) {
			f.tail = all
			return nil, nil
		}
		return nil, outside("before its first boundary")
	}
	if at < 0 {
		f.keep(all, max(0, len(all)-len(f.boundary)+1))
		return nil, nil
	}
	rest := all[at+len(f.boundary):]
	if len(rest) < 2 { // what follows it is still to come
		f.keep(all, at)
		return nil, nil
	}
	closing := string(rest[:2]) == "--"
	if f.where == content && !strings.HasSuffix(f.after+string(all[max(0, at-2):at]), "\r\n") || !closing && string(rest[:2]) != "\r\n" {
		return nil, bad("the form has its boundary within a part, or in a line that is not its own: readers of forms could take it for the beginning of a part")
	}
	f.tail = nil
	if f.where = header; closing {
		f.where = end
	}
	f.line, f.prev = 0, 0
	return bytes.Clone(rest[2:]), nil
}

// keep keeps what comes from an offset on, and the two bytes before it.
func (f *framed) keep(all []byte, from int) {
	before := f.after + string(all[max(0, from-2):from])
	f.after = before[max(0, len(before)-2):]
	f.tail = bytes.Clone(all[from:])
}

// finish reads the form to its end.
func (f *framed) finish() error {
	if _, err := io.Copy(io.Discard, f); err != nil {
		return err
	}
	if f.where != end {
		return bad("the form is cut short")
	}
	return nil
}

func outside(where string) error {
	return bad("the form has bytes " + where + ", which belong to no part")
}

// boundaryOf returns the boundary of a form from its Content-Type and the parameters of that, or
// "" for one that another reader could read as another boundary.
func boundaryOf(kind string, params map[string]string) string {
	boundary := params["boundary"]
	const word = "boundary"
	// The word is in the boundaries of browsers too: "----WebKitFormBoundary" and letters.
	inside := strings.Count(strings.ToLower(boundary), word)
	if len(boundary) > 70 || strings.ContainsAny(kind, `*\`) || strings.Count(strings.ToLower(kind), word) != 1+inside || inside > 0 && strings.Contains(boundary, "=") {
		return ""
	}
	for name := range params {
		if name != "boundary" && name != "charset" {
			return ""
		}
	}
	for _, c := range boundary {
		if !strings.ContainsRune("0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ()+_-./:=?", c) {
			return ""
		}
	}
	return boundary
}
