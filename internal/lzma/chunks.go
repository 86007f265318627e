package lzma

import "io"

// A Source is compressed bytes.
type Source interface {
	io.Reader
	io.ByteReader
}

// Chunks inflate LZMA2: chunks of LZMA, or of bytes as they are, up to a zero byte.
type Chunks struct {
	d    *Decoder
	r    Source
	in   ration
	left int // bytes that the chunk at hand still makes
	raw  bool
	// The next chunk must have these.
	needDict, needProps bool
	err                 error
}

// NewChunks begins where the chunks do. r is left behind them.
func NewChunks(d *Decoder, r Source, dictionary uint64) *Chunks {
	d.Reset(dictionary)
	return &Chunks{d: d, r: r, needDict: true, needProps: true}
}

// A ration gives the bytes of one chunk.
type ration struct {
	r    io.ByteReader
	left int
}

func (r *ration) ReadByte() (byte, error) {
	if r.left == 0 {
		return 0, errCorrupt.Errorf("a chunk is longer than it states")
	}
	r.left--
	return r.r.ReadByte()
}

// Read implements io.Reader.
func (c *Chunks) Read(p []byte) (n int, err error) {
	for c.err == nil && c.left == 0 {
		c.err = c.next()
	}
	if c.err != nil || len(p) == 0 {
		return 0, c.err
	}
	n = min(len(p), c.left, maxRun)
	if c.raw {
		n, c.err = c.copy(p[:n])
	} else {
		n, c.err = c.inflate(p[:n])
	}
	if n > 0 {
		return n, nil
	}
	return 0, c.err
}

// copy takes bytes as they are.
func (c *Chunks) copy(p []byte) (int, error) {
	if err := c.d.win.room(len(p)); err != nil {
		return 0, err
	}
	if _, err := io.ReadFull(c.r, p); err != nil {
		return 0, cut(err)
	}
	for _, b := range p {
		c.d.win.put(b)
	}
	c.left -= len(p)
	return len(p), nil
}

func (c *Chunks) inflate(p []byte) (int, error) {
	n, ended, err := c.d.run(len(p))
	c.d.win.last(p[:n], n)
	c.left -= n
	switch {
	case err != nil:
		return n, err
	case ended:
		return n, errCorrupt.Errorf("an end marker inside a chunk")
	case c.left > 0:
		return n, nil
	case c.d.left > 0:
		return n, errCorrupt.Errorf("a match reaches beyond its chunk")
	}
	if err := c.d.rc.ended(); err != nil {
		return n, err
	}
	if c.in.left > 0 {
		return n, errCorrupt.Errorf("a chunk ends %d bytes short of its stated size", c.in.left)
	}
	return n, nil
}

// A Header is that of one chunk.
type Header struct {
	End      bool
	Raw      bool // its bytes are as they are
	Dict     bool // the dictionary is emptied
	State    bool // what was learned is forgotten
	Props    byte
	HasProps bool
	Size     int // of what it makes
	Packed   int // of what follows the header
}

// ReadHeader reads the header of a chunk.
func ReadHeader(next func() (byte, error)) (h Header, err error) {
	var p [5]byte
	if p[0], err = next(); err != nil {
		return h, err
	}
	n := 4 // behind the first
	switch code := p[0]; {
	case code == 0:
		return Header{End: true}, nil
	case code < 0x80:
		if code > 2 {
			return h, errCorrupt.Errorf("unknown chunk type %#02x", code)
		}
		h.Raw, h.Dict, n = true, code == 1, 2
	default:
		h.Size = int(code&0x1f) << 16
		h.State, h.HasProps, h.Dict = code >= 0xa0, code >= 0xc0, code >= 0xe0
	}
	for i := range n {
		if p[i+1], err = next(); err != nil {
			return h, cut(err)
		}
	}
	h.Size += int(p[1])<<8 + int(p[2]) + 1
	if h.Raw {
		h.Packed = h.Size
		return h, nil
	}
	h.Packed = int(p[3])<<8 + int(p[4]) + 1
	if h.HasProps {
		if h.Props, err = next(); err != nil {
			return h, cut(err)
		}
	}
	return h, nil
}

func cut(err error) error {
	if err == io.EOF {
		return io.ErrUnexpectedEOF
	}
	return err
}

// next begins a chunk, or says that there is none.
func (c *Chunks) next() error {
	h, err := ReadHeader(c.r.ReadByte)
	switch {
	case err != nil:
		return cut(err)
	case h.End:
		return io.EOF
	case c.needDict && !h.Dict:
		return errCorrupt.Errorf("the first chunk does not reset the dictionary")
	}
	if h.Dict {
		c.d.win.clear()
		c.needDict, c.needProps = false, true
	}
	if c.left, c.raw = h.Size, h.Raw; h.Raw {
		return nil
	}
	if h.HasProps {
		if err := c.d.props(h.Props); err != nil {
			return err
		}
		c.needProps = false
	} else if c.needProps {
		return errCorrupt.Errorf("an LZMA chunk before any that sets the properties")
	}
	if h.State {
		if err := c.d.restart(); err != nil {
			return err
		}
	}
	c.in = ration{c.r, h.Packed}
	return c.d.rc.begin(&c.in)
}
