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

// named holds a file whose name is a digest against its content. It is refused
// whatever its name was taken for.
func (v *Verdict) named(b *limits.Budget, r io.ReaderAt) error {
	path := v.stored
	if path == "" {
		path = v.Name
	}
	want, h := digestName(path, v.Size)
	if want == "" || r == nil || v.Err != nil {
		return nil
	}
	if ok, err := v.read(b, r, h); !ok {
		return err
	}
	if got := hex.EncodeToString(h.Sum(nil)); got != want {
		v.Harmless = ""
		v.Err = wire.At("gate", "", wire.NoOffset, wire.ErrChecksum.With("its name says that its digest is %s, and it is %s", want, got))
	}
	return nil
}
