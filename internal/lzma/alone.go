package lzma

import (
	"encoding/binary"
	"io"
)

// HeaderLen is the length of the header of an .lzma file.
const HeaderLen = 13

// noSize is the size in a header that does not state the length of the content.
const noSize = 1<<64 - 1

// IsAlone reports a beginning that is the header of an .lzma file and a range coder: the
// format has no magic number. Sizes are asked as liblzma asks them, where it has to
// tell one format from another.
func IsAlone(head []byte) bool {
	if len(head) < HeaderLen+5 || head[0] >= 9*5*5 || head[HeaderLen] != 0 {
		return false
	}
	dict, size := binary.LittleEndian.Uint32(head[1:]), binary.LittleEndian.Uint64(head[5:])
	top := dict
	for top&(top-1) != 0 {
		top &= top - 1 // the highest bit
	}
	round := dict == top || dict == top+top/2 || dict == 0xffffffff
	return dict >= 4<<10 && round && (size == noSize || size < 1<<38)
}

// An Alone reader inflates an .lzma file.
type Alone struct {
	d     *Decoder
	left  uint64 // of the content
	sized bool
	err   error
}

// NewAlone reads the header of an .lzma file. r is left where its stream ends.
func NewAlone(d *Decoder, r Source) (*Alone, error) {
	var head [HeaderLen]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return nil, err
	}
	if err := d.props(head[0]); err != nil {
		return nil, err
	}
	a := &Alone{d: d, left: binary.LittleEndian.Uint64(head[5:])}
	a.sized = a.left != noSize
	d.Reset(uint64(binary.LittleEndian.Uint32(head[1:])))
	if err := d.restart(); err != nil {
		return nil, err
	}
	return a, d.rc.begin(r)
}

// Read implements io.Reader.
func (a *Alone) Read(p []byte) (int, error) {
	if a.err != nil || len(p) == 0 {
		return 0, a.err
	}
	n := min(len(p), maxRun)
	if a.sized && uint64(n) > a.left {
		n = int(a.left)
	}
	n, ended, err := a.d.run(n)
	a.d.win.last(p[:n], n)
	a.left -= uint64(n)
	switch {
	case err != nil:
		a.err = err
	case ended && a.sized && a.left > 0:
		a.err = errCorrupt.Errorf("the stream ends %d bytes short of its stated size", a.left)
	case ended || a.sized && a.left == 0:
		a.err = a.end()
	}
	if n > 0 {
		return n, nil
	}
	return 0, a.err
}

// end checks that nothing of the stream is left. A stream whose size is known needs no
// mark at its end.
func (a *Alone) end() error {
	if a.d.left > 0 {
		return errCorrupt.Errorf("a match reaches beyond the end")
	}
	if err := a.d.rc.ended(); err != nil {
		return err
	}
	return io.EOF
}
