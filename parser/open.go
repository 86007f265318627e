package parser

import (
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"strings"

	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/safetensors"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// Decode reads the file in r, which has size bytes, in the format that its content shows.
// The caller keeps r open as long as the Model is used. Its memory is charged until it is closed,
// as by [Open].
func Decode(b *limits.Budget, r io.ReaderAt, size int64) (tensor.Model, error) {
	return opened(b, "decode", func(b *limits.Budget) (tensor.Model, error) { return decode(b, r, size) })
}

func decode(b *limits.Budget, r io.ReaderAt, size int64) (tensor.Model, error) {
	id, err := identify(b, r, size, "")
	if err != nil {
		return nil, err
	}
	defer id.Close()
	return id.open(b, r)
}

// Open opens the file at a path, the one model of a folder, or a name in a store
// of ollama, such as ollama:llama3.2:1b. Closing the Model closes every file of
// it, and returns the memory, items and files that it held to the account. A refused model
// leaves nothing behind. Steps and ratios are spent, since they belong to the operation: a
// host gives each file a [limits.Budget.Child].
//
// The siblings of a model (shards, configuration) are searched only in the folder that the
// caller named; os.Root confines them. In the cache of the Hugging Face hub, a link in
// models--NAME/snapshots/REVISION to a regular file in that model's blobs folder, named by
// 40 or 64 hex digits, is followed. Any other link out of the folder is refused. Links in
// the path that the caller gave are followed. A FIFO or a device is never opened.
func Open(b *limits.Budget, path string) (tensor.Model, error) {
	return opened(b, "open", func(b *limits.Budget) (tensor.Model, error) {
		s, err := sourceAt(path)
		if err != nil {
			return nil, err
		}
		return s.open(b)
	})
}

// OpenWeights opens the named weights in a model's folder, a file or an index. The folder
// is found as by Open, also in the hub's cache; the name cannot lead out of it.
func OpenWeights(b *limits.Budget, folder, name string) (tensor.Model, error) {
	return opened(b, "open", func(b *limits.Budget) (tensor.Model, error) {
		s, err := sourceAt(folder)
		if err != nil {
			return nil, err
		}
		switch {
		case s.entry.name != "." || s.folder == "":
			return nil, wire.At(detection, "", wire.NoOffset, wire.ErrUsage.Errorf("it is not a folder, so it has no weights %s", wire.Quote(name)))
		case !tensor.IsLocal(name) || name == ".":
			return nil, wire.At(detection, "", wire.NoOffset, wire.ErrForbidden.Errorf("%s is not a name of a file in the folder", wire.Quote(name)))
		}
		d, err := confine(b, s.folder, "", "")
		if err != nil {
			return nil, err
		}
		return openIn(b, d, entry{name: name})
	})
}

// OpenFS opens a file of a file system, or the one model of its folder name. Siblings are
// searched only in this file system. Its files must implement io.ReaderAt.
func OpenFS(b *limits.Budget, fsys fs.FS, name string) (tensor.Model, error) {
	return opened(b, "open", func(b *limits.Budget) (tensor.Model, error) {
		info, err := fs.Stat(fsys, name)
		if err != nil {
			return nil, err
		}
		if !info.IsDir() {
			return openIn(b, newFolder(b, fsys, nil), entry{name: name})
		}
		sub, err := fs.Sub(fsys, name)
		if err != nil {
			return nil, err
		}
		return openOnly(b, newFolder(b, sub, nil), name)
	})
}

// Verify reads the bodies of a model: checksums, real lengths and ratios of archive
// members, the text rules of large arrays. A format without such checks passes at once.
//
// Results that stay in the model, such as findings, are charged until the model is closed.
func Verify(b *limits.Budget, m tensor.Model) error {
	held := b.Holding()
	if k, ok := m.(tensor.Keeper); ok {
		defer k.Keep(held)
	} else {
		defer held.Close()
	}
	_, err := guarded(b, "verify", func() (struct{}, error) {
		b := held
		if v, ok := m.(tensor.Verifier); ok {
			if err := v.Verify(b); err != nil {
				return struct{}{}, err
			}
		}
		if err := safetensors.VerifyTypes(b, m); err != nil {
			return struct{}{}, err
		}
		return struct{}{}, b.Err()
	})
	return err
}

// checkLocal returns an error for arguments that are not paths.
func checkLocal(path string) error {
	scheme, _, ok := strings.Cut(path, "://")
	if !ok || scheme == "" || strings.ContainsAny(scheme, `/\.`) {
		return nil
	}
	return wire.At(detection, "", wire.NoOffset,
		wire.ErrUnsupported.WithRule("file.url").Errorf("this is a URL, and no network connection is ever opened: download the file first, or read it with the module remote (docs/remote.md)"))
}

// checkRegular returns an error for anything but a regular file. Opening others may block
// or have effects.
func checkRegular(mode fs.FileMode) error {
	what := ""
	switch {
	case mode.IsRegular():
		return nil
	case mode&fs.ModeNamedPipe != 0:
		what = "a pipe, which is never opened: give - and pipe the data into standard input"
	case mode&fs.ModeSocket != 0:
		what = "a socket, which is never opened"
	case mode&fs.ModeDevice != 0:
		what = "a device, which is never opened"
	default:
		what = "no regular file"
	}
	return wire.At(detection, "", wire.NoOffset, wire.ErrUnsupported.WithRule("file.not-regular").Errorf("this is %s", what))
}

func refused(b *limits.Budget, f *kind) error {
	if !b.Policy().RefusesFormat(f.name) {
		return nil
	}
	return wire.At(f.name, "", wire.NoOffset, wire.ErrForbidden.WithRule("gate.format").Errorf("the policy refuses the format %s", f.name))
}

// addFindings adds findings about the file as a whole.
func addFindings(b *limits.Budget, m tensor.Model, found ...*tensor.Finding) (tensor.Model, error) {
	p, ok := m.(tensor.Placer)
	for _, f := range found {
		if f == nil {
			continue
		}
		if !ok {
			return nil, wire.At(detection, "", wire.NoOffset, wire.ErrInternal.Errorf("model of %s takes no findings", m.Format()))
		}
		if err := p.Note(b, *f); err != nil {
			return nil, err
		}
	}
	return m, nil
}

// explainTruncated adds to the error of a truncated file that its name is that of an
// unfinished download.
func explainTruncated(name string, err error) error {
	e, ok := err.(*wire.Error)
	if !ok || ClassOf(err) != Truncated || !isPartial(name) {
		return err
	}
	return &wire.Error{Format: e.Format, Where: e.Where, Off: e.Off,
		Err: fmt.Errorf("%w (by its name the download is unfinished: fetch it again)", e.Err)}
}

// isPartial reports whether name is that of an unfinished download by a browser, curl,
// wget, aria2 or the Hugging Face hub.
func isPartial(name string) bool {
	switch strings.ToLower(filepath.Ext(name)) {
	case ".part", ".partial", ".crdownload", ".download", ".incomplete", ".tmp", ".aria2":
		return true
	}
	return false
}
