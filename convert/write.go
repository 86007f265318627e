package convert

import (
	"fmt"
	"time"

	"github.com/anamnesis-go/anamnesis/internal/output"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/parser"
)

// Write writes a plan of one file to a path. The file has a temporary name in the same
// folder until it is complete; then it is synced and renamed, so that the path never holds
// a partial file. It replaces a file only with force, and never the source. After a failure
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
	if err := f.reserve(p.Size); err != nil {
		return nil, err
	}
	if r, err = p.Stream(f); err != nil {
		return nil, err
	}
	if err := f.Keep(); err != nil {
		return nil, refusedPlace(err)
	}
	if err := p.sync(f.Sync); err != nil {
		return nil, err
	}
	if err := p.lastLook(); err != nil {
		return nil, err
	}
	if err := f.Publish(); err != nil {
		return nil, refusedPlace(err)
	}
	err = p.sync(f.SyncFolder)
	r.Synced = p.synced
	return r, err
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
	if free, known := sys.free(at); known && free < size {
		return wire.At("convert", "folder "+wire.Quote(at.Folder()), wire.NoOffset, fmt.Errorf("no space: %d bytes are needed, %d are free", size, free))
	}
	return nil
}
