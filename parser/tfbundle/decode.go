package tfbundle

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"

	"github.com/anamnesis-go/anamnesis/internal/leveldb"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// Format is the name of the format in errors.
const Format = "tfbundle"

// Suffix ends the name of the file that lists the tensors.
const Suffix = ".index"

// The rules by which a checkpoint is refused.
var (
	errState    = wire.ErrForbidden.WithRule("tfbundle.checkpoint")
	errText     = wire.ErrSyntax.WithRule("tfbundle.checkpoint-syntax")
	errHeader   = wire.ErrMissing.WithRule("tfbundle.header")
	errVersion  = wire.ErrUnsupported.WithRule("tfbundle.version")
	errShards   = wire.ErrRange.WithRule("tfbundle.shards")
	errName     = wire.ErrText.WithRule("tfbundle.name")
	errType     = wire.ErrUnsupported.WithRule("tfbundle.type")
	errShape    = wire.ErrRange.WithRule("tfbundle.shape")
	errOverflow = wire.ErrOverflow.WithRule("tfbundle.shape-overflow")
	errSize     = wire.ErrMismatch.WithRule("tfbundle.size")
	errPlace    = wire.ErrRange.WithRule("tfbundle.place")
	errGap      = wire.ErrGap.WithRule("tfbundle.data-gap")
	errOverlap  = wire.ErrOverlap.WithRule("tfbundle.data-overlap")
	errSlice    = wire.ErrMismatch.WithRule("tfbundle.slice")
	errUnused   = wire.ErrGap.WithRule("tfbundle.slice-unused")
	errSliceGap = wire.ErrGap.WithRule("tfbundle.slice-gap")
	errSliceTwo = wire.ErrOverlap.WithRule("tfbundle.slice-overlap")
	errMissing  = wire.ErrMissing.WithRule("tfbundle.file-missing")
	errSum      = wire.ErrChecksum.WithRule("tfbundle.data-checksum")
	errLengths  = wire.ErrMismatch.WithRule("tfbundle.text-lengths")
)

// table are the causes of a refusal of the index.
var table = leveldb.Causes{
	Magic:    wire.ErrMagic.WithRule("tfbundle.table-end"),
	Layout:   wire.ErrMismatch.WithRule("tfbundle.blocks"),
	Checksum: wire.ErrChecksum.WithRule("tfbundle.block-checksum"),
	Packing:  wire.ErrUnsupported.WithRule("tfbundle.block-packing"),
	Packed:   wire.ErrSyntax.WithRule("tfbundle.block-snappy"),
	Entry:    wire.ErrRange.WithRule("tfbundle.block-entry"),
	Order:    wire.ErrMismatch.WithRule("tfbundle.key-order"),
	Restart:  wire.ErrMismatch.WithRule("tfbundle.block-restarts"),
	Filter:   wire.ErrUnsupported.WithRule("tfbundle.filter"),
}

// stage is the state of the decoder. Stages follow each other in this order.
type stage uint8

const (
	stState stage = iota // which checkpoint
	stIndex              // the entries
	stParts              // variables in several parts
	stFiles              // the files, and what they consist of
	stList               // the list of tensors
	stDone
)

type decoder struct {
	b      *limits.Budget
	fsys   fs.FS
	dir    string
	prefix string // of the names of the files
	steps  limits.Steps
	stage  stage
	out    *File
	messages
	shards  int64
	order   tensor.Order
	entries []entry // ascending by name
	key     []byte  // the last key of a part that was made
}

// Open reads the checkpoint with an index of the given name, or the one that a file called checkpoint names. No
// number of a tensor is read.
func Open(b *limits.Budget, fsys fs.FS, name string) (tensor.Model, error) {
	d := newDecoder(b, fsys, name)
	for d.stage != stDone {
		if err := d.step(); err != nil {
			d.out.Close()
			return nil, wire.At(Format, "", wire.NoOffset, err)
		}
	}
	return d.out, nil
}

// Files lists the files that hold the numbers of a checkpoint, by its index alone.
func Files(b *limits.Budget, fsys fs.FS, name string) ([]string, error) {
	d := newDecoder(b, fsys, name)
	for d.stage < stParts {
		if err := d.step(); err != nil {
			return nil, wire.At(Format, "", wire.NoOffset, err)
		}
	}
	var list []string
	for i := range d.shards {
		if err := d.hold(int64(len(d.prefix)) + fileCost); err != nil {
			return nil, err
		}
		list = append(list, d.shardName(i))
	}
	return list, nil
}

func newDecoder(b *limits.Budget, fsys fs.FS, name string) *decoder {
	d := &decoder{b: b, fsys: fsys, dir: path.Dir(name), prefix: path.Base(name), steps: b.Steps(), out: &File{File: tensor.File{Name: Format}}}
	d.messages = newMessages(d)
	return d
}

func (d *decoder) step() error {
	if err := d.steps.Step(); err != nil {
		return err
	}
	switch d.stage {
	case stState:
		d.stage = stIndex
		return d.state()
	case stIndex:
		d.stage = stParts
		return d.index()
	case stParts:
		d.stage = stFiles
		return d.parts()
	case stFiles:
		d.stage = stList
		return d.files()
	case stList:
		d.stage = stDone
		return d.list()
	default:
		panic("internal error: stage out of range")
	}
}

// IsIndex reports whether a name is that of an index. Other programs have files of such names too.
func IsIndex(name string) bool { return strings.HasSuffix(name, Suffix) }

// Names reports whether a file is the index of a checkpoint, as its end says, or a text called checkpoint that names one
// in its folder or outside of it.
func Names(fsys fs.FS, name string) bool {
	state := path.Base(name) == State
	if !state && !IsIndex(name) {
		return false
	}
	h, err := tensor.OpenFile(fsys, name)
	if err != nil {
		return false
	}
	defer h.Close()
	if !state {
		return leveldb.Is(h, h.Size)
	}
	return namesOne(fsys, path.Dir(name), h)
}

// IndexOf returns the name of the index of a file with numbers, "" for other names.
func IndexOf(name string) string {
	dot := strings.LastIndex(name, dataMark)
	if dot < 0 {
		return ""
	}
	var shard, of int64
	if n, err := fmt.Sscanf(name[dot:], dataMark+"%d-of-%d", &shard, &of); n != 2 || err != nil || shard < 0 || name[dot:] != dataName(shard, of) {
		return ""
	}
	return name[:dot] + Suffix
}

const dataMark = ".data-"

func dataName(shard, of int64) string { return fmt.Sprintf("%s%05d-of-%05d", dataMark, shard, of) }

// shardName returns the name of a file, as TensorFlow makes it.
func (d *decoder) shardName(i int64) string { return d.prefix + dataName(i, d.shards) }

// index reads the header and the entries.
func (d *decoder) index() error {
	name, ok := strings.CutSuffix(d.prefix, Suffix)
	if !ok {
		return wire.ErrUsage.Errorf("%s does not end in %s", wire.Quote(d.prefix), Suffix)
	}
	h, err := tensor.OpenFile(d.fsys, path.Join(d.dir, d.prefix))
	if err != nil {
		return inFile(d.prefix, missing(err))
	}
	defer h.Close()
	d.out.index, d.prefix = d.prefix, name
	if err := d.b.Source(h.Size); err != nil {
		return fail("", 0, err)
	}
	if err := leveldb.Read(d.b, Format, h, h.Size, &table, d.row); err != nil {
		return err
	}
	if d.shards == 0 {
		return fail("", wire.NoOffset, wire.ErrInternal.Errorf("a table without a header"))
	}
	return nil
}

// row reads an entry: the header, whose key is empty, or a tensor.
func (d *decoder) row(key []byte, value wire.Cursor) error {
	at := value.Off()
	if len(key) == 0 {
		return d.header(&value)
	}
	if d.shards == 0 {
		return fail("", at, errHeader.Errorf("no entry without a name before the first tensor"))
	}
	if err := d.hold(entryCost); err != nil {
		return fail("", at, err)
	}
	name, err := limits.String(d.b, key)
	if err != nil {
		return fail("", at, err)
	}
	d.entry = entry{name: name, at: at}
	if _, err := d.reader.Message(&value, d.entryMessage, &entryHook{d: d}); err != nil {
		return fail(whereOf(name), at, err)
	}
	if err := d.check(&d.entry); err != nil {
		return fail(whereOf(name), at, err)
	}
	d.entries, err = limits.Append(d.b, d.entries, d.entry)
	return fail("", at, err)
}

func fail(where string, at int64, cause error) error { return wire.At(Format, where, at, cause) }

func whereOf(name string) string {
	if isPartKey(name) {
		return "part of a tensor " + wire.Quote(name)
	}
	return "tensor " + wire.Quote(name)
}

// The memory of an entry of a list or a map besides its text.
const (
	entryCost = 96
	fileCost  = 512
	partCost  = 64
)

// hold charges an entry of a list that is kept.
func (d *decoder) hold(n int64) error {
	if err := d.b.Items(1); err != nil {
		return err
	}
	return d.b.Hold(n)
}

// missing says that a file which is not there is a missing part of the checkpoint.
func missing(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return errMissing.Errorf("no such file in the folder")
	}
	return err
}

// inFile puts the name of a file before the place of an error.
func inFile(name string, err error) error {
	where, off, cause := "file "+wire.Quote(name), int64(wire.NoOffset), err
	if at, ok := errors.AsType[*wire.Error](err); ok {
		where, off, cause = strings.TrimSuffix(where+", "+at.Where, ", "), at.Off, at.Err
	}
	return &wire.Error{Format: Format, Where: where, Off: off, Err: cause}
}
