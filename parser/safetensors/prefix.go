package safetensors

import (
	"bytes"
	"encoding/binary"

	"github.com/anamnesis-go/anamnesis/internal/strictjson"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
)

// CheckPrefix returns the error for which [Decode] refuses every file that begins with
// head. size is that of the file, or negative if unknown. Without an error, whole reports
// whether head holds everything that Decode reads. The account is left as it was.
func CheckPrefix(b *limits.Budget, head []byte, size int64) (whole bool, err error) {
	b = b.Probe()
	defer b.Close()
	if len(head) < lengthSize {
		return false, nil
	}
	n := binary.LittleEndian.Uint64(head)
	if whole = n <= uint64(len(head)-lengthSize); whole && size < 0 {
		_, err = DecodeHeader(b, bytes.NewReader(head))
		return true, err
	}
	if whole {
		_, err = Decode(b, bytes.NewReader(head), size)
		return true, err
	}
	if size < 0 {
		size = wire.MaxSize
	}
	d := decoder{r: bytes.NewReader(head), size: size, b: b}
	if err := d.length(); err != nil || len(head) == lengthSize {
		return false, err
	}
	if err := d.brace(head[lengthSize]); err != nil {
		return false, err
	}
	if d.h.Len > size {
		return false, d.cutHeader()
	}
	return false, d.partialHeader(head[lengthSize:])
}

// partialHeader reads the part of the header that is there. Reaching its end is not an
// error.
func (d *decoder) partialHeader(text []byte) error {
	if d.n > strictjson.MaxText {
		return nil // Decode will report it
	}
	if err := d.b.Alloc(d.n); err != nil {
		return d.fail("header", lengthSize, err)
	}
	d.text, d.part = string(text), true
	err := d.entries()
	if c := wire.ClassOf(err); c == wire.Truncated {
		return nil
	}
	return err
}
