package gate

import (
	"errors"
	"io/fs"
	"iter"
	"path"
	"strings"

	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// CheckFS judges a file, or all files of a folder and its subfolders, in a file system such
// as that of an archive or a remote repository, as [Gate.CheckPath] does. The path of a
// verdict is root, a slash, and the name.
func (g *Gate) CheckFS(b *limits.Budget, fsys fs.FS, name, root string) iter.Seq2[*Verdict, error] {
	return func(yield func(*Verdict, error) bool) {
		if g == nil {
			yield(nil, errNoGate)
			return
		}
		if fsys == nil {
			yield(nil, errNoFolder)
			return
		}
		w := &walkFS{walk{g: g.forWalk(), b: b, root: name, yield: yield}, fsys, strings.TrimSuffix(root, "/")}
		w.lists = folders{b: b, in: func(in string) (fs.FS, string) { return fsys, in }, parent: path.Dir}
		defer w.lists.close()
		err := fs.WalkDir(fsys, name, func(file string, e fs.DirEntry, err error) error {
			switch {
			case err != nil:
				return w.yieldVerdict(w.path(file), g.Failed(file, err))
			case e.IsDir():
				return b.Step(fileSteps)
			}
			return w.entry(file, e)
		})
		if err != nil && !errors.Is(err, errEnough) {
			yield(nil, err)
		}
	}
}

// A walkFS is one call of [Gate.CheckFS].
type walkFS struct {
	walk
	fsys fs.FS
	at   string
}

func (w *walkFS) path(file string) string {
	if file == w.root {
		return w.at
	}
	return w.at + "/" + file
}

func (w *walkFS) entry(file string, e fs.DirEntry) error {
	switch {
	case w.g.Exclude != nil && w.g.Exclude(file):
		return w.yieldVerdict(w.path(file), w.g.excluded(file))
	case !e.Type().IsRegular():
		if err := w.b.Step(fileSteps); err != nil {
			return err
		}
		return w.yieldVerdict(w.path(file), w.g.Unseen(file, "no regular file: never opened"))
	}
	h, err := tensor.OpenFile(w.fsys, file)
	if err != nil {
		if wire.ClassOf(err) != wire.Internal {
			err = wire.At("scan", "", wire.NoOffset, err)
		}
		return w.yieldVerdict(w.path(file), w.g.Failed(file, err))
	}
	defer h.Close()
	unchanged := w.asStated(h)
	if describes(w.fsys, file, h) {
		return w.judge(w.path(file), func(b *limits.Budget) (*Verdict, error) {
			v := w.g.draft(file)
			v.Size, v.SHA256, v.unchanged = h.Size, knownSum(h.ReaderAt), unchanged
			return w.g.checkModel(b, v, file == w.root || coversParts(file), func() (tensor.Model, error) { return parser.OpenFS(b, w.fsys, file) }, h)
		})
	}
	r, err := w.readSmall(h)
	if err != nil {
		return w.yieldVerdict(w.path(file), w.g.Failed(file, err))
	}
	in := path.Dir(file)
	holdsData := func(b *limits.Budget) bool {
		return (file != w.root || !isPart(file)) && !w.g.leavesOutIndex(file) && w.lists.holdsData(b, in, path.Base(file))
	}
	return w.judge(w.path(file), func(b *limits.Budget) (*Verdict, error) {
		above := w.lists.around(b, in)
		return w.g.Check(b, r, h.Size, Hint{Name: file, SHA256: knownSum(h.ReaderAt), Beside: file != w.root || w.g.Beside, near: nearIn(w.fsys, file), around: above, weights: w.lists.weights(b, in), holdsData: holdsData, whyNotOpened: whyNotOpenedIn(w.fsys, file), unchanged: unchanged})
	})
}

// asStated watches a file like watchOpen. If nearly all of it was read, it must also have the
// digest that its source states.
func (w *walkFS) asStated(h *tensor.Handle) watch {
	unchanged := watchOpen(h)
	s, ok := h.ReaderAt.(tensor.Stated)
	if !ok {
		return unchanged
	}
	return func() error {
		if unchanged != nil {
			if err := unchanged(); err != nil {
				return err
			}
		}
		if !s.Whole() {
			return nil
		}
		return s.Verify(w.b)
	}
}
