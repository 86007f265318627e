package unpack

import (
	"errors"
	"io"
	"os"
	"strings"
	"testing"

	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
)

// A file that is shorter than its stated size is truncated, also where a decoder would take the end
// of the file for the end of the stream.
func TestAFileShorterThanItsSizeIsRefused(t *testing.T) {
	for _, name := range []string{"two.gz", "two.bz2", "two.zst", "two.xz", "lc0-lp0-pb0.lzma"} {
		data, err := os.ReadFile("../../corpus/valid/wrap/" + name)
		if err != nil {
			t.Fatal(err)
		}
		kind := map[string]string{".gz": "gzip", ".bz2": "bzip2", ".zst": "zstd", ".xz": "xz", ".lzma": "lzma"}[name[strings.LastIndexByte(name, '.'):]]
		for _, more := range []int64{0, 1, 4, inputLen, 1 << 20} {
			b := limits.Policy{Timeout: limits.NoTimeout}.Budget(t.Context())
			err := Named(kind).Walk(b, strings.NewReader(string(data)), int64(len(data))+more, func(i Item) error {
				_, err := io.Copy(io.Discard, io.NewSectionReader(i.R, 0, i.Size))
				return err
			})
			b.Close()
			refused := errors.Is(err, wire.ErrTruncated) || kind == "lzma" && errors.Is(err, wire.ErrTrailing) // its data ends by itself
			if more == 0 && err != nil || more > 0 && !refused {
				t.Errorf("%s as %d bytes more: %v", name, more, err)
			}
		}
	}
}

// A read at a negative offset of a stream's content is refused.
func TestAReadAtANegativeOffsetIsRefused(t *testing.T) {
	if n, err := new(replay).ReadAt(make([]byte, 1), -1); n != 0 || !errors.Is(err, wire.ErrRange) {
		t.Errorf("%d, %v", n, err)
	}
}
