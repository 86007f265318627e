package narrow

import (
	"io"

	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
)

// A Body is an open tensor whose elements are made while they are read.
type Body struct {
	io.Reader

	Held          *limits.Budget // given back when it is closed
	Format, Where string         // of errors
}

func (b *Body) Read(p []byte) (int, error) {
	n, err := b.Reader.Read(p)
	if err != nil && err != io.EOF {
		err = wire.At(b.Format, b.Where, wire.NoOffset, err)
	}
	return n, err
}

// Close gives back what the body holds.
func (b *Body) Close() error {
	b.Held.Close()
	return nil
}
