package flatbuffers

import (
	"io"

	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
)

// Offsets lead anywhere, so a window that moves would be read anew for nearly each of them.
const (
	pageLen   = 4 << 10
	pageCount = 16
)

// pages are the parts of a file that were read last.
type pages struct {
	r     io.ReaderAt
	size  int64
	slots []page
	clock int64
}

type page struct {
	at   int64
	data []byte
	used int64 // when, by the clock; 0 if it was never read
}

func newPages(b *limits.Budget, r io.ReaderAt, size int64) (*pages, error) {
	n := min(pageCount, int(min(size, pageCount*pageLen)+pageLen-1)/pageLen)
	buf, err := limits.Make[byte](b, n*pageLen)
	if err != nil {
		return nil, err
	}
	p := &pages{r: r, size: size, slots: make([]page, n)}
	for i := range p.slots {
		p.slots[i].data = buf[i*pageLen : i*pageLen : (i+1)*pageLen]
	}
	return p, nil
}

// read copies the bytes at off, which lie in the file.
func (p *pages) read(dst []byte, off int64) error {
	for len(dst) > 0 {
		in, err := p.page(off / pageLen * pageLen)
		if err != nil {
			return err
		}
		n := copy(dst, in[off%pageLen:])
		dst, off = dst[n:], off+int64(n)
	}
	return nil
}

// page returns the page that begins at a multiple of its length.
func (p *pages) page(at int64) ([]byte, error) {
	p.clock++
	oldest := &p.slots[0]
	for i := range p.slots {
		s := &p.slots[i]
		if s.used > 0 && s.at == at {
			s.used = p.clock
			return s.data, nil
		}
		if s.used < oldest.used {
			oldest = s
		}
	}
	oldest.used = 0
	oldest.data = oldest.data[:min(pageLen, p.size-at)]
	if err := wire.ReadFull(p.r, oldest.data, at); err != nil {
		return nil, err
	}
	oldest.at, oldest.used = at, p.clock
	return oldest.data, nil
}
