package gate

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"strings"

	"github.com/anamnesis-go/anamnesis/internal/folder"
	"github.com/anamnesis-go/anamnesis/internal/sidecar"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser"
	"github.com/anamnesis-go/anamnesis/parser/ollama"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// CheckPath judges a path: a file of any kind; all files of a folder and its subfolders, in
// the order of their names; an index with the shards that it names; or a model of a store,
// such as ollama:NAME. If the path is a link it is followed. Links in a folder are followed
// only to files of this folder, or to blobs of the same model in the cache of the Hugging
// Face hub.
//
// A verdict says what is wrong with a file, or that it could not be opened. An error ends
// the walk: the context or the time of b ended. Each file has its own account under b, with
// the limits of the gate's policy; it is closed when the loop continues.
func (g *Gate) CheckPath(b *limits.Budget, path string) iter.Seq2[*Verdict, error] {
	return func(yield func(*Verdict, error) bool) {
		if g == nil {
			yield(nil, errNoGate)
			return
		}
		w := &walk{g: g.forWalk(), b: b, root: path, yield: yield}
		w.lists = folders{b: b, in: func(in string) (fs.FS, string) { return dir(in), "." }, parent: filepath.Dir}
		defer w.lists.close()
		if err := w.start(); err != nil && !errors.Is(err, errEnough) {
			yield(nil, err)
		}
	}
}

// A walk is one call of [Gate.CheckPath].
type walk struct {
	g     *Gate
	b     *limits.Budget
	root  string
	yield func(*Verdict, error) bool
	small []byte // buffer of the current small file
	lists folders
}

// forWalk returns a copy of the gate that digests its policy and sorts its exceptions once,
// not for each file.
func (g *Gate) forWalk() *Gate {
	own := *g.indexed()
	if own.Digest && own.digest == "" {
		own.digest, _ = own.Policy.Digest() // a policy without one has none for each file either
	}
	return &own
}

// errEnough ends a walk early.
var errEnough = errors.New("the caller stopped")

// yieldVerdict yields a verdict about the file at path, and closes it.
func (w *walk) yieldVerdict(path string, v *Verdict) error {
	defer v.Close()
	v.Path = path
	if !w.yield(v, nil) {
		return errEnough
	}
	return nil
}

// judge calls judge under an account of its own and yields the verdict.
func (w *walk) judge(path string, judge func(*limits.Budget) (*Verdict, error)) error {
	if err := w.b.Err(); err != nil {
		return err
	}
	b := w.b.Child(w.g.Policy.Limits)
	defer b.Close()
	v, err := judge(b)
	if err != nil {
		return err
	}
	return w.yieldVerdict(path, v)
}

// start judges what the path names.
func (w *walk) start() error {
	if strings.Contains(w.root, ":") {
		if _, err := os.Lstat(w.root); err != nil {
			return w.named()
		}
	}
	info, err := os.Stat(w.root)
	switch {
	case err != nil:
		return w.yieldVerdict(w.root, w.g.Failed(filepath.Base(w.root), err))
	case info.IsDir():
		return w.folder()
	case mayDescribe(w.root):
		return w.index(w.root, true)
	default:
		return w.file(w.root, !w.g.Beside)
	}
}

// named judges a model that is not a path, such as ollama:NAME.
func (w *walk) named() error {
	refused := false
	for src, err := range parser.Find(w.root, false) {
		if err == nil {
			err = w.judge(src.Path, func(b *limits.Budget) (*Verdict, error) {
				v, err := w.g.CheckModel(b, src.Path, true, func() (tensor.Model, error) { return src.Open(b) })
				refused = refused || err == nil && v.Err != nil
				return v, err
			})
		} else {
			refused, err = true, w.yieldVerdict(src.Path, w.g.Failed(src.Path, err))
		}
		if err != nil {
			return err
		}
	}
	return w.layers(refused)
}

// layers judges the other layers that a store has for a model, since a runner also loads
// adapters and projectors. Each is treated as a file of a folder. If the model itself was
// refused, an unreadable store has already been reported.
func (w *walk) layers(refused bool) error {
	var ended error
	b := w.b.Child(w.g.Policy.Limits)
	defer b.Close()
	err := parser.BesideWeights(b, w.root, func(l ollama.Layer, h *tensor.Handle, err error) error {
		name := "sha256-" + l.Digest
		if l.Kind == ollama.JSON && fs.ValidPath(l.Name) {
			name = l.Name
		}
		path := w.root + "!" + name
		if err != nil {
			ended = w.yieldVerdict(path, w.g.Failed(name, err))
			return ended
		}
		ended = w.judge(path, func(b *limits.Budget) (*Verdict, error) {
			return w.g.Check(b, h, h.Size, Hint{Name: name, Beside: true, stored: l.Path()})
		})
		return ended
	})
	if ended != nil || err == nil || refused {
		return ended
	}
	return w.yieldVerdict(w.root, w.g.Failed(w.root, err))
}

// folder judges every file of a folder and its subfolders.
func (w *walk) folder() error {
	var unpaid error
	enter := func() error {
		unpaid = w.b.Step(fileSteps)
		return unpaid
	}
	for e := range folder.EachPaid(w.root, enter) {
		if err := w.entry(e); err != nil {
			return err
		}
	}
	return unpaid
}

// entry judges one entry of a folder.
func (w *walk) entry(e folder.Entry) error {
	if e.Link || e.Kind != folder.File { // the judgement of a file has steps for opening it alone
		if err := w.b.Step(fileSteps); err != nil {
			return err
		}
	}
	path := e.Path
	if path == "-" { // a file of that name, not standard input
		path = "." + string(filepath.Separator) + path
	}
	switch e.Kind {
	case folder.Unread:
		return w.yieldVerdict(path, w.g.Failed(e.Name, e.Err))
	case folder.Astray:
		return w.yieldVerdict(path, w.g.Unseen(e.Name, e.Why))
	case folder.Folder: // the walk reaches its files elsewhere
		v := w.g.draft(e.Name)
		v.Harmless = "a link to a folder of this one"
		return w.yieldVerdict(path, v.conclude(true))
	}
	switch {
	case w.g.Exclude != nil && w.g.Exclude(e.Name):
		return w.yieldVerdict(path, w.g.excluded(e.Name))
	case e.Kind == folder.Special:
		return w.yieldVerdict(path, w.g.Unseen(e.Name, "no regular file: never opened"))
	case mayDescribe(path):
		return w.index(path, false)
	default:
		return w.file(path, false)
	}
}

// name returns the name of a file: below a folder, its path there with slashes. A file of
// a list keeps the path in the list, which stands for the folder.
func (w *walk) name(path string) string {
	if rel, err := filepath.Rel(w.root, path); err == nil && rel != "." && filepath.IsLocal(rel) {
		return filepath.ToSlash(rel)
	}
	if w.g.Beside && filepath.IsLocal(path) {
		return filepath.ToSlash(filepath.Clean(path))
	}
	return filepath.Base(path)
}

// isIndex reports whether a name is that of an index, which says which shard holds which
// tensor.
func isIndex(path string) bool {
	kind, ok := tensor.ParseIndexName(filepath.Base(path))
	return ok && (kind == "safetensors" || kind == "bin" || kind == "pt" || kind == "pth")
}

// mayDescribe reports whether a file says which other files are one model with it, as far as its first byte does not
// matter.
func mayDescribe(path string) bool {
	files, name := dir(filepath.Dir(path)), filepath.Base(path)
	return isIndex(path) || parser.IsDCP(path) || parser.NamesZeRO(files, name) || parser.NamesBundle(files, name)
}

// index judges an index together with the shards that it names. The shards of a folder
// are also judged on their own, so bodies need not be read here.
func (w *walk) index(path string, bodies bool) error {
	h, err := tensor.OpenFile(dir(filepath.Dir(path)), filepath.Base(path))
	if err != nil {
		return w.yieldVerdict(path, w.g.Failed(w.name(path), err))
	}
	defer h.Close()
	if parser.IsDCP(path) && !describesDCP(path, h) {
		return w.file(path, bodies)
	}
	unchanged := watchPath(path, h)
	return w.judge(path, func(b *limits.Budget) (*Verdict, error) {
		v := w.g.draft(w.name(path))
		v.Size, v.unchanged = h.Size, unchanged
		return w.g.checkModel(b, v, bodies || coversParts(path), func() (tensor.Model, error) { return parser.Open(b, path) }, h)
	})
}

// file opens a regular file and judges it.
func (w *walk) file(path string, given bool) error {
	h, err := tensor.OpenFile(dir(filepath.Dir(path)), filepath.Base(path))
	if err != nil {
		if wire.ClassOf(err) != wire.Internal {
			err = wire.At("scan", "", wire.NoOffset, err)
		}
		return w.yieldVerdict(path, w.g.Failed(w.name(path), err))
	}
	defer h.Close()
	unchanged := watchPath(path, h)
	r, err := w.readSmall(h)
	if err != nil {
		return w.yieldVerdict(path, w.g.Failed(w.name(path), err))
	}
	return w.judge(path, func(b *limits.Budget) (*Verdict, error) {
		in := filepath.Dir(path)
		var above around
		var weights func() (sidecar.Weights, bool, error)
		if !given {
			above, weights = w.lists.around(b, in), w.lists.weights(b, in)
		}
		holdsData := func(b *limits.Budget) bool {
			return (!given || !isPart(filepath.ToSlash(path))) && !w.g.leavesOutIndex(w.name(path)) && w.lists.holdsData(b, in, filepath.Base(path))
		}
		return w.g.Check(b, r, h.Size, Hint{Name: w.name(path), Beside: !given, stored: storedAt(path), near: near(path), around: above, weights: weights, holdsData: holdsData, whyNotOpened: w.whyNotOpened(path), unchanged: unchanged})
	})
}

// near returns a function that reports whether the folder of path has a file of a name.
func near(path string) func(string) bool {
	return func(name string) bool {
		_, err := os.Stat(filepath.Join(filepath.Dir(path), filepath.Base(name)))
		return err == nil
	}
}

// smallFile is the largest size of a file that is read at once. A walk over many small
// files otherwise spends its time on system calls.
const smallFile = 256 << 10

// readSmall reads a small file whole into the buffer of the previous one, whose verdict
// is closed.
func (w *walk) readSmall(h *tensor.Handle) (io.ReaderAt, error) {
	if h.Size > smallFile {
		return h, nil
	}
	if w.small == nil {
		w.small = make([]byte, smallFile)
	}
	p := w.small[:h.Size]
	if err := wire.ReadFull(h, p, 0); err != nil {
		return nil, wire.At("scan", "", 0, err)
	}
	return bytes.NewReader(p), nil
}
