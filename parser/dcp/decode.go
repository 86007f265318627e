package dcp

import (
	"io/fs"
	"path"
	"strings"

	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
	"github.com/anamnesis-go/anamnesis/vm"
)

// Format is the name of the format in errors.
const Format = "dcp"

// Index is the name of the file that describes a checkpoint.
const Index = ".metadata"

// Suffix ends the names of the files with parts.
const Suffix = ".distcp"

// The rules by which a checkpoint is refused.
var (
	errRoot      = wire.ErrMagic.WithRule("dcp.root")
	errState     = wire.ErrMissing.WithRule("dcp.state")
	errFile      = wire.ErrForbidden.WithRule("dcp.file-name")
	errPlace     = wire.ErrRange.WithRule("dcp.place")
	errNoPlace   = wire.ErrMissing.WithRule("dcp.place-missing")
	errUnused    = wire.ErrGap.WithRule("dcp.place-unused")
	errShared    = wire.ErrDuplicate.WithRule("dcp.place-shared")
	errTransform = wire.ErrUnsupported.WithRule("dcp.transform")
	errPath      = wire.ErrMismatch.WithRule("dcp.path")
	errShape     = wire.ErrRange.WithRule("dcp.shape")
	errOutside   = wire.ErrRange.WithRule("dcp.chunk-outside")
	errOverlap   = wire.ErrOverlap.WithRule("dcp.chunk-overlap")
	errGap       = wire.ErrGap.WithRule("dcp.chunk-gap")
	errFileGap   = wire.ErrGap.WithRule("dcp.file-gap")
	errFileOver  = wire.ErrOverlap.WithRule("dcp.file-overlap")
	errItem      = wire.ErrMismatch.WithRule("dcp.item")
	errForm      = wire.ErrUnsupported.WithRule("dcp.item-form")
	errName      = wire.ErrDuplicate.WithRule("dcp.name")
)

// IsShard reports whether a name is that of a file with parts.
func IsShard(name string) bool { return strings.HasSuffix(name, Suffix) }

// stage is the state of the decoder. Stages follow each other in this order.
type stage uint8

const (
	stMetadata stage = iota // the pickle, and its root
	stPlaces                // where each part is
	stEntries               // tensors and values, and what their parts are
	stFiles                 // the parts themselves
	stNames                 // the list of tensors
	stDone
)

type decoder struct {
	b      *limits.Budget
	fsys   fs.FS
	dir    string
	name   string
	size   int64 // of .metadata
	steps  limits.Steps
	stage  stage
	out    *File
	root   fields
	graph  *vm.Graph
	places []place
	byKey  map[string]int32 // index in places by the key of a part
	fileOf map[string]int32
	items  []item // in the order of .metadata
	key    []byte // the last key that was made
}

// A place is where a part is stored.
type place struct {
	off, length int64
	at          int64 // offset of the statement in .metadata
	key         string
	file        int32
	item        int32 // that it belongs to, or none
	chunk       int32 // of the item
}

const none = -1

// Open reads the checkpoint that a file called .metadata describes. The structure of every part is
// proven; no number of a tensor is read.
func Open(b *limits.Budget, fsys fs.FS, name string) (tensor.Model, error) {
	d := &decoder{
		b: b, fsys: fsys, dir: path.Dir(name), name: path.Base(name), steps: b.Steps(),
		byKey: map[string]int32{}, fileOf: map[string]int32{}, out: &File{File: tensor.File{Name: Format}},
	}
	for d.stage != stDone {
		if err := d.step(); err != nil {
			d.out.Close()
			return nil, wire.At(Format, "", wire.NoOffset, err)
		}
	}
	d.graph.Release()
	return d.out, nil
}

// Files lists the files that hold the parts of a checkpoint, by its .metadata alone.
func Files(b *limits.Budget, fsys fs.FS, name string) ([]string, error) {
	d := &decoder{b: b, fsys: fsys, dir: path.Dir(name), name: path.Base(name), steps: b.Steps(), byKey: map[string]int32{}, fileOf: map[string]int32{}, out: new(File)}
	for d.stage < stEntries {
		if err := d.step(); err != nil {
			return nil, wire.At(Format, "", wire.NoOffset, err)
		}
	}
	d.graph.Release()
	return d.out.files, nil
}

func (d *decoder) step() error {
	if err := d.steps.Step(); err != nil {
		return err
	}
	switch d.stage {
	case stMetadata:
		d.stage = stPlaces
		return d.metadata()
	case stPlaces:
		d.stage = stEntries
		return d.readPlaces()
	case stEntries:
		d.stage = stFiles
		return d.readEntries()
	case stFiles:
		d.stage = stNames
		return d.readFiles()
	case stNames:
		d.stage = stDone
		return d.list()
	default:
		panic("internal error: stage out of range")
	}
}

func (d *decoder) fail(where string, at int64, cause error) error {
	return wire.At(Format, where, at, cause)
}
