package zip

import (
	"io"
	"iter"

	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
)

// A Listing is the directory of an archive, which was read once: enough to tell what kind
// of archive it is, not enough to read from it. [Listing.Decode] proves the rest.
type Listing struct {
	// Members in the order of the directory, without the places of their data. Do not
	// change them.
	Members []Member

	d      decoder
	b      *limits.Budget // holds the directory until Decode charges it to another account
	held   int64          // bytes of it
	proven bool           // the local headers were read
}

// List reads the end records and the directory of the archive in r, which holds size bytes.
// Close gives back what it holds.
func List(b *limits.Budget, r io.ReaderAt, size int64) (*Listing, error) {
	b = b.Probe()
	l := &Listing{d: newDecoder(b, r, size, Options{ExactCase: true}), b: b}
	for l.d.stage < stUnique {
		if err := l.d.step(); err != nil {
			b.Close()
			return nil, wire.At(l.d.opts.Format, "", wire.NoOffset, err)
		}
	}
	l.Members, l.held, l.d.buf = l.d.out.Members, b.Charged(), nil
	return l, nil
}

// Names yields the names of the members.
func (l *Listing) Names() iter.Seq[string] {
	return func(yield func(string) bool) {
		for i := range l.Members {
			if !yield(l.Members[i].Name) {
				return
			}
		}
	}
}

// Close gives back what the directory holds.
func (l *Listing) Close() {
	if l != nil {
		l.b.Close()
	}
}

// Decode proves the structure of the archive, as the function Decode does, without reading
// its directory again. It charges the directory to b. Members are read from r.
func (l *Listing) Decode(b *limits.Budget, r io.ReaderAt, opts Options) (*Archive, error) {
	l.b.Close()
	if opts.StoredOnly || l.tooMuch(b) || l.charge(b) != nil {
		return Decode(b, r, l.d.size, opts) // which says where the account ends
	}
	d := newDecoder(b, r, l.d.size, opts)
	d.end, d.foot, d.footOff, d.stage = l.d.end, l.d.foot, l.d.footOff, l.d.stage
	d.out.Members, d.out.Comment = l.Members, l.d.out.Comment
	for d.stage != stDone {
		if l.proven && d.stage == stLocal {
			break
		}
		if err := d.step(); err != nil {
			return nil, wire.At(d.opts.Format, "", wire.NoOffset, err)
		}
	}
	l.proven = true
	return d.out, nil
}

// tooMuch reports whether b has no room for the directory.
func (l *Listing) tooMuch(b *limits.Budget) bool {
	b = b.Probe()
	defer b.Close()
	return l.charge(b) != nil
}

// charge charges b for the directory.
func (l *Listing) charge(b *limits.Budget) error {
	if err := b.Items(int64(len(l.Members))); err != nil {
		return err
	}
	if err := b.Hold(l.held); err != nil {
		return err
	}
	for i := range l.Members {
		if err := b.Step(1); err != nil {
			return err
		}
		if m := &l.Members[i]; m.Method == Deflate {
			if err := b.Inflate(m.Comp, m.Size); err != nil {
				return err
			}
		}
	}
	return nil
}
