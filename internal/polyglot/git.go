package polyglot

import (
	"bytes"
	"crypto/sha1"
	"io"
	"strconv"
	"strings"

	"github.com/anamnesis-go/anamnesis/internal/wire"
)

// gitFiles are how the files of a clone begin that git writes for itself, with their versions: the
// index, packs with their indices, reverse indices and bitmaps, and the graph of commits. Each ends
// with the SHA-1 of all before it.
var gitFiles = [...]string{
	"DIRC\x00\x00\x00\x02", "DIRC\x00\x00\x00\x03", "DIRC\x00\x00\x00\x04", "PACK\x00\x00\x00\x02", "\xfftOc\x00\x00\x00\x02",
	"RIDX\x00\x00\x00\x01", "CGPH\x01\x01", "MIDX\x01\x01", "BITM\x00\x01",
}

// git reports whether the file is one that git wrote, from its first byte to the checksum at its
// end.
func (s *source) git() (bool, error) {
	begins := false
	for _, magic := range gitFiles {
		begins = begins || bytes.HasPrefix(s.head, []byte(magic))
	}
	end := s.size - sha1.Size
	if !begins || end < 0 {
		return false, nil
	}
	h := sha1.New()
	var piece [4096]byte
	for at := int64(0); at < end; at += int64(len(piece)) {
		p := piece[:min(int64(len(piece)), end-at)]
		for range len(piece) / 64 {
			if err := s.steps.Step(); err != nil {
				return false, err
			}
		}
		if err := wire.ReadFull(s.r, p, at); err != nil {
			return false, err
		}
		h.Write(p)
	}
	stated := piece[:sha1.Size]
	err := wire.ReadFull(s.r, stated, end)
	return err == nil && bytes.Equal(h.Sum(nil), stated), err
}

// object is the name of one of git's objects.
const object = "an object of git"

// gitObject reports whether the content is an object of git, as a clone stores it compressed: its
// type, its size and a zero byte, then its data.
func (s *source) gitObject() (bool, error) {
	_, begin := s.objectHead()
	return begin > 0, nil
}

// objectHead returns the type of an object of git and the offset of its content, or 0.
func (s *source) objectHead() (kind string, begin int64) {
	head, _, found := strings.Cut(string(s.head[:min(len(s.head), 32)]), "\x00")
	kind, digits, _ := strings.Cut(head, " ")
	size, err := strconv.ParseInt(digits, 10, 64)
	begin = int64(len(head)) + 1
	switch kind {
	case "blob", "tree", "commit", "tag":
		if found && err == nil && strconv.FormatInt(size, 10) == digits && size == s.size-begin {
			return kind, begin
		}
	}
	return "", 0
}

// isHarmlessObject reports whether the content of an object is harmless. A checkout writes the
// content of a blob as a file, so it must be harmless by itself, or a pointer to a file elsewhere.
// No clone has a blob that contains an object of git.
func (s *source) isHarmlessObject() (bool, error) {
	kind, begin := s.objectHead()
	inner := source{r: io.NewSectionReader(s.r, begin, s.size-begin), size: s.size - begin, head: s.head[begin:]}
	if kind != "blob" || inner.isPointer() {
		return true, nil
	}
	if _, again := inner.objectHead(); again > 0 {
		return false, nil
	}
	what, err := Harmless(s.b, inner.r, inner.size)
	return what != "", err
}
