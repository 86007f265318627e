package polyglot

import (
	"bytes"
	"encoding/binary"
	"io"
)

// ogg reads pages, each of which has a checksum.
func (m *media) ogg() (bool, error) {
	for m.left() > 0 {
		p, err := m.next(27)
		if err != nil || string(p[:5]) != "OggS\x00" {
			return false, err
		}
		want, segments := binary.LittleEndian.Uint32(p[22:]), int(p[26])
		copy(p[22:26], []byte{0, 0, 0, 0})
		sum := oggSum(0, p)
		if p, err = m.next(segments); err != nil {
			return false, err
		}
		sum = oggSum(sum, p)
		n := int64(0)
		for _, c := range p {
			n += int64(c)
		}
		if err := m.pass(n, func(p []byte) { sum = oggSum(sum, p) }); err != nil || sum != want {
			return false, err
		}
	}
	return true, nil
}

// oggTable is the CRC table of the polynomial 04C11DB7, highest bit first.
var oggTable = func() (table [256]uint32) {
	for i := range table {
		c := uint32(i) << 24
		for range 8 {
			c = c<<1 ^ c>>31*0x04c11db7
		}
		table[i] = c
	}
	return table
}()

func oggSum(sum uint32, p []byte) uint32 {
	for _, c := range p {
		sum = sum<<8 ^ oggTable[byte(sum>>24)^c]
	}
	return sum
}

// flac reads blocks of metadata and frames. A frame ends where the checksum over the frame,
// including the stored checksum, is zero, and another frame begins or the file ends.
func (m *media) flac() (bool, error) {
	m.next(4)
	for last := false; !last; {
		p, err := m.next(4)
		if err != nil {
			return false, err
		}
		last = p[0]&0x80 != 0
		if err := m.pass(int64(p[1])<<16|int64(p[2])<<8|int64(p[3]), nil); err != nil {
			return false, err
		}
	}
	if is, err := m.beginsFrame(); !is || err != nil {
		return false, err
	}
	sum, n := uint16(0), 0
	for m.left() > 0 {
		if n%64 == 0 {
			if err := m.s.steps.Step(); err != nil {
				return false, err
			}
		}
		c, err := m.in.ReadByte()
		if err != nil {
			return false, err
		}
		m.at++
		n++
		sum = sum<<8 ^ flacTable[byte(sum>>8)^c]
		if sum != 0 || n < 8 {
			continue
		}
		is, err := m.beginsFrame()
		if is {
			n = 0
		}
		if err != nil && err != io.EOF {
			return false, err
		}
	}
	return sum == 0, nil
}

// flacTable is the CRC table of the polynomial 8005, highest bit first.
var flacTable = func() (table [256]uint16) {
	for i := range table {
		c := uint16(i) << 8
		for range 8 {
			c = c<<1 ^ c>>15*0x8005
		}
		table[i] = c
	}
	return table
}()

// beginsFrame reports whether a frame of FLAC could begin here.
func (m *media) beginsFrame() (bool, error) {
	if m.left() == 0 {
		return false, nil
	}
	p, err := m.peek(2)
	return len(p) == 2 && p[0] == 0xff && p[1]&0xfe == 0xf8, err
}

// MPEG audio: bit rates in kbit/s by version and layer, and sample rates in Hz.
var (
	mpegRates = [2][3][15]int{
		{{0, 32, 64, 96, 128, 160, 192, 224, 256, 288, 320, 352, 384, 416, 448}, {0, 32, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320, 384}, {0, 32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320}},
		{{0, 32, 48, 56, 64, 80, 96, 112, 128, 144, 160, 176, 192, 224, 256}, {0, 8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160}, {0, 8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160}},
	}
	mpegHz = [3]int{44100, 48000, 32000}
)

// mpegFrame returns the length of a frame from its first four bytes, 0 if they are not the header
// of a frame.
func mpegFrame(p []byte) int64 {
	version, layer, rate, hz, pad := p[1]>>3&3, p[1]>>1&3, p[2]>>4, p[2]>>2&3, int(p[2]>>1&1)
	if p[0] != 0xff || p[1]&0xe0 != 0xe0 || version == 1 || layer == 0 || rate == 0 || rate == 15 || hz == 3 {
		return 0
	}
	low, at := 1, 3-int(layer)
	if version == 3 {
		low = 0
	}
	f := mpegHz[hz] >> low
	if version == 0 {
		f = mpegHz[hz] >> 2
	}
	kbit := mpegRates[low][at][rate] * 1000
	switch {
	case at == 0:
		return int64((12*kbit/f + pad) * 4)
	case at == 2 && low == 1:
		return int64(72*kbit/f + pad)
	}
	return int64(144*kbit/f + pad)
}

// mp3 reads tags and frames.
func (m *media) mp3() (bool, error) {
	frames := 0
	for m.left() > 0 {
		p, err := m.peek(int(min(10, m.left())))
		if err != nil {
			return false, err
		}
		n := int64(0)
		switch {
		case len(p) == 10 && string(p[:3]) == "ID3" && (p[6]|p[7]|p[8]|p[9])&0x80 == 0:
			n = 10 + int64(p[6])<<21 + int64(p[7])<<14 + int64(p[8])<<7 + int64(p[9])
		case frames > 0 && string(p[:min(3, len(p))]) == "TAG" && m.left() == 128:
			n = 128
		case frames == 0 && p[0] == 0: // padding behind a tag
			n = 1
		case len(p) >= 4:
			if n = mpegFrame(p); n > 0 {
				frames++
			}
			if frames > 1 { // the last frame may be cut
				n = min(n, m.left())
			}
		}
		if n == 0 {
			return false, nil
		}
		if err := m.pass(n, nil); err != nil {
			return false, err
		}
	}
	return frames > 0, nil
}

// pdf reports whether the end of a document refers to its table of objects.
func (m *media) pdf() (bool, error) {
	const tail = 1 << 10
	if err := m.pass(max(0, m.left()-tail), nil); err != nil {
		return false, err
	}
	p, err := m.next(int(m.left()))
	if err != nil {
		return false, err
	}
	p = bytes.TrimRight(p, " \t\r\n\x00")
	at := bytes.LastIndex(p, []byte("startxref"))
	if !bytes.HasSuffix(p, []byte("%%EOF")) || at < 0 {
		return false, nil
	}
	number := bytes.Trim(p[at+len("startxref"):len(p)-len("%%EOF")], " \t\r\n")
	return len(number) > 0 && len(number) < 19 && len(bytes.Trim(number, "0123456789")) == 0, nil
}
