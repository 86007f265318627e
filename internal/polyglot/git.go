package polyglot

import (
	"bytes"
	"crypto/sha1"
	"strconv"

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

// gitObject reports whether the content is one of git's objects, which stands compressed in a
// clone: what it is, its size and a zero byte before it. A pickle that began so would end there.
func (s *source) gitObject() (bool, error) {
	head, _, found := bytes.Cut(s.head[:min(len(s.head), 32)], []byte{0})
	kind, digits, _ := bytes.Cut(head, []byte(" "))
	size, err := strconv.ParseInt(string(digits), 10, 64)
	switch string(kind) {
	case "blob", "tree", "commit", "tag":
		return found && err == nil && strconv.FormatInt(size, 10) == string(digits) && size == s.size-int64(len(head))-1, nil
	}
	return false, nil
}
