package worker

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"

	"github.com/anamnesis-go/anamnesis/gate"
	"github.com/anamnesis-go/anamnesis/hub/evidence"
	"github.com/anamnesis-go/anamnesis/hub/source"
	"github.com/anamnesis-go/anamnesis/internal/stamp"
	"github.com/anamnesis-go/anamnesis/internal/wire"
)

// pinned are the files of a revision with the digests that they had when they were read whole.
// They are judged with these digests, and what is read of them then is recorded. Each is opened
// anew for that, so at the end all must be those that were digested.
type pinned struct {
	files   fs.FS
	folder  gate.Folder
	list    []gate.File
	was     []fs.FileInfo
	records []*evidence.Recorder
	claimed int64           // digests that the source states
	open    map[int]fs.File // a few, by number
}

// maxOpen bounds how many files are open at once.
const maxOpen = 64

// errChanged is an attempt that failed, not a refusal: the next one reads the files anew.
var errChanged = errors.New("a file changed while it was judged")

// pin digests all files but those whose digests are known, or stated by their source. ok is false if they are not a folder
// of plain files: then the gate looks at them where they are, and there is no evidence.
func pin(ctx context.Context, files fs.FS, known []gate.File) (p *pinned, ok bool, err error) {
	sums := make(map[string]string, len(known))
	for _, f := range known {
		sums[f.Name] = f.SHA256
	}
	p = &pinned{files: files, open: map[int]fs.File{}}
	ok = true
	buffer := make([]byte, 1<<20)
	err = fs.WalkDir(files, ".", func(name string, e fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case e.IsDir():
			return nil
		case !e.Type().IsRegular():
			ok = false
			return fs.SkipAll
		}
		f, err := files.Open(name)
		if err != nil {
			return err
		}
		defer f.Close()
		info, err := f.Stat()
		if err != nil {
			return err
		}
		size := info.Size()
		file := gate.File{Name: name, Size: size, SHA256: sums[name]}
		if stated := source.Stated(f); file.SHA256 == "" && stated != "" {
			file.SHA256 = stated
			p.claimed++
		}
		if file.SHA256 == "" {
			sum := sha256.New()
			n, err := io.CopyBuffer(sum, &until{ctx, f}, buffer)
			if err != nil {
				return err
			}
			if n != size {
				return errChanged
			}
			file.SHA256 = hex.EncodeToString(sum.Sum(nil))
		}
		rec := evidence.Record(&reopened{p, len(p.list)}, size)
		if p.folder.Add(file, rec) != nil {
			ok = false
			return fs.SkipAll
		}
		p.list, p.was, p.records = append(p.list, file), append(p.was, info), append(p.records, rec)
		return nil
	})
	return p, ok && err == nil, err
}

// A reopened file is read through a few open ones.
type reopened struct {
	p *pinned
	i int
}

func (r *reopened) ReadAt(b []byte, off int64) (int, error) {
	f, err := r.p.file(r.i)
	if err != nil {
		return 0, err
	}
	at, ok := f.(io.ReaderAt)
	if !ok {
		return 0, fmt.Errorf("%s cannot be read at an offset", r.p.list[r.i].Name)
	}
	return at.ReadAt(b, off)
}

// file returns an open file. A judgement reads in one goroutine at a time.
func (p *pinned) file(i int) (fs.File, error) {
	if f, ok := p.open[i]; ok {
		return f, nil
	}
	if len(p.open) >= maxOpen {
		for k, f := range p.open {
			f.Close()
			delete(p.open, k)
			break
		}
	}
	f, err := p.files.Open(p.list[i].Name)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err != nil || changed(p.was[i], info) {
		f.Close()
		return nil, errors.Join(errChanged, err)
	}
	p.open[i] = f
	return f, nil
}

func changed(was, now fs.FileInfo) bool {
	return stamp.Changed(was, now) != "" || stamp.Replaced(was, now)
}

// unchanged fails unless every file is still the one that was digested.
func (p *pinned) unchanged() error {
	for i, was := range p.was {
		now, err := fs.Stat(p.files, p.list[i].Name)
		if err != nil || changed(was, now) {
			return fmt.Errorf("%w: %s", errChanged, wire.Quote(p.list[i].Name))
		}
	}
	return nil
}

// Close closes what is open.
func (p *pinned) Close() error {
	for _, f := range p.open {
		f.Close()
	}
	clear(p.open)
	return nil
}

// err is the first error of a read, after which the judgement is not about the files.
func (p *pinned) err() error {
	for _, r := range p.records {
		if err := r.Err(); err != nil {
			return err
		}
	}
	return nil
}

// evidence is what was read of the files, by their digests.
func (p *pinned) evidence() map[string][]byte {
	out := map[string][]byte{}
	for i, f := range p.list {
		if blob, ok := p.records[i].Blob(); ok {
			if had, twice := out[f.SHA256]; !twice || len(blob) > len(had) { // under two names one may be read further
				out[f.SHA256] = blob
			}
		}
	}
	return out
}
