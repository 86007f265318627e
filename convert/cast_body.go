package convert

import (
	"io"

	"github.com/anamnesis-go/anamnesis/internal/family"
	"github.com/anamnesis-go/anamnesis/internal/wire"
)

// castBody reads the numbers of a part in order, converted to the tensor's type.
type castBody struct {
	io.ReadCloser
	m    *made
	part *family.Part
	raw  [8 * 4096]byte
	nums [4096]float32
}

// Read reads whole elements.
func (c *castBody) Read(p []byte) (int, error) {
	from, to := sizeOf(c.part.Info.DType), sizeOf(c.m.t.DType)
	n := min(int64(len(p))/to, int64(len(c.nums)))
	if n == 0 || from > 8 {
		return 0, wire.ErrInternal.Errorf("a read splits an element")
	}
	got, err := io.ReadFull(c.ReadCloser, c.raw[:n*from])
	if err == io.ErrUnexpectedEOF && int64(got)%from == 0 {
		err = nil
	}
	if n = int64(got) / from; err != nil || n == 0 {
		return 0, err
	}
	return int(n * to), c.m.cast(p[:n*to], c.raw[:n*from], c.part, c.nums[:n])
}
