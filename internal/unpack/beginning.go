package unpack

import (
	"bytes"
	"io"

	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/klauspost/compress/zstd"
)

// earlyWindow is the largest zstd window for which the beginning of a file is inflated.
// Larger ones are only read in whole files.
const earlyWindow = 8 << 20

var openZstdBeginning = opener{func(s *source) (io.Reader, error) {
	z, err := zstd.NewReader(s, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxWindow(earlyWindow))
	if err != nil {
		return nil, err
	}
	return z.IOReadCloser(), nil
}, 2*earlyWindow + 1<<20, false}

// Beginning inflates up to n bytes of a stream's content from the beginning of its file.
// It returns what it can: [Kind.Walk] reports errors, also if the account has no room for
// a decoder.
func (k *Kind) Beginning(b *limits.Budget, head []byte, n int) []byte {
	if k.beginning == nil || b.Hold(k.beginning.memory+inputLen) != nil {
		return nil
	}
	defer b.Drop(k.beginning.memory + inputLen)
	from := io.NewSectionReader(bytes.NewReader(head), 0, int64(len(head)))
	z, err := k.beginning.open(newSource(b, from))
	if err != nil {
		return nil
	}
	defer giveBack(z)
	if c, ok := z.(io.Closer); ok {
		defer c.Close()
	}
	out, err := limits.Make[byte](b, n)
	if err != nil {
		return nil
	}
	got, _ := io.ReadFull(z, out) // the end of head is not the end of the stream
	return out[:got]
}
