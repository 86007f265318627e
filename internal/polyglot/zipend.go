package polyglot

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
	zipTail    = zipEnd + 1<<16 // Python searches one byte more than the longest comment
)

// archiveEnd finds an end record in p, which is at off, that leads some reader to a directory. It
// returns -1 if there is none.
//
// Readers use different records: zipfile the last signature, miniz (torch) the last with
// a whole record after it. None of them checks how much follows, or the length of the
// comment. So each record counts.
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

// directory64 follows the locator before an end record, if there is one. zipfile uses the
// record right before the locator, miniz the one that the locator points to.
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

// directory reports whether there is a directory of size bytes before end, where zipfile
// looks whatever the stated start, or at that start, where miniz looks. zipfile takes one
// of no bytes for an empty archive.
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

// peek reads p from off and reports whether it begins with a signature; it returns false
// if the file does not have these bytes.
func (s *source) peek(p []byte, off int64, sig string) (bool, error) {
	if off < 0 || off > s.size-int64(len(p)) {
		return false, nil
	}
	if err := wire.ReadFull(s.r, p, off); err != nil {
		return false, err
	}
	return string(p[:len(sig)]) == sig, nil
}
