package gguf

import (
	"encoding/binary"
	"io"
	"math"

	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// Format is the name that errors and models carry.
const Format = "gguf"

// Magic is the beginning of every GGUF file, in both byte orders.
const Magic = "GGUF"

// stage is the current stage of the decoder. Stages follow each other in this order, which is the
// order of the file.
//
// Spec: https://github.com/ggml-org/ggml/blob/master/docs/gguf.md
type stage uint8

const (
	stMagic    stage = iota // magic, version, byte order
	stCounts                // numbers of tensors and keys
	stKey                   // one key and its value
	stAlign                 // the alignment, from the keys
	stTensor                // one tensor's description
	stSpans                 // offsets of all tensors, end of the file
	stFindings              // what other readers would reject or read differently
	stDone
)

type decoder struct {
	reader
	stage stage
	mode  decodeMode
	out   *File

	tensors, keys int // as stated in the file, bounded by its size
	names         *wire.NameSet
	dims          []int64      // block from which shapes are allocated
	texts         limits.Texts // names of tensors
	lastType      Type         // type of the previous row and its name, for many rows of one unknown type
	lastName      string
	part          bool   // of a split model
	expanded      uint64 // bytes of all tensors once decoded, at most 2^63-1
}

// Decode reads the header of a GGUF file of size bytes. Nothing of a tensor is
// read, nor the elements of arrays beyond what it takes to find their end.
func Decode(b *limits.Budget, r io.ReaderAt, size int64) (*File, error) {
	return decode(b, r, size, decodeMode{})
}

// decodeMode says how a file is decoded.
type decodeMode struct {
	trace *tracer // if set, told about every field
	part  bool    // one file of a split model
}

func decode(b *limits.Budget, r io.ReaderAt, size int64, how decodeMode) (*File, error) {
	f := &File{file: file{r: r, size: size}}
	f.Name, f.Source = Format, r
	d := &decoder{reader: f.reader(b), out: f, mode: how}
	d.trace, d.chargeItems = how.trace, true
	b.Source(size)
	for d.stage != stDone {
		if err := d.step(); err != nil {
			return nil, wire.At(Format, "", min(d.c.Off(), size), err)
		}
	}
	return d.out, nil
}

// stageSteps are those of a key or a tensor, whatever it holds: some 200 ns for its fields and its
// name, which is looked for among the others.
const stageSteps = 4

// step performs one stage, or reads one key or tensor of it.
func (d *decoder) step() error {
	if err := d.steps.Take(stageSteps); err != nil {
		return err
	}
	switch d.stage {
	case stMagic:
		return d.magic()
	case stCounts:
		return d.counts()
	case stKey:
		return d.key()
	case stAlign:
		return d.align()
	case stTensor:
		return d.tensor()
	case stSpans:
		return d.spans()
	case stFindings:
		return d.findings()
	default:
		panic("internal error: stage out of range")
	}
}

// oldMagics are the magics of the formats before GGUF, as their bytes are in a file.
var oldMagics = [...]struct{ magic, name string }{
	{"lmgg", "GGML"}, {"fmgg", "GGMF"}, {"tjgg", "GGJT"}, {"algg", "GGLA"},
}

// magic reads the magic and the version. The magic is the same in both byte orders; the
// version, a small number, tells them apart.
func (d *decoder) magic() error {
	p, err := d.c.View(4)
	if err != nil {
		return err
	}
	if string(p) != Magic {
		return d.notGGUF(string(p))
	}
	if err := d.c.Skip(4); err != nil {
		return err
	}
	d.mark("magic", 4, Magic)
	if p, err = d.c.View(4); err != nil {
		return err
	}
	version, swapped := binary.LittleEndian.Uint32(p), binary.BigEndian.Uint32(p)
	f := d.out
	switch {
	case version >= 1 && version <= 3:
		f.version = version
	case swapped >= 1 && swapped <= 3:
		f.version, f.order = swapped, tensor.Big
	case version == 0:
		return d.c.Fail("version", wire.ErrRange.WithRule("gguf.version-zero").Errorf("version 0 does not exist"))
	default:
		return d.c.Fail("version", wire.ErrUnsupported.WithRule("gguf.version-unknown").Errorf("version %d (%d in big-endian order); versions 1 to 3 are read", version, swapped))
	}
	if f.order == tensor.Big {
		d.c.Order = binary.BigEndian
	}
	if err := d.c.Skip(4); err != nil {
		return err
	}
	d.mark("version", 4, f.version)
	d.stage = stCounts
	return nil
}

func (d *decoder) notGGUF(magic string) error {
	for _, a := range oldMagics {
		if a.magic == magic {
			return d.c.Fail("", wire.ErrUnsupported.WithRule("gguf.older").Errorf("a %s file, older than GGUF: convert it with llama.cpp's convert_llama_ggml_to_gguf.py", a.name))
		}
	}
	if magic == "FUGG" {
		return d.c.Fail("", wire.ErrMagic.WithRule("gguf.magic-swapped").Errorf("the magic is byte-swapped, but a big-endian file also begins with GGUF"))
	}
	return d.c.Fail("", wire.ErrMagic.WithRule("gguf.foreign-magic").Errorf("begins with %s", wire.Quote(magic)))
}

// counts reads the numbers of tensors and keys. Each must fit into the remaining bytes at
// the least size of one, so that nothing is allocated for what the file cannot hold.
func (d *decoder) counts() error {
	at := d.c.Off()
	tensors, err := d.length("number of tensors")
	if err != nil {
		return err
	}
	keys, err := d.length("number of keys")
	if err != nil {
		return err
	}
	width := d.f.width()
	leastTensor := width + 4 + 4 + 8 // empty name, no dimension, type, offset
	leastKey := width + 1 + 4 + 1    // one letter, type, one byte
	a, okA := wire.Mul(tensors, leastTensor)
	k, okK := wire.Mul(keys, leastKey)
	sum, ok := wire.Add(a, k)
	if !okA || !okK || !ok {
		return d.c.FailAt("", at, wire.ErrOverflow.WithRule("gguf.counts-overflow").Errorf("%d tensors and %d keys", tensors, keys))
	}
	if sum > uint64(d.c.Left()) {
		return d.c.FailAt("", at, wire.ErrTruncated.Errorf("%d tensors and %d keys need at least %d bytes, %d are left", tensors, keys, sum, d.c.Left()))
	}
	if err := d.b.Items(int64(tensors + keys)); err != nil {
		return d.c.FailAt("", at, err)
	}
	if _, ok := wire.Int(tensors+keys, wire.MaxSize); !ok { // int may have 32 bits, whatever the policy allows
		return d.c.FailAt("", at, &limits.Error{Axis: limits.Items, Want: int64(tensors + keys), Left: math.MaxInt32})
	}
	d.tensors, d.keys = int(tensors), int(keys)
	d.stage = stKey
	return d.startKeys()
}
