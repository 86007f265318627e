package tflite

import (
	"cmp"

	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
	"github.com/anamnesis-go/anamnesis/parser/zip"
)

// maxPadding is how many zeros writers put before data to align them: 16 at most in LiteRT, 64 where
// tensors are mapped into memory.
const maxPadding = 64

// rest proves that behind the FlatBuffers there are the data of buffers, then perhaps a ZIP archive,
// and between them the zeros of an alignment. No reader of the model looks at anything else there.
func (d *decoder) rest() error {
	end, err := d.behind(d.fb.End())
	if err != nil {
		return err
	}
	at, err := d.padding(end)
	if err != nil || at == d.size {
		return err
	}
	var magic [4]byte
	if d.size-at < int64(len(magic)) {
		return d.unexplained(at)
	}
	if err := wire.ReadFull(d.r, magic[:], at); err != nil {
		return d.fail("", at, err)
	}
	if string(magic[:]) != "PK\x03\x04" {
		return d.unexplained(at)
	}
	if d.out.packed, err = zip.Decode(d.b, d.r, d.size, zip.Options{Format: Format, Behind: true}); err != nil {
		return err
	}
	first := d.size
	for i := range d.out.packed.Members {
		if err := d.steps.Step(); err != nil {
			return d.fail("", at, err)
		}
		first = min(first, d.out.packed.Members[i].HeaderOff)
	}
	if first != at {
		return d.unexplained(at)
	}
	return nil
}

// behind returns where the data of buffers end that are behind the FlatBuffers.
func (d *decoder) behind(end int64) (int64, error) {
	var list []tensor.Span
	for _, s := range d.buffers {
		if err := d.steps.Step(); err != nil {
			return end, d.fail("Buffer", s.Off, err)
		}
		if s.Off < end || s.Len == 0 {
			continue
		}
		var err error
		if list, err = limits.Append(d.b, list, s); err != nil {
			return end, d.fail("Buffer", s.Off, err)
		}
	}
	if err := limits.Sort(d.b, list, compareSpans); err != nil {
		return end, d.fail("Buffer", end, err)
	}
	for _, s := range list {
		if err := d.steps.Step(); err != nil {
			return end, d.fail("Buffer", s.Off, err)
		}
		if s.Off > end {
			if at, err := d.padding(end); err != nil || at < s.Off {
				return end, cmp.Or(err, d.unexplained(at))
			}
		}
		end = max(end, s.End())
	}
	return end, nil
}

func (d *decoder) unexplained(at int64) error {
	return d.fail("", at, errStructure.Errorf("bytes behind the model that are neither the data of a buffer nor an archive"))
}

// padding returns where zeros end that begin at off.
func (d *decoder) padding(off int64) (int64, error) {
	var b [maxPadding]byte
	p := b[:min(maxPadding, d.size-off)]
	if err := wire.ReadFull(d.r, p, off); err != nil {
		return off, d.fail("", off, err)
	}
	if n := wire.NonZero(p[:]); n >= 0 {
		return off + int64(n), nil
	}
	return off + int64(len(p)), nil
}

// Packed returns the ZIP archive behind the model, in which TensorFlow Lite's metadata keep files for
// people and applications, or nil.
func (f *File) Packed() *zip.Archive { return f.packed }
