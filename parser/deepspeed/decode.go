package deepspeed

import (
	"io/fs"
	"path"

	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// Format is the name of the format in errors.
const Format = "deepspeed"

// The rules by which a checkpoint is refused.
var (
	errLatest  = wire.ErrForbidden.WithRule("deepspeed.latest")
	errFolder  = wire.ErrMissing.WithRule("deepspeed.folder")
	errNames   = wire.ErrUnsupported.WithRule("deepspeed.file-name")
	errRank    = wire.ErrMissing.WithRule("deepspeed.rank-missing")
	errCount   = wire.ErrMismatch.WithRule("deepspeed.rank-count")
	errStage   = wire.ErrUnsupported.WithRule("deepspeed.stage")
	errStep    = wire.ErrMismatch.WithRule("deepspeed.step")
	errState   = wire.ErrMissing.WithRule("deepspeed.state")
	errForm    = wire.ErrUnsupported.WithRule("deepspeed.form")
	errGroup   = wire.ErrMismatch.WithRule("deepspeed.group")
	errSum     = wire.ErrRange.WithRule("deepspeed.sum")
	errShape   = wire.ErrMismatch.WithRule("deepspeed.shape")
	errShared  = wire.ErrMissing.WithRule("deepspeed.shared")
	errName    = wire.ErrDuplicate.WithRule("deepspeed.name")
	errNumel   = wire.ErrOverflow.WithRule("deepspeed.shape-overflow")
	errAltered = wire.ErrMismatch.WithRule("deepspeed.ranks-differ")
)

// stage is the state of the decoder. Stages follow each other in this order.
type stage uint8

const (
	stFolder stage = iota // which folder, and its names
	stOptim               // the parts of each process
	stModule              // what they are parts of
	stList                // the list of tensors
	stDone
)

type decoder struct {
	b      *limits.Budget
	fsys   fs.FS
	dir    string // of the files
	below  string // the folder that latest names, or ""
	steps  limits.Steps
	stage  stage
	out    *File
	optim  []string // names of the files, by process
	module []string
	zero   int64    // the stage of ZeRO
	groups []vector // by group, or by process at stage 3
	sizes  []int64  // of the groups of the first process at stage 3, in elements
	state  string   // the step of the first optimizer, as text; "" for none
	first  *states  // of the first process
	names  *wire.NameSet
}

// Open reads the checkpoint that a file called latest names, or that one of the files of a process belongs
// to. The structure of every file is proven; no number of a tensor is read but the step of an
// optimizer.
func Open(b *limits.Budget, fsys fs.FS, name string) (tensor.Model, error) {
	d := &decoder{b: b, fsys: fsys, dir: path.Dir(name), steps: b.Steps(), out: &File{File: tensor.File{Name: Format}}}
	if path.Base(name) == Latest {
		d.out.index = Latest
	}
	for d.stage != stDone {
		if err := d.step(); err != nil {
			d.out.Close()
			return nil, wire.At(Format, "", wire.NoOffset, err)
		}
	}
	return d.out, nil
}

func (d *decoder) step() error {
	if err := d.steps.Step(); err != nil {
		return err
	}
	switch d.stage {
	case stFolder:
		d.stage = stOptim
		return d.folder()
	case stOptim:
		d.stage = stModule
		return d.optimizers()
	case stModule:
		d.stage = stList
		return d.modules()
	case stList:
		d.stage = stDone
		return d.list()
	default:
		panic("internal error: stage out of range")
	}
}

func fail(where string, cause error) error { return wire.At(Format, where, wire.NoOffset, cause) }

func whereOf(name string) string { return "tensor " + wire.Quote(name) }

// hold charges an entry of a list that is kept.
func (d *decoder) hold(n int64) error {
	if err := d.b.Items(1); err != nil {
		return err
	}
	return d.b.Hold(n)
}
