package zip

import (
	"cmp"
	"io"

	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
)

// Directory reads the end records and the directory alone: enough to tell what
// kind of archive it is, not enough to read from it. DataOff stays zero.
func Directory(b *limits.Budget, r io.ReaderAt, size int64, opts Options) ([]Member, error) {
	opts.Format = cmp.Or(opts.Format, "zip")
	d := decoder{
		c: wire.NewCursor(b, opts.Format, r, size), b: b, r: r, size: size, opts: opts,
		steps: b.Steps(), footOff: size, out: &Archive{format: opts.Format, r: r},
	}
	for d.stage < stUnique {
		if err := d.step(); err != nil {
			return nil, wire.At(opts.Format, "", wire.NoOffset, err)
		}
	}
	return d.out.Members, nil
}
