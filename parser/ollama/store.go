package ollama

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"

	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// Folders lists where a store may be, the most likely first: only OLLAMA_MODELS if it is
// set, else the user's own and on Linux the service's.
func Folders() []string {
	if dir := os.Getenv("OLLAMA_MODELS"); dir != "" {
		return []string{dir}
	}
	var out []string
	if home, err := os.UserHomeDir(); err == nil {
		out = append(out, filepath.Join(home, ".ollama", "models"))
	}
	if runtime.GOOS == "linux" {
		out = append(out, "/usr/share/ollama/.ollama/models")
	}
	return out
}

// Blob opens the blob of a layer and checks its size. The digest itself is
// checked by [Verify], which reads the whole blob.
func Blob(store fs.FS, l Layer) (*tensor.Handle, error) {
	h, err := tensor.OpenFile(store, l.Path())
	if errors.Is(err, fs.ErrNotExist) {
		h, err = tensor.OpenFile(store, l.oldPath())
	}
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			err = wire.At("ollama", "blob "+l.Digest, wire.NoOffset,
				wire.ErrMissing.WithRule("ollama.blob-missing").Errorf("the model was not pulled completely: run ollama pull"))
		}
		return nil, err
	}
	if h.Size != l.Size {
		h.Close()
		cause := wire.ErrMismatch.WithRule("ollama.blob-size")
		if h.Size < l.Size {
			cause = wire.ErrTruncated
		}
		return nil, wire.At("ollama", "blob "+l.Digest, wire.NoOffset,
			cause.Errorf("%d bytes, but its manifest states %d", h.Size, l.Size))
	}
	return h, nil
}

// Verify reads a blob and compares its SHA-256 with the digest.
func Verify(b *limits.Budget, r io.ReaderAt, l Layer) error {
	buf, err := limits.Make[byte](b, wire.Chunk)
	if err != nil {
		return wire.At("ollama", "blob "+l.Digest, 0, err)
	}
	sum := sha256.New()
	for off := int64(0); off < l.Size; {
		if err := b.Err(); err != nil {
			return wire.At("ollama", "blob "+l.Digest, off, err)
		}
		p := buf[:min(int64(len(buf)), l.Size-off)]
		if err := wire.ReadFull(r, p, off); err != nil {
			return wire.At("ollama", "blob "+l.Digest, off, err)
		}
		sum.Write(p)
		off += int64(len(p))
	}
	if got := hex.EncodeToString(sum.Sum(nil)); got != l.Digest {
		return wire.At("ollama", "blob "+l.Digest, wire.NoOffset, wire.ErrChecksum.WithRule("ollama.digest-differs").Errorf("its content is sha256 %s", got))
	}
	return nil
}
