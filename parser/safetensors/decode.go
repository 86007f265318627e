package safetensors

import (
	"encoding/binary"
	"io"
	"iter"

	"github.com/anamnesis-go/anamnesis/internal/strictjson"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// Format is the name of the format.
const Format = "safetensors"

// MaxHeader is the largest header that the reference reads, in bytes
// (MAX_HEADER_SIZE, safetensors/src/tensor.rs). No policy raises it.
const MaxHeader = 100_000_000

// lengthSize is the size of the length before the header.
const lengthSize = 8

// A Header is the content of the first 8+N bytes.
type Header struct {
	// Len is the length of everything before the data: 8+N.
	Len int64
	// Data is the length of the data, which the tensors tile.
	Data int64
	// Infos lists the tensors in the order of their bytes.
	Infos []tensor.Info
	// Found is what a person should know.
	Found tensor.Findings

	meta    []Entry
	aliases []Entry
}

// An Entry is one pair of the metadata, or an alias and the tensor that it means.
type Entry = tensor.Pair

// Meta lists the metadata in the order of the header.
func (h *Header) Meta() iter.Seq2[string, string] { return pairs(h.meta) }

// Aliases lists the names that safetensors.torch.save_model left out because
// their tensors are tied: each with the stored tensor that it means.
func (h *Header) Aliases() iter.Seq2[string, string] { return pairs(h.aliases) }

func pairs(list []Entry) iter.Seq2[string, string] {
	return func(yield func(string, string) bool) {
		for _, e := range list {
			if !yield(e.Key, e.Value) {
				return
			}
		}
	}
}

// A File is a safetensors file as a model.
type File struct {
	tensor.File
	header Header
}

// HeaderLen is the length of the header, without the eight bytes before it.
func (f *File) HeaderLen() int64 { return f.header.Len - lengthSize }

// Meta lists the metadata, each value a string, in the order of the header.
func (f *File) Meta() iter.Seq2[string, any] {
	return func(yield func(string, any) bool) {
		for _, e := range f.header.meta {
			if !yield(e.Key, e.Value) {
				return
			}
		}
	}
}

// Aliases is [Header.Aliases].
func (f *File) Aliases() iter.Seq2[string, string] { return f.header.Aliases() }

// Decode reads the header of a file of size bytes and proves it. Nothing of the
// data is read.
func Decode(b *limits.Budget, r io.ReaderAt, size int64) (*File, error) {
	return decode(b, r, size, false)
}

func decode(b *limits.Budget, r io.ReaderAt, size int64, shard bool) (*File, error) {
	b.Source(size)
	d := decoder{r: r, size: size, b: b, shard: shard}
	if err := d.run(); err != nil {
		return nil, err
	}
	if err := b.Expand(d.h.Data); err != nil {
		return nil, d.fail("", d.h.Len, err)
	}
	return &File{
		File:   tensor.File{Name: Format, Source: r, Infos: d.h.Infos, Found: d.h.Found},
		header: d.h,
	}, nil
}

// DecodeHeader reads the header that r begins with: 8+N bytes, and none beyond
// them. The data is not read, so a truncated file is not noticed.
func DecodeHeader(b *limits.Budget, r io.Reader) (*Header, error) {
	d := decoder{stream: r, r: strictjson.Stream{R: r}, b: b}
	if err := d.run(); err != nil {
		return nil, err
	}
	return &d.h, nil
}

// A stage says what the decoder reads next. Each stage is entered once, so
// decoding ends.
type stage uint8

const (
	atLength stage = iota
	atText
	atEntries
	atLayout
	atAliases
	atEnd
)

type decoder struct {
	stage  stage
	r      io.ReaderAt
	stream io.Reader // set if the size of the file is unknown
	size   int64
	b      *limits.Budget
	shard  bool // one file of a set, which finds the aliases itself
	part   bool // text is only the beginning of the header

	n      int64  // length of the header
	text   string // the header
	places []uint32
	h      Header
}

func (d *decoder) run() error {
	for d.stage != atEnd {
		var err error
		switch d.stage {
		case atLength:
			err = d.length()
		case atText:
			err = d.readText()
		case atEntries:
			err = d.entries()
		case atLayout:
			err = d.layout()
		case atAliases:
			err = d.findAliases()
		default:
			panic("internal error: stage out of range")
		}
		if err != nil {
			return err
		}
		d.stage++
	}
	return nil
}

// length reads N.
func (d *decoder) length() error {
	if d.stream == nil && d.size < lengthSize {
		return d.fail("", d.size, wire.ErrTruncated.Errorf("%d bytes are too few for the 8 bytes of the header's length", d.size))
	}
	var p [lengthSize]byte
	if err := wire.ReadFull(d.r, p[:], 0); err != nil {
		return d.fail("header length", 0, err)
	}
	n := binary.LittleEndian.Uint64(p[:])
	switch {
	case n > MaxHeader:
		return d.fail("header length", 0, wire.ErrRange.WithRule("safetensors.header-size").Errorf("%d bytes, but the format allows %d", n, MaxHeader))
	case n < uint64(len("{}")):
		return d.fail("header length", 0, wire.ErrRange.WithRule("safetensors.header-size").Errorf("%d bytes cannot hold a JSON object", n))
	}
	d.n = int64(n)
	d.h.Len = lengthSize + d.n
	return nil
}

// readText reads the header. The first byte is checked first: the error about a byte that
// is not a brace says more than that about a wrong length.
func (d *decoder) readText() error {
	if d.stream == nil && d.h.Len > d.size {
		if err := d.cutHeader(); err != nil {
			return err
		}
	}
	var err error
	if d.stream != nil {
		d.text, err = strictjson.Read(d.b, d.stream, lengthSize, d.n)
	} else {
		d.text, err = strictjson.ReadAt(d.b, d.r, lengthSize, d.n)
	}
	if err != nil {
		return d.fail("header", lengthSize, err)
	}
	return d.brace(d.text[0])
}

func (d *decoder) cutHeader() error {
	if d.size > lengthSize {
		var first [1]byte
		if err := wire.ReadFull(d.r, first[:], lengthSize); err != nil {
			return d.fail("header", lengthSize, err)
		}
		if err := d.brace(first[0]); err != nil {
			return err
		}
	}
	return d.fail("header", d.size, wire.ErrTruncated.Errorf("its %d bytes end at %#x, but the file ends at %#x", d.n, d.h.Len, d.size))
}

func (d *decoder) brace(c byte) error {
	if c != '{' {
		return d.fail("header", lengthSize, wire.ErrSyntax.WithRule("safetensors.brace").Errorf("begins with byte %#02x instead of a brace", c))
	}
	return nil
}

func (d *decoder) fail(where string, off int64, err error) error {
	return wire.At(Format, where, off, err)
}
