package gate

import (
	"crypto/sha1"
	"crypto/sha256"
	"encoding/hex"
	"hash"
	"io"
	"path/filepath"
	"regexp"
	"strconv"

	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
)

// storedBy tells the names under which stores keep content by its digest: ollama,
// an OCI layout, and the cache of the Hugging Face hub, where small files have the
// digest of git.
var storedBy = regexp.MustCompile(`(?:^|[/!])(?:sha256-([0-9a-f]{64})|blobs/sha256/([0-9a-f]{64})|blobs/([0-9a-f]{64})|blobs/([0-9a-f]{40}))$`)

// digestName is the digest that a path says its content has, and how it is made.
func digestName(path string, size int64) (want string, h hash.Hash) {
	m := storedBy.FindStringSubmatch(filepath.ToSlash(path))
	if m == nil {
		return "", nil
	}
	for _, hex := range m[1:4] {
		if hex != "" {
			return hex, sha256.New()
		}
	}
	h = sha1.New()
	io.WriteString(h, "blob "+strconv.FormatInt(size, 10)+"\x00")
	return m[4], h
}

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
