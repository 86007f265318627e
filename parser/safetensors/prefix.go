package safetensors

import (
	"bytes"
	"encoding/binary"

	"github.com/anamnesis-go/anamnesis/internal/strictjson"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
)

// CheckPrefix says why no file that begins with head could be one: what [Decode]
// refuses it for, whatever follows. size is that of the file, or negative where
// it is not known. Where nothing is wrong yet it tells whether head holds all that
// Decode reads. The account is left as it was.
func CheckPrefix(b *limits.Budget, head []byte, size int64) (whole bool, err error) {
	b = b.Probe()
	defer b.Close()
	if len(head) < prefix {
		return false, nil
	}
	n := binary.LittleEndian.Uint64(head)
	if whole = n <= uint64(len(head)-prefix); whole && size < 0 {
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
	if err := d.length(); err != nil || len(head) == prefix {
		return false, err
	}
	if err := d.brace(head[prefix]); err != nil {
		return false, err
	}
	if d.h.Len > size {
		return false, d.cut()
	}
	return false, d.beginning(head[prefix:])
}

// beginning reads the part of the header that is there. That it ends says nothing.
func (d *decoder) beginning(text []byte) error {
	if d.n > strictjson.MaxText {
		return nil // for Decode to say
	}
	if err := d.b.Alloc(d.n); err != nil {
		return d.fail("header", prefix, err)
	}
	d.text, d.part = string(text), true
	err := d.entries()
	if c := wire.ClassOf(err); c == wire.Truncated {
		return nil
	}
	return err
}
