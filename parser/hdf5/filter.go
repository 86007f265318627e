package hdf5

import (
	"bytes"
	"encoding/binary"
	"io"

	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/klauspost/compress/zlib"
)

// A filter is what the bytes of a chunk pass through.
type filter struct {
	number uint16
	width  uint32 // bytes of an element, for shuffle
}

// Filters by number: those of the library, and LZF of h5py.
const (
	filterGzip        = 1
	filterShuffle     = 2
	filterFletcher32  = 3
	filterSZIP        = 4
	filterNBit        = 5
	filterScaleOffset = 6
	filterLZF         = 32000
)

// filterNames are the known filters.
var filterNames = map[uint16]string{
	filterGzip: "gzip", filterShuffle: "shuffle", filterFletcher32: "fletcher32", filterSZIP: "SZIP", filterNBit: "N-bit",
	filterScaleOffset: "scale-offset", filterLZF: "LZF",
}

// maxFilters bounds the filters of a dataset: that is what the library allows.
const maxFilters = 32

// filters reads through what chunks pass: in version 1, u16 number, u16 length of a name, u16
// flags, u16 values, the name, and the values in pairs. In version 2 only numbers from 256 have
// a name, and nothing is filled up.
func (d *decoder) filters(m *wire.Cursor) ([]filter, error) {
	const where = "filters"
	at := m.Off()
	f := fields{c: m}
	version, count := f.u8(), f.u8()
	switch {
	case f.err != nil:
		return nil, f.err
	case version == 1:
		f.skip(6)
	case version != 2:
		return nil, d.fail(where, at, errFeature.Errorf("version %d", version))
	}
	if count == 0 || count > maxFilters {
		return nil, d.fail(where, at, errStructure.Errorf("%d filters", count))
	}
	list := make([]filter, 0, maxFilters)
	for range count {
		if err := d.steps.Step(); err != nil {
			return nil, d.fail(where, m.Off(), err)
		}
		at := m.Off()
		one := readFilter(&f, version)
		if f.err != nil {
			return nil, f.err
		}
		if filterNames[one.number] == "" {
			return nil, d.fail(where, at, errFeature.Errorf("filter %d, for which the library loads a plugin", one.number))
		}
		list = append(list, one)
	}
	return list, nil
}

// readFilter reads one filter of a list.
func readFilter(f *fields, version byte) (one filter) {
	const named = 256
	one.number = f.u16()
	name, padding := uint64(0), uint64(0)
	if version == 1 || one.number >= named {
		name = f.u(2)
	}
	f.skip(2) // flags
	values := f.u(2)
	if version == 1 {
		name, padding = (name+7)/8*8, values%2*4
	}
	f.skip(name)
	if one.number == filterShuffle && values > 0 {
		one.width = le32(f.view(4))
	}
	f.skip(4*values + padding)
	return one
}

// compresses reports whether the size of a filter's output is not determined by its input.
func (f filter) compresses() bool {
	return f.number != filterShuffle && f.number != filterFletcher32
}

// compressed reports whether chunks pass through a filter that compresses.
func (s *dataset) compressed() bool {
	for _, f := range s.filters {
		if f.compresses() {
			return true
		}
	}
	return false
}

// decodable returns nil if chunks that pass through these filters are read here.
func (s *dataset) decodable() error {
	sized := 0
	for _, f := range s.filters {
		switch f.number {
		case filterSZIP, filterNBit, filterScaleOffset:
			return errFeature.Errorf("chunks through %s", filterNames[f.number])
		}
		if f.compresses() {
			sized++
		}
	}
	if sized > 1 {
		return errFeature.Errorf("chunks that are compressed twice")
	}
	return nil
}

// sumSize is what Fletcher's checksum adds to a chunk.
const sumSize = 4

// A pipeline undoes the filters of the chunks of a dataset.
type pipeline struct {
	b       *limits.Budget
	s       *dataset
	paid    limits.Compressed
	in, out []byte
	gzip    io.ReadCloser
}

// newPipeline returns a pipeline that charges b for its buffers: a chunk before and after a
// filter.
func newPipeline(b *limits.Budget, s *dataset) (p *pipeline, err error) {
	if err := s.decodable(); err != nil {
		return nil, err
	}
	most := s.size + int64(len(s.filters))*sumSize
	for i := range s.chunks {
		most = max(most, int64(s.chunks[i].size))
	}
	p = &pipeline{b: b, s: s, paid: b.Compressed()}
	n, ok := wire.Int(uint64(most), wire.MaxSize)
	if !ok {
		return nil, wire.ErrUnsupported.Errorf("a chunk of %d bytes", most)
	}
	if p.in, err = limits.Make[byte](b, n); err != nil {
		return nil, err
	}
	p.out, err = limits.Make[byte](b, n)
	return p, err
}

// decode returns the bytes of a chunk, valid until the next call. The last filter is undone
// first; of a chunk, the mask says which were not applied.
func (p *pipeline) decode(r io.ReaderAt, c *chunk) ([]byte, error) {
	s := p.s
	data := p.in[:c.size]
	if err := p.paid.Read(int64(len(data))); err != nil {
		return nil, err
	}
	if err := wire.ReadFull(r, data, c.off); err != nil {
		return nil, err
	}
	free := p.out
	for i := len(s.filters) - 1; i >= 0; i-- {
		if c.mask>>i&1 != 0 {
			continue
		}
		to, err := p.undo(s.filters[i], data, free, p.before(i, c))
		if err != nil {
			return nil, err
		}
		if len(to) > 0 && len(data) > 0 && &to[0] != &data[0] {
			data, free = to, data[:cap(data)]
		} else {
			data = to
		}
	}
	if int64(len(data)) != s.size { // a filter that compresses makes this size, and others keep that of the index
		return nil, wire.ErrInternal.Errorf("a chunk of %d bytes, and shape and type require %d", len(data), s.size)
	}
	return data, p.paid.Made(int64(len(data)))
}

// before returns how many bytes a chunk had before filter i was applied.
func (p *pipeline) before(i int, c *chunk) int {
	n := int(p.s.size)
	for k, f := range p.s.filters[:i] {
		if c.mask>>k&1 == 0 && f.number == filterFletcher32 {
			n += sumSize
		}
	}
	return n
}

// undo undoes one filter: from data into to, or in data itself.
func (p *pipeline) undo(f filter, data, to []byte, size int) ([]byte, error) {
	switch f.number {
	case filterGzip:
		return p.inflate(data, to[:size])
	case filterLZF:
		return unLZF(data, to[:size])
	case filterShuffle:
		return p.unshuffle(f, data, to[:len(data)])
	case filterFletcher32:
		n := len(data) - sumSize
		if n < 0 {
			return nil, errSize.Errorf("a chunk of %d bytes without its checksum", len(data))
		}
		if is, stated := fletcher32(data[:n]), binary.LittleEndian.Uint32(data[n:]); is != stated {
			return nil, errChecksum.Errorf("a chunk's is %08x, and %08x is stated", is, stated)
		}
		return data[:n], nil
	}
	return nil, wire.ErrInternal.Errorf("chunks through %s", filterNames[f.number])
}

// inflate reads a stream of zlib that has exactly the bytes of to.
func (p *pipeline) inflate(data, to []byte) ([]byte, error) {
	bad := func(err error) ([]byte, error) {
		return nil, wire.ErrSyntax.WithRule("hdf5.chunk").Errorf("a chunk that zlib does not inflate: %v", err)
	}
	in := bytes.NewReader(data)
	var err error
	if p.gzip == nil {
		p.gzip, err = zlib.NewReader(in)
	} else {
		err = p.gzip.(zlib.Resetter).Reset(in, nil)
	}
	if err != nil {
		return bad(err)
	}
	if n, err := io.ReadFull(p.gzip, to); err != nil {
		return nil, errSize.Errorf("a chunk of %d bytes, and shape and type require %d (%v)", n, len(to), err)
	}
	var more [1]byte
	n, err := p.gzip.Read(more[:])
	switch {
	case n > 0:
		return nil, errSize.Errorf("a chunk of more bytes than shape and type require")
	case err != io.EOF:
		return bad(err)
	case in.Len() > 0:
		return nil, wire.ErrSyntax.WithRule("hdf5.chunk").Errorf("%d bytes after the stream of a chunk", in.Len())
	}
	return to, nil
}

// unshuffle puts the bytes of each element together: the first bytes of all elements come first.
// The rest of an incomplete element is at the end.
func (p *pipeline) unshuffle(f filter, data, to []byte) ([]byte, error) {
	width := int(f.width)
	if width == 0 || width > len(data) {
		return nil, errStructure.Errorf("elements of %d bytes in a chunk of %d", width, len(data))
	}
	if width == 1 {
		return data, nil
	}
	n := len(data) / width
	for k := range width {
		from := data[k*n : (k+1)*n]
		for i, x := range from {
			to[i*width+k] = x
		}
	}
	copy(to[n*width:], data[n*width:])
	return to, nil
}

// fletcher32 is Fletcher's checksum over numbers of 16 bits, the high byte first.
func fletcher32(p []byte) uint32 {
	const batch = 360 // sums that cannot overflow
	var a, b uint32
	for len(p) > 1 {
		n := min(len(p)/2, batch)
		for i := 0; i < 2*n; i += 2 {
			a += uint32(p[i])<<8 | uint32(p[i+1])
			b += a
		}
		a, b = a&0xffff+a>>16, b&0xffff+b>>16
		p = p[2*n:]
	}
	if len(p) > 0 {
		a += uint32(p[0]) << 8
		b += a
		a, b = a&0xffff+a>>16, b&0xffff+b>>16
	}
	a, b = a&0xffff+a>>16, b&0xffff+b>>16
	return b<<16 | a
}

// unLZF decodes LZF (Marc Lehmann's format): a byte below 32 is one less than how many bytes
// follow as they are; of any other the high three bits are a length, 7 if it goes on in the next
// byte, and the low five with one more byte the distance.
func unLZF(data, to []byte) ([]byte, error) {
	bad := wire.ErrSyntax.WithRule("hdf5.chunk").Errorf("a chunk that LZF does not decode")
	n := 0
	for i := 0; i < len(data); {
		c := int(data[i])
		i++
		if c < 32 {
			c++
			if i+c > len(data) || n+c > len(to) {
				return nil, bad
			}
			copy(to[n:], data[i:i+c])
			n, i = n+c, i+c
			continue
		}
		length := c>>5 + 2
		if c>>5 == 7 && i < len(data) {
			length += int(data[i])
			i++
		}
		if i >= len(data) {
			return nil, bad
		}
		from := n - (c&31<<8 | int(data[i])) - 1
		i++
		if from < 0 || n+length > len(to) {
			return nil, bad
		}
		for k := range length { // they may overlap
			to[n+k] = to[from+k]
		}
		n += length
	}
	if n != len(to) {
		return nil, errSize.Errorf("a chunk of %d bytes, and shape and type require %d", n, len(to))
	}
	return to, nil
}
