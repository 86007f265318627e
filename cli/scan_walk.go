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
		return sc.report(ctx, &scanReport{path: path, given: true, err: err})
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
	rep := &scanReport{path: "-", given: true}
	if s.stdinTaken {
		rep.err = usage{"standard input can be read once only"}
		return sc.report(ctx, rep)
	}
	s.stdinTaken = true
	r, size, closer, err := s.input(ctx)
	if err != nil {
		rep.err = err
		return sc.report(ctx, rep)
	}
	defer closer.Close()
	return sc.report(ctx, sc.judge(ctx, &subject{path: "-", name: "-", given: true, r: r, size: size}))
}

// named scans a model that is no path, such as ollama:NAME.
func (sc *scanner) named(ctx context.Context, path string) error {
	for src, err := range parser.Find(path, false) {
		rep := &scanReport{path: src.Path, given: true, err: err}
		if err == nil {
			b := sc.s.policy.Budget(ctx)
			rep.open(b, func() (tensor.Model, error) { return src.Open(b) })
			b.Close()
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
			return sc.report(ctx, &scanReport{path: path, given: true, err: err})
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
				return sc.report(ctx, &scanReport{path: path, skipped: "a link to a folder of this one"})
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
	rep := &scanReport{path: path, given: given}
	b := sc.s.policy.Budget(ctx)
	defer b.Close()
	open := func() (tensor.Model, error) { return parser.Open(b, path) }
	if given {
		rep.open(b, open)
	} else if m, err := open(); err != nil {
		rep.err = err
	} else {
		rep.seen(m)
		m.Close()
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
	rep := &scanReport{path: path, given: given}
	h, err := tensor.OpenFile(localDir(filepath.Dir(path)), filepath.Base(path))
	if err != nil {
		rep.err = err
		if c := wire.ClassOf(err); c != wire.Internal {
			rep.err = wire.At("scan", "", wire.NoOffset, err)
		}
		return sc.report(ctx, rep)
	}
	defer h.Close()
	sub := &subject{path: path, name: filepath.Base(path), given: given, r: h, size: h.Size}
	if err := sc.take(sub); err != nil {
		rep.err = err
		return sc.report(ctx, rep)
	}
	return sc.report(ctx, sc.judge(ctx, sub))
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

// alias is a name that promises the same, and belongs to no set of shards: each
// is judged alone.
func (sub *subject) alias() string { return "file" + filepath.Ext(sub.name) }

// scanFS is a file system of the one file that a scan has open, so that opening it
// by name gives the findings that belong to names.
type scanFS struct{ sub *subject }

func (f scanFS) Open(name string) (fs.File, error) {
	if name != f.sub.alias() {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
	}
	return &scanFile{io.NewSectionReader(f.sub.r, 0, f.sub.size), f.sub}, nil
}

// scanFile is an fs.File over what is open already; closing it leaves that open.
type scanFile struct {
	*io.SectionReader
	sub *subject
}

func (o *scanFile) Stat() (fs.FileInfo, error) { return scanInfo{o.sub, nil}, nil }
func (o *scanFile) Close() error               { return nil }

// scanInfo is a regular file's. The FileInfo inside answers what nobody asks.
type scanInfo struct {
	sub *subject
	fs.FileInfo
}

func (i scanInfo) Name() string      { return i.sub.alias() }
func (i scanInfo) Size() int64       { return i.sub.size }
func (i scanInfo) Mode() fs.FileMode { return 0o444 }
func (i scanInfo) IsDir() bool       { return false }

// open decodes a model and reads its bodies.
func (rep *scanReport) open(b *limits.Budget, open func() (tensor.Model, error)) {
	m, err := open()
	if err != nil {
		rep.err = err
		return
	}
	defer m.Close()
	rep.seen(m)
	if rep.err = parser.Verify(b, m); rep.err == nil {
		rep.verified = true
	}
}

// seen keeps what is told of a model.
func (rep *scanReport) seen(m tensor.Model) {
	rep.format, rep.findings = m.Format(), m.Findings()
	rep.total = group{}
	for i := range m.Tensors() {
		rep.total.add(&i)
	}
}
