package gate

import (
	"crypto/sha1"
	"crypto/sha256"
	"encoding/hex"
	"hash"
	"io"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
)

// digestName is the digest that a path says its content has, and how it is made, by
// the names under which stores keep content: ollama, an OCI layout, and the cache of
// the Hugging Face hub, where small files have the digest of git.
func digestName(path string, size int64) (want string, h hash.Hash) {
	path = strings.ReplaceAll(filepath.ToSlash(path), "!", "/")
	above, base := "", path
	if i := strings.LastIndexByte(path, '/'); i >= 0 {
		above, base = path[:i], path[i+1:]
	}
	if want, ok := strings.CutPrefix(base, "sha256-"); ok && isHex(want, 2*sha256.Size) {
		return want, sha256.New()
	}
	switch blobs := above == "blobs" || strings.HasSuffix(above, "/blobs"); {
	case (blobs || above == "blobs/sha256" || strings.HasSuffix(above, "/blobs/sha256")) && isHex(base, 2*sha256.Size):
		return base, sha256.New()
	case blobs && isHex(base, 2*sha1.Size):
		h = sha1.New()
		io.WriteString(h, "blob "+strconv.FormatInt(size, 10)+"\x00")
		return base, h
	}
	return "", nil
}

// isHex reports n small hex digits.
func isHex(s string, n int) bool { return len(s) == n && strings.Trim(s, "0123456789abcdef") == "" }

// storedName is the path by which a store keeps the file.
func (v *Verdict) storedName() string {
	if v.stored != "" {
		return v.stored
	}
	return v.Name
}

// named holds a file whose name is a digest against its content. It is refused
// whatever its name was taken for.
func (v *Verdict) named(b *limits.Budget, r io.ReaderAt) error {
	want, h := digestName(v.storedName(), v.Size)
	if want == "" || r == nil || v.Err != nil {
		return nil
	}
	got, err := v.digest(b, r, h)
	if err != nil || got == "" {
		return v.unread(b, err)
	}
	if got != want {
		v.Harmless = ""
		v.Err = wire.At("gate", "", wire.NoOffset, wire.ErrChecksum.By("gate.digest-name").With("its name says that its digest is %s, and it is %s", want, got))
	}
	return nil
}

// digest is that of the whole file. The SHA-256 is made only once.
func (v *Verdict) digest(b *limits.Budget, r io.ReaderAt, h hash.Hash) (string, error) {
	if s, ok := r.(*summed); ok && h.Size() == sha256.Size {
		sum, err := s.sum(b)
		if v.gate.Digest {
			v.SHA256 = sum
		}
		return sum, err
	}
	if err := readAll(b, r, 0, v.Size, h); err != nil {
		return "", err
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

// summing makes the digest of a file while it is read, where one is asked for: by the
// gate, or by the name of the file.
func (v *Verdict) summing(r io.ReaderAt) io.ReaderAt {
	if want, _ := digestName(v.storedName(), v.Size); v.gate.Digest || len(want) == 2*sha256.Size {
		return newSummed(r, v.Size)
	}
	return r
}
