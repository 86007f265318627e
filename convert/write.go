package convert

import (
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/anamnesis-go/anamnesis/internal/output"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/parser"
)

// Write writes a plan of one file to a path. The file has a temporary name in the same
// folder until it is complete, and its first bytes are zeros; then it is synced, begun and
// renamed, so that the path never holds a partial file, and no partial file looks whole. It replaces a file only with force, and never the source. After a failure
// nothing is left behind.
func (p *Plan) Write(path string, force bool) (*Result, error) {
	return p.write(machine{}, path, force)
}

func (p *Plan) write(sys system, path string, force bool) (r *Result, err error) {
	if len(p.Files) != 1 {
		return nil, refused(path, "the plan has %d files and needs a folder", len(p.Files))
	}
	at, err := p.target(sys, path, force)
	if err != nil {
		return nil, err
	}
	f, err := sys.claim(at)
	if err != nil {
		return nil, refusedPlace(err)
	}
	defer f.Discard()
	on, err := p.openOn(f)
	if err != nil {
		return nil, err
	}
	defer func() { err = p.closeFile(f, on, err) }()
	if on == nil {
		err = f.reserve(p.Size)
	} else {
		err = on.prepare(p, []*os.File{f.kept().File})
	}
	if err != nil {
		return nil, err
	}
	late := &lateBegin{WriterAt: f}
	if r, err = p.stream(on, []io.WriterAt{late}); err != nil {
		return nil, err
	}
	if err := f.Keep(); err != nil {
		return nil, refusedPlace(err)
	}
	if err := p.sync(f.Sync); err != nil {
		return nil, err
	}
	if err := errors.Join(p.lastLook(), on.lastLook(p)); err != nil {
		return nil, err
	}
	if err := late.begin(); err != nil {
		return nil, err
	}
	if err := p.sync(f.Sync); err != nil {
		return nil, err
	}
	if err := f.Publish(); err != nil {
		return nil, refusedPlace(err)
	}
	_ = on.remove() // best effort: the next run removes a journal without a file
	err = p.sync(f.SyncFolder)
	r.Synced = p.synced
	return r, err
}

// openOn opens the journal of a file, if there is to be one. If there is an error, what is
// unfinished stays.
func (p *Plan) openOn(f file) (*resumption, error) {
	if p.o.Resume == nil || f.kept() == nil {
		return nil, nil
	}
	on, err := p.openJournal(f.kept().Place(), f.kept().Resumed())
	if err != nil && f.kept().Resumed() {
		err = errors.Join(err, f.kept().Suspend())
	}
	return on, err
}

// closeFile closes the journal. If there is something to go on with, the file stays.
func (p *Plan) closeFile(f file, on *resumption, err error) error {
	if err != nil && on.Takes(err) {
		err = p.unfinished(f.kept().Place(), err)
		if closed := f.kept().Suspend(); closed != nil {
			err = errors.Join(err, closed)
		}
	} else if err != nil {
		err = errors.Join(err, on.remove())
	}
	if closed := on.close(); err == nil {
		err = closed
	}
	return err
}

// target returns the place of a file, which has room for it.
func (p *Plan) target(sys system, path string, force bool) (*output.Place, error) {
	at, err := output.At(path, p.placeOptions(force, false))
	if err != nil {
		return nil, refusedPlace(err)
	}
	if err = at.CheckFile(); err == nil {
		err = checkRoom(sys, at, p.Size)
	}
	if err != nil {
		at.Close()
		return nil, refusedPlace(err)
	}
	return at, nil
}

// sync waits for the disk, unless the options say otherwise.
func (p *Plan) sync(wait func() error) error {
	if p.o.NoSync {
		return nil
	}
	began := time.Now()
	err := wait()
	p.synced += time.Since(began)
	return err
}

// lastLook checks what must still hold when everything is written.
func (p *Plan) lastLook() error {
	if err := p.b.Err(); err != nil {
		return err
	}
	return parser.Unchanged(p.b, p.m)
}

// checkRoom returns an error if a folder takes no files, or has too little space.
func checkRoom(sys system, at *output.Place, size int64) error {
	if err := at.Writable(); err != nil {
		return err
	}
	size = max(0, size-at.Kept())
	if free, known := sys.free(at); known && free < size {
		return wire.At("convert", "folder "+wire.Quote(at.Folder()), wire.NoOffset, fmt.Errorf("no space: %d bytes are needed, %d are free", size, free))
	}
	return nil
}
