package handler

import (
	"bytes"
	"io"
	"net/http"
)

// A framed reads a form, and refuses bytes before its first boundary and after its last one:
// readers of forms skip them, and another one could take them for a form of their own.
type framed struct {
	r     io.Reader
	first []byte // "--boundary", until it has come
	last  []byte // "\n--boundary--"
	tail  []byte // the end of what came, less than last
	ended bool   // last has come
	err   error
}

func newFramed(r io.Reader, boundary string) *framed {
	return &framed{r: r, first: []byte("--" + boundary), last: []byte("\n--" + boundary + "--")}
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
func (f *framed) see(p []byte) error {
	if n := min(len(f.first), len(p)); n > 0 {
		if !bytes.Equal(f.first[:n], p[:n]) {
			return outside("before its first boundary")
		}
		f.first = f.first[n:]
	}
	if f.ended {
		return f.after(p)
	}
	all := append(f.tail, p...)
	if at := bytes.Index(all, f.last); at >= 0 {
		f.ended = true
		return f.after(all[at+len(f.last):])
	}
	f.tail = bytes.Clone(all[max(0, len(all)-len(f.last)+1):])
	return nil
}

// after refuses everything but the end of a line.
func (f *framed) after(p []byte) error {
	if len(bytes.Trim(p, "\r\n")) > 0 {
		return outside("after its last boundary")
	}
	return nil
}

// finish reads the form to its end.
func (f *framed) finish() error {
	if _, err := io.Copy(io.Discard, f); err != nil {
		return err
	}
	return f.err
}

func outside(where string) error {
	return &problem{status: http.StatusBadRequest, detail: "the form has bytes " + where + ", which belong to no part"}
}
