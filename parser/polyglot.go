package parser

import (
	"bytes"
	"encoding/binary"
	"fmt"

	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

const (
	zipEnd     = 22              // length of a ZIP end record without its comment
	zipTail    = zipEnd + 0xffff // where readers look for it
	tarBlock   = 512
	tarSum     = 148 // where a tar header keeps its checksum
	tarSumLen  = 8
	tarMagicAt = 257
)

// polyglot refuses a file that another loader would read as an archive, or
// returns the finding if the policy lets it pass.
func (h *head) polyglot(f *format) (*tensor.Finding, error) {
	what, off, err := h.alias()
	if what == "" || err != nil {
		return nil, err
	}
	text := fmt.Sprintf("it is %s from its beginning, and %s too: what a loader sees depends on the loader", f.name, what)
	if !h.b.Policy().Quirk(polyglotQuirk) {
		return nil, wire.At(detection, "", off, wire.ErrUnsupported.With("%s (quirk %s lets it pass)", text, polyglotQuirk))
	}
	return &tensor.Finding{Code: "detect.polyglot", Severity: tensor.Danger, Off: off, Text: text}, nil
}

// alias finds the archive that a file is besides what its first bytes say.
func (h *head) alias() (what string, off int64, err error) {
	if looksZip(h) == yes {
		return "", 0, nil
	}
	if isTar(h.p) {
		return "a tar archive", 0, nil
	}
	for at := max(0, h.size-zipTail); at < h.size; {
		p, err := h.window(at)
		if err != nil {
			return "", 0, err
		}
		if end, err := h.archiveEnd(p, at); end >= 0 || err != nil {
			return "a ZIP archive from its end", end, err
		}
		if at += int64(len(p)); at < h.size {
			at -= zipEnd - 1 // a record may lie across
		}
	}
	return "", 0, nil
}

// windowLen is how much of a file's end is looked at in one read.
const windowLen = 16 << 10

// window reads the file from off; a small file is there already.
func (h *head) window(off int64) ([]byte, error) {
	if h.size <= int64(len(h.p)) {
		return h.p[off:], nil
	}
	if h.tail == nil {
		h.tail = new([windowLen]byte)
	}
	p := h.tail[:min(h.size-off, windowLen)]
	if err := wire.ReadFull(h.r, p, off); err != nil {
		return nil, wire.At(detection, "", off, err)
	}
	return p, nil
}

// archiveEnd finds an end record in p, which stands at off, whose comment ends
// the file and before which a directory stands. It returns -1 for none.
func (h *head) archiveEnd(p []byte, off int64) (int64, error) {
	for i := 0; ; i++ {
		k := bytes.Index(p[i:], []byte("PK\x05\x06"))
		if k < 0 || len(p)-(i+k) < zipEnd {
			return -1, nil
		}
		i += k
		at := off + int64(i)
		if at+zipEnd+int64(binary.LittleEndian.Uint16(p[i+20:])) != h.size {
			continue
		}
		if ok, err := h.directory(at, binary.LittleEndian.Uint32(p[i+12:])); ok || err != nil {
			return at, err
		}
	}
}

// directory reports whether a directory of n bytes, or the ZIP64 locator in its
// stead, stands before the end record at off.
func (h *head) directory(off int64, n uint32) (bool, error) {
	const sig = 4
	at, want := off-int64(n), "PK\x01\x02"
	if n == 1<<32-1 {
		at, want = off-20, "PK\x06\x07"
	}
	if at < 0 || at > off-sig {
		return false, nil
	}
	var p [sig]byte
	if err := wire.ReadFull(h.r, p[:], at); err != nil {
		return false, wire.At(detection, "", at, err)
	}
	return string(p[:]) == want, nil
}

// isTar reports a tar header: its checksum holds, the checksum field counted as
// spaces.
func isTar(p []byte) bool {
	if len(p) < tarBlock {
		return false
	}
	var sum, stated int
	for i, c := range p[:tarBlock] {
		if i >= tarSum && i < tarSum+tarSumLen {
			c = ' '
		}
		sum += int(c)
	}
	digits := bytes.Trim(p[tarSum:tarSum+tarSumLen], " \x00")
	for _, c := range digits {
		if c < '0' || c > '7' {
			return false
		}
		stated = stated<<3 | int(c-'0')
	}
	return len(digits) > 0 && sum == stated
}
