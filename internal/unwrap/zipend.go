package unwrap

import (
	"bytes"
	"encoding/binary"

	"github.com/anamnesis-go/anamnesis/internal/wire"
)

// Lengths of the records that end an archive.
const (
	zipEnd     = 22
	zipLocator = 20
	zipEnd64   = 56
	zipTail    = zipEnd + 1<<16 // Python looks one byte further than a comment is long
)

// archiveEnd finds an end record in p, which stands at off, from which a reader
// comes to a directory. It returns -1 for none.
//
// Readers differ in which record they take: zipfile the last signature, miniz
// (torch) the last with a whole record behind it; none of them minds how much
// follows, nor what the record says of its comment. So each one counts.
func (s *source) archiveEnd(p []byte, off int64) (int64, error) {
	for i := 0; ; i++ {
		k := bytes.Index(p[i:], []byte("PK\x05\x06"))
		if k < 0 || len(p)-(i+k) < zipEnd {
			return -1, nil
		}
		i += k
		at := off + int64(i)
		le := binary.LittleEndian
		size, start := uint64(le.Uint32(p[i+12:])), uint64(le.Uint32(p[i+16:]))
		found, err := s.directory(at, size, start)
		if err == nil && !found {
			found, err = s.directory64(at)
		}
		if found || err != nil {
			return at, err
		}
	}
}

// directory64 follows the locator before an end record, if one stands there.
// zipfile takes the record right before the locator, miniz the one that the
// locator names.
func (s *source) directory64(end int64) (bool, error) {
	var loc [zipLocator]byte
	if ok, err := s.peek(loc[:], end-zipLocator, "PK\x06\x07"); !ok || err != nil {
		return false, err
	}
	named := int64(min(binary.LittleEndian.Uint64(loc[8:]), wire.MaxSize))
	for _, at := range [...]int64{end - zipLocator - zipEnd64, named} {
		var rec [zipEnd64]byte
		if ok, err := s.peek(rec[:], at, "PK\x06\x06"); err != nil {
			return false, err
		} else if ok {
			size, start := binary.LittleEndian.Uint64(rec[40:]), binary.LittleEndian.Uint64(rec[48:])
			if found, err := s.directory(end-zipLocator-zipEnd64, size, start); found || err != nil {
				return found, err
			}
		}
	}
	return false, nil
}

// directory reports whether a directory of size bytes stands before end, where
// zipfile looks for it whatever its stated start, or at that start, where miniz
// looks. One of no bytes is an empty archive to zipfile.
func (s *source) directory(end int64, size, start uint64) (bool, error) {
	if size == 0 {
		return start <= uint64(end), nil
	}
	var sig [4]byte
	for _, at := range [...]int64{end - int64(min(size, wire.MaxSize)), int64(min(start, wire.MaxSize))} {
		if ok, err := s.peek(sig[:], at, "PK\x01\x02"); ok || err != nil {
			return ok, err
		}
	}
	return false, nil
}

// peek fills p from off and reports whether it begins with a signature; false
// where the file has no such bytes.
func (s *source) peek(p []byte, off int64, sig string) (bool, error) {
	if off < 0 || off > s.size-int64(len(p)) {
		return false, nil
	}
	if err := wire.ReadFull(s.r, p, off); err != nil {
		return false, err
	}
	return string(p[:len(sig)]) == sig, nil
}
