package remote

import (
	"crypto/md5"  // of buckets, which state no other digest
	"crypto/sha1" // of git
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash"
	"io"
	"slices"
	"strings"

	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
)

// A digestKind is a way in which a source digests files.
type digestKind uint8

const (
	sha256Sum digestKind = iota
	gitBlob              // SHA-1 of "blob SIZE", a zero byte and the content
	md5Sum
)

var digestNames = [...]string{sha256Sum: "SHA-256", gitBlob: "git object", md5Sum: "MD5"}

// hexits returns the number of hexadecimal digits.
func (k digestKind) hexits() int { return [...]int{sha256Sum: 64, gitBlob: 40, md5Sum: 32}[k] }

func (k digestKind) start(size int64) hash.Hash {
	switch k {
	case gitBlob:
		h := sha1.New()
		fmt.Fprintf(h, "blob %d\x00", size)
		return h
	case md5Sum:
		return md5.New()
	}
	return sha256.New()
}

// A digest is a digest of a file's content that its source states.
type digest struct {
	kind digestKind
	sum  string // lower-case hexadecimal digits
}

// empty reports whether it is the digest of no bytes.
func (d *digest) empty() bool { return hex.EncodeToString(d.kind.start(0).Sum(nil)) == d.sum }

func isHex(s string, n int) bool { return len(s) == n && strings.Trim(s, "0123456789abcdef") == "" }

// A tally digests the beginning of a file, as far as it has been fetched without a gap.
type tally struct {
	stated *digest // nil if the source states none
	hash   hash.Hash
	n      int64 // bytes digested
	err    error // the file is not the one that was stated
}

// take digests a piece if it continues the digested beginning. After the last piece, the digest is
// compared with the stated one.
func (t *tally) take(p *piece, size int64) error {
	if t.err != nil || t.stated == nil || p.off > t.n || p.end() <= t.n || size < 0 {
		return t.err
	}
	if t.hash == nil {
		t.hash = t.stated.kind.start(size)
	}
	t.hash.Write(p.data[t.n-p.off:])
	if t.n = p.end(); t.n == size {
		if got := hex.EncodeToString(t.hash.Sum(nil)); got != t.stated.sum {
			t.err = wire.ErrChecksum.Errorf("the source states the %s %s, and the content has %s", digestNames[t.stated.kind], t.stated.sum, got)
		}
	}
	return t.err
}

// digested passes the kept pieces to the tally, in the order of their offsets.
func (f *file) digested() error {
	for again := true; again; {
		again = false
		for _, p := range f.pieces {
			before := f.tally.n
			if err := f.tally.take(p, f.size); err != nil {
				return fmt.Errorf("%s: %w", urlText(f.url), err)
			}
			again = again || f.tally.n > before
		}
	}
	return nil
}

// Verified reports whether the whole file was compared with the digest that its source states.
// It is true if the source states none.
func (f *file) Verified() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.tally.stated == nil || f.tally.err == nil && f.tally.n == f.size
}

// Whole reports whether nearly all of the file was fetched. A caller that reads all tensors does
// not read the bytes between them.
func (f *file) Whole() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.seen.total() >= f.size-f.size/16
}

// Verify reads the rest of a file whose source states a digest, so that the digest is compared.
func (f *file) Verify(b *limits.Budget) error {
	release, err := b.Lease(wire.Chunk)
	if err != nil {
		return err
	}
	defer release()
	buf := make([]byte, wire.Chunk)
	for {
		f.mu.Lock()
		off, bad := f.tally.n, f.tally.err
		done := f.tally.stated == nil || off == f.size
		f.mu.Unlock()
		if bad != nil {
			return fmt.Errorf("%s: %w", urlText(f.url), bad)
		}
		if err := b.Err(); err != nil || done {
			return err
		}
		if _, err := f.ReadAt(buf, off); err != nil && err != io.EOF {
			return err
		}
	}
}

// etagDigest returns the MD5 in the ETag of an object. It returns nil if the object was uploaded in
// parts or is encrypted under a key, since its ETag is then something else.
func etagDigest(etag, encryption string) *digest {
	sum, ok := strings.CutPrefix(etag, `"`)
	sum, ok2 := strings.CutSuffix(sum, `"`)
	if !ok || !ok2 || !isHex(sum, md5Sum.hexits()) || encryption != "" && encryption != "AES256" {
		return nil
	}
	return &digest{md5Sum, sum}
}

// A spans lists disjoint ranges of a file in order.
type spans []struct{ from, to int64 }

// add adds a range.
func (s *spans) add(from, to int64) {
	i := 0
	for i < len(*s) && (*s)[i].to < from {
		i++
	}
	j := i
	for j < len(*s) && (*s)[j].from <= to {
		from, to = min(from, (*s)[j].from), max(to, (*s)[j].to)
		j++
	}
	*s = slices.Replace(*s, i, j, struct{ from, to int64 }{from, to})
}

func (s spans) total() (n int64) {
	for _, r := range s {
		n += r.to - r.from
	}
	return n
}
