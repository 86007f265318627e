package zip

import (
	"encoding/binary"

	"github.com/anamnesis-go/anamnesis/internal/wire"
)

// Extra fields that change the meaning of a member. All others, such as PyTorch's padding
// 'FB', must only be well formed.
const (
	extraZip64       = 0x0001
	extraStrongCrypt = 0x0017
	extraUnicodePath = 0x7075
	extraAES         = 0x9901
)

// zip64Field returns the payload of the ZIP64 field among the extra fields of a header,
// nil if there is none. On error, at is the offset in extra.
func (d *decoder) zip64Field(extra []byte) (field []byte, at int, err error) {
	for at < len(extra) {
		if err := d.steps.Step(); err != nil {
			return nil, at, err
		}
		if len(extra)-at < 4 {
			return nil, at, wire.ErrSyntax.WithRule("zip.extra-syntax").Errorf("%d bytes are not an extra field", len(extra)-at)
		}
		id, n := binary.LittleEndian.Uint16(extra[at:]), int(binary.LittleEndian.Uint16(extra[at+2:]))
		if n > len(extra)-at-4 {
			return nil, at, wire.ErrRange.WithRule("zip.extra-length").Errorf("extra field %#04x of %d bytes, %d left", id, n, len(extra)-at-4)
		}
		switch id {
		case extraZip64:
			if field != nil {
				return nil, at, wire.ErrDuplicate.WithRule("zip.zip64-twice").Errorf("zip64 extra field")
			}
			field = extra[at+4 : at+4+n : at+4+n]
		case extraStrongCrypt, extraAES:
			return nil, at, wire.ErrUnsupported.WithRule("zip.encrypted").Errorf("encrypted member (extra field %#04x)", id)
		case extraUnicodePath:
			return nil, at, wire.ErrUnsupported.WithRule("zip.second-name").Errorf("second name in extra field %#04x", id)
		}
		at += 4 + n
	}
	return field, at, nil
}
