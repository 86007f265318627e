package polyglot

import (
	"encoding/binary"
	"hash/crc32"
)

// mp4 reports whether the file begins with the box that an MP4 film begins with. Its size
// fits in two bytes and is a multiple of four, so it is no number that another format has
// before four letters.
func (s *source) mp4() (bool, error) {
	if len(s.head) < 16 || string(s.head[4:8]) != "ftyp" {
		return false, nil
	}
	size := binary.BigEndian.Uint32(s.head)
	return size >= 16 && size < 1<<16 && size%4 == 0, nil
}

// bmp reports whether the file begins as a bitmap and states its own size, which some
// writers leave zero.
func (s *source) bmp() (bool, error) {
	if len(s.head) < 26 || string(s.head[:2]) != "BM" {
		return false, nil
	}
	size := int64(binary.LittleEndian.Uint32(s.head[2:]))
	data := binary.LittleEndian.Uint32(s.head[10:])
	return (size == s.size || size == 0) && binary.LittleEndian.Uint32(s.head[6:]) == 0 && data >= 26 && int64(data) < s.size, nil
}

// events reports whether the file begins as a log of TensorBoard: a record whose length
// and data have the right checksums,
//
//	u64 length, u32 checksum of it, data, u32 checksum of the data
//	data: field 1, a time as a double; field 3, "brain.Event:2"
//
// Without them, what lies before the name could be the beginning of another format.
func (s *source) events() (bool, error) {
	const begin = 12
	if len(s.head) < begin+11+len("brain.Event:") {
		return false, nil
	}
	length := binary.LittleEndian.Uint64(s.head)
	if length < 23 || length > 256 || uint64(len(s.head)) < begin+length+4 {
		return false, nil
	}
	data := s.head[begin : begin+length]
	return masked(s.head[:8]) == binary.LittleEndian.Uint32(s.head[8:]) &&
		masked(data) == binary.LittleEndian.Uint32(s.head[begin+length:]) &&
		data[0] == 1<<3|1 && data[9] == 3<<3|2 && string(data[11:23]) == "brain.Event:", nil
}

// masked returns the checksum of a record of TensorFlow.
func masked(p []byte) uint32 {
	c := crc32.Checksum(p, crc32.MakeTable(crc32.Castagnoli))
	return (c>>15 | c<<17) + 0xa282ead8
}
