package convert

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/anamnesis-go/anamnesis/internal/output"
	"github.com/anamnesis-go/anamnesis/internal/tiles"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/parser"
	"github.com/anamnesis-go/anamnesis/parser/gguf"
	"github.com/anamnesis-go/anamnesis/parser/safetensors"
)

// placeOptions say what the plan may replace at a path, that of a file or a folder.
func (p *Plan) placeOptions(force, folder bool) output.Options {
	format := safetensors.Format
	if p.sink != nil {
		format = p.sink.Name()
	}
	o := output.Options{Force: force, InPlace: p.o.InPlace, NoSync: p.o.NoSync, Resume: p.o.Resume != nil, Guard: p.o.Guard, Ours: func(name string, head []byte) bool {
		return folder && !isTensorFile(name) || begins(format, head)
	}}
	if folder {
		o.Former = p.former
	}
	if p.m != nil {
		o.Reads = func(info fs.FileInfo) bool { return parser.Reads(p.m, info) }
	}
	return o
}

// isTensorFile reports whether a name in a folder is that of weights. Other files of a folder are
// recognized by their names.
func isTensorFile(name string) bool { return isWeights(name) && path.Ext(name) != ".json" }

// former returns the weights that this command has written under the same stem with another
// size of shards, if they are all there: a file without an index, or an index and its shards.
func (p *Plan) former(names []string) (list []string) {
	stem, ext := p.stem(), ".safetensors"
	if p.o.Split != nil {
		stem, ext = p.o.Split.Stem, ".gguf"
	}
	index := stem + indexEnding
	shards := map[int][]string{}
	for _, name := range names {
		middle, ok := strings.CutPrefix(strings.TrimSuffix(name, ext), stem+"-")
		var i, n int
		if _, err := fmt.Sscanf(middle, "%05d-of-%05d", &i, &n); ok && err == nil && 1 <= i && i <= n && name == fmt.Sprintf("%s-%05d-of-%05d%s", stem, i, n, ext) {
			shards[n] = append(shards[n], name)
		}
	}
	indexed := slices.Contains(names, index)
	switch one := slices.Contains(names, stem+ext); {
	case one && !indexed && len(shards) == 0:
		return []string{stem + ext}
	case one || len(shards) != 1 || indexed == (p.o.Split != nil):
		return nil
	}
	for n, found := range shards {
		if len(found) != n {
			return nil
		}
		list = found
	}
	if indexed {
		list = append(list, index)
	}
	return list
}

// begins reports whether a file of a format that is written begins like this.
func begins(format string, head []byte) bool {
	switch format {
	case safetensors.Format:
		return len(head) > 8 && head[8] == '{'
	case gguf.Format:
		return bytes.HasPrefix(head, []byte("GGUF"))
	default: // npz
		return bytes.HasPrefix(head, []byte("PK"))
	}
}

// refusedPlace turns a refusal of a path into one that names the option.
func refusedPlace(err error) error {
	r, ok := errors.AsType[*output.Refusal](err)
	switch {
	case !ok:
		return err
	case r.Forceable:
		return refused(r.Path, "%s; %s replaces it", r.Why, wire.OptionForce)
	}
	return refused(r.Path, "%s", r.Why)
}

// A system is the part of the file system that creates new files.
type system interface {
	// claim creates the file, after removing what a killed run left. If another process
	// is writing the file, it returns an error. It takes over the place.
	claim(at *output.Place) (file, error)
	free(at *output.Place) (int64, bool)
}

// A file is an output file.
type file interface {
	WriteAt(p []byte, off int64) (int, error)
	// Keep keeps the owner and the mode of what is edited in place.
	Keep() error
	Sync() error
	// Publish gives the file its name, and closes it.
	Publish() error
	// SyncFolder makes the name last.
	SyncFolder() error
	// Discard removes the file if it was not published.
	Discard()
	reserve(size int64) error
	// kept returns the file that a later run may go on with, or nil.
	kept() *output.File
}

// machine is the real system.
type machine struct{}

type osFile struct{ *output.File }

func (f osFile) kept() *output.File { return f.File }

func (f osFile) reserve(size int64) error { return tiles.Reserve(f.File.File, size) }

func (machine) claim(at *output.Place) (file, error) {
	f, err := at.Create()
	if err != nil {
		return nil, err
	}
	return osFile{f}, nil
}

func (machine) free(at *output.Place) (int64, bool) { return at.Free() }
