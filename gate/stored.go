package gate

import (
	"cmp"
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

// digestName returns the digest that a path states for its content, and the hash that
// computes it. It knows the names under which ollama, OCI layouts and the cache of the
// Hugging Face hub keep content; small files in that cache have the digest of git.
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

// isHex reports whether s is n lower-case hex digits.
func isHex(s string, n int) bool { return len(s) == n && strings.Trim(s, "0123456789abcdef") == "" }

// storedName returns the path at which a store keeps the file.
func (v *draft) storedName() string {
	if v.stored != "" {
		return v.stored
	}
	return v.Name
}

// checkDigestName compares the content with the digest that the name states. A file that
// differs is refused whatever else its name says.
func (v *draft) checkDigestName(b *limits.Budget, r io.ReaderAt) error {
	want, h := digestName(v.storedName(), v.Size)
	if want == "" || r == nil || v.Err != nil {
		return nil
	}
	got, err := v.digest(b, r, h)
	if err != nil || got == "" {
		return v.readFailed(b, err)
	}
	if got != want {
		v.Harmless = ""
		v.Err = wire.At("gate", "", wire.NoOffset, wire.ErrChecksum.WithRule("gate.digest-name").Errorf("its name states the digest %s, but its digest is %s", want, got))
	}
	return nil
}

// digest returns the digest of the whole file by h. The SHA-256 is computed only once.
func (v *draft) digest(b *limits.Budget, r io.ReaderAt, h hash.Hash) (string, error) {
	if v.SHA256 != "" && h.Size() == sha256.Size {
		return v.SHA256, nil
	}
	if s, ok := r.(*hashingReader); ok && h.Size() == sha256.Size {
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

// hashing returns a reader that digests the file while it is read, if the gate or the
// name of the file needs a SHA-256.
func (s *subject) hashing(r io.ReaderAt) io.ReaderAt {
	if want, _ := digestName(cmp.Or(s.hint.stored, s.hint.Name), s.size); s.hint.SHA256 == "" && (s.gate.Digest || len(want) == 2*sha256.Size) {
		return newHashingReader(r, s.size)
	}
	return r
}
