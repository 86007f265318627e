package cli

import (
	"bytes"
	"context"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// A subject is one file to look at.
type subject struct {
	path  string
	name  string // without its folder
	given bool   // named by the user: judged whatever it is
	r     io.ReaderAt
	size  int64
}

// path scans what an argument names.
func (sc *scanner) path(ctx context.Context, path string) error {
	if path == "-" {
		return sc.stdin(ctx)
	}
	if strings.Contains(path, ":") {
		if _, err := os.Lstat(path); err != nil {
			return sc.named(ctx, path)
		}
	}
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return sc.report(ctx, sc.failed(path, true, err))
	case info.IsDir():
		return sc.folder(ctx, path)
	case isIndex(path):
		return sc.index(ctx, path, true)
	default:
		return sc.file(ctx, path, true)
	}
}

// stdin scans standard input.
func (sc *scanner) stdin(ctx context.Context) error {
	s := sc.s
	if s.stdinTaken {
		return sc.report(ctx, sc.failed("-", true, usage{"standard input can be read once only"}))
	}
	s.stdinTaken = true
	r, size, closer, err := s.input(ctx)
	if err != nil {
		return sc.report(ctx, sc.failed("-", true, err))
	}
	defer closer.Close()
	return sc.judged(ctx, &subject{path: "-", name: "-", given: true, r: r, size: size})
}

// judged judges a file and reports it.
func (sc *scanner) judged(ctx context.Context, sub *subject) error {
	rep, err := sc.judge(ctx, sub)
	if err != nil {
		return err
	}
	return sc.report(ctx, rep)
}

// named scans a model that is no path, such as ollama:NAME.
func (sc *scanner) named(ctx context.Context, path string) error {
	for src, err := range parser.Find(path, false) {
		rep := sc.failed(src.Path, true, err)
		if err == nil {
			rep, err = sc.judgeModel(ctx, src.Path, true, true, func(b *limits.Budget) (tensor.Model, error) { return src.Open(b) })
			if err != nil {
				return err
			}
		}
		if err := sc.report(ctx, rep); err != nil {
			return err
		}
	}
	return nil
}

// folder scans every file of a folder and of those below it.
func (sc *scanner) folder(ctx context.Context, root string) error {
	// A link that is named is followed: its path ends with a separator.
	return filepath.WalkDir(root+string(filepath.Separator), func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return sc.report(ctx, sc.failed(path, true, err))
		}
		if e.IsDir() {
			return nil
		}
		if path == "-" { // a file of that name, not standard input
			path = "." + string(filepath.Separator) + path
		}
		mode := e.Type()
		if mode&fs.ModeSymlink != 0 {
			to, why := follow(root, path)
			switch {
			case why != "":
				return sc.unseen(path, why)
			case to.IsDir(): // it is walked in its own place
				rep := sc.failed(path, false, nil)
				rep.Harmless = "a link to a folder of this one"
				return sc.report(ctx, rep)
			}
			mode = to
		}
		switch {
		case !mode.IsRegular():
			return sc.unseen(path, "no regular file: never opened")
		case isIndex(e.Name()):
			return sc.index(ctx, path, false)
		default:
			return sc.file(ctx, path, false)
		}
	})
}

// isIndex knows the files that say which shard holds which tensor.
func isIndex(name string) bool {
	kind, ok := tensor.ParseIndexName(name)
	return ok && (kind == "safetensors" || kind == "bin" || kind == "pt" || kind == "pth")
}

// index judges an index as what it leads to is opened. One of a folder leads to
// files that are judged on their own, so their bodies are not read twice.
func (sc *scanner) index(ctx context.Context, path string, given bool) error {
	rep, err := sc.judgeModel(ctx, path, given, given, func(b *limits.Budget) (tensor.Model, error) { return parser.Open(b, path) })
	if err != nil {
		return err
	}
	return sc.report(ctx, rep)
}

// follow finds what a link of a folder leads to: only a file inside of the
// folder, or a blob of the same model in the cache of the Hugging Face hub.
func follow(root, path string) (mode fs.FileMode, why string) {
	info, err := os.Stat(path)
	if err != nil {
		return 0, "a link that leads nowhere"
	}
	from, err := filepath.EvalSymlinks(root)
	to, err2 := filepath.EvalSymlinks(path)
	if err != nil || err2 != nil || !isInside(from, to) && !isBlob(from, to) {
		return 0, "a link that leads out of the folder"
	}
	return info.Mode().Type(), ""
}

func isInside(dir, path string) bool {
	rel, err := filepath.Rel(dir, path)
	return err == nil && filepath.IsLocal(rel)
}

// isBlob reports models--NAME/snapshots/REVISION and models--NAME/blobs/HASH.
func isBlob(from, to string) bool {
	model := filepath.Dir(filepath.Dir(to))
	return filepath.Base(filepath.Dir(to)) == "blobs" && strings.HasPrefix(filepath.Base(model), "models--") && isInside(model, from)
}

// file opens a regular file and judges it.
func (sc *scanner) file(ctx context.Context, path string, given bool) error {
	h, err := tensor.OpenFile(localDir(filepath.Dir(path)), filepath.Base(path))
	if err != nil {
		if c := wire.ClassOf(err); c != wire.Internal {
			err = wire.At("scan", "", wire.NoOffset, err)
		}
		return sc.report(ctx, sc.failed(path, given, err))
	}
	defer h.Close()
	sub := &subject{path: path, name: filepath.Base(path), given: given, r: h, size: h.Size}
	if err := sc.take(sub); err != nil {
		return sc.report(ctx, sc.failed(path, given, err))
	}
	return sc.judged(ctx, sub)
}

// smallFile is the size up to which a file is read at once: a scan of many small
// files is mostly system calls otherwise.
const smallFile = 256 << 10

// take reads a small file whole, into the buffer of the one before. The report
// about that one is written.
func (sc *scanner) take(sub *subject) error {
	if sub.size > smallFile {
		return nil
	}
	if sc.small == nil {
		sc.small = make([]byte, smallFile)
	}
	p := sc.small[:sub.size]
	if err := wire.ReadFull(sub.r, p, 0); err != nil {
		return wire.At("scan", "", 0, err)
	}
	sub.r = bytes.NewReader(p)
	return nil
}
