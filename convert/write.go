package convert

import (
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/anamnesis-go/anamnesis/internal/tiles"
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
	if err := p.checkTarget(path, force); err != nil {
		return nil, err
	}
	dir, temp := filepath.Dir(path), partialName(path)
	if err := checkRoom(sys, dir, p.Size); err != nil {
		return nil, err
	}
	f, err := sys.claim(temp)
	if err != nil {
		return nil, err
	}
	done := false
	defer func() {
		if !done {
			sys.discard(f, temp)
		}
	}()
	if err := f.reserve(p.Size); err != nil {
		return nil, err
	}
	if r, err = p.Stream(f); err != nil {
		return nil, err
	}
	if err := p.sync(f.Sync); err != nil {
		return nil, err
	}
	if err := p.keepMode(temp, path); err != nil {
		return nil, err
	}
	if err := p.lastLook(); err != nil {
		return nil, err
	}
	if err := sys.publish(f, temp, path, force); err != nil {
		return nil, err
	}
	done = true
	err = p.sync(func() error { return sys.syncFolder(dir) })
	r.Synced = p.synced
	return r, err
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

// keepMode gives a file the permissions of the one that it replaces.
func (p *Plan) keepMode(temp, path string) error {
	if !p.o.InPlace {
		return nil
	}
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	return os.Chmod(temp, info.Mode().Perm())
}

// lastLook checks what must still hold when everything is written.
func (p *Plan) lastLook() error {
	if err := p.b.Err(); err != nil {
		return err
	}
	return parser.Unchanged(p.b, p.m)
}

// checkRoom returns an error if a folder takes no files, or has too little space.
func checkRoom(sys system, dir string, size int64) error {
	if err := tiles.Writable(dir); err != nil {
		return err
	}
	if free, known := sys.free(dir); known && free < size {
		return wire.At("convert", "folder "+wire.Quote(dir), wire.NoOffset, fmt.Errorf("no space: %d bytes are needed, %d are free", size, free))
	}
	return nil
}
