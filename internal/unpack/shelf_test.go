package unpack

import (
	"bytes"
	"io"
	"testing"

	"github.com/anamnesis-go/anamnesis/internal/ledger"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zlib"
)

// A reused decoder reads like a new one: after a stream that was read to its end, one that was
// truncated, one that was corrupt and one that was abandoned. A kept decoder holds no file.
func TestAReusedDecoderReadsLikeANewOne(t *testing.T) {
	ledger.Charges(t)
	content := bytes.Repeat([]byte("what a stream holds, "), 5_000)
	for _, c := range []struct {
		name  string
		shelf *shelf
		w     func(io.Writer) io.WriteCloser
	}{
		{"gzip", &gzips, func(w io.Writer) io.WriteCloser { return gzip.NewWriter(w) }},
		{"zlib", &zlibs, func(w io.Writer) io.WriteCloser { return zlib.NewWriter(w) }},
	} {
		var packed bytes.Buffer
		w := c.w(&packed)
		_, _ = w.Write(content)
		w.Close()
		whole := packed.Bytes()
		corrupt := bytes.Clone(whole)
		corrupt[len(corrupt)/2] ^= 0xff
		kept := func() *lent {
			select {
			case z := <-c.shelf.kept:
				return &lent{Reader: z}
			default:
				return nil
			}
		}
		for kept() != nil {
		}
		walk := func(p []byte) (out []byte, err error) {
			b := limits.Policy{}.Budget(t.Context())
			defer b.Close()
			err = Named(c.name).Walk(b, bytes.NewReader(p), int64(len(p)), func(i Item) error {
				out, err = io.ReadAll(io.NewSectionReader(i.R, 0, i.Size))
				return err
			})
			return out, err
		}
		for name, other := range map[string][]byte{"whole": whole, "cut": whole[:len(whole)/2], "corrupt": corrupt, "no header": []byte("x\x9c"), "empty": nil} {
			_, first := walk(other)
			if out, err := walk(whole); err != nil || !bytes.Equal(out, content) {
				t.Errorf("%s after %s: %d bytes, %v", c.name, name, len(out), err)
			}
			if _, again := walk(other); (first == nil) != (again == nil) || first != nil && first.Error() != again.Error() {
				t.Errorf("%s, %s: with a new decoder %v, with a kept one %v", c.name, name, first, again)
			}
		}
		b := limits.Policy{}.Budget(t.Context())
		if got := Named(c.name).Beginning(b, whole, 100); !bytes.Equal(got, content[:100]) {
			t.Errorf("%s: begins with %q", c.name, got)
		}
		b.Close()
		if kept() == nil {
			t.Errorf("%s: no decoder was kept", c.name)
		}
		z, err := c.shelf.lend(newSource(nil, io.NewSectionReader(bytes.NewReader(whole), 0, int64(len(whole)))))
		if err != nil {
			t.Fatal(err)
		}
		s := z.(*lent).s
		giveBack(z)
		giveBack(z)
		if s.from != nil || s.Reader != nil || s.b != nil {
			t.Errorf("%s: a kept decoder holds the file", c.name)
		}
	}
}
