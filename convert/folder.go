package convert

import (
	"errors"
	"os"
	"slices"

	"github.com/anamnesis-go/anamnesis/internal/encode"
	"github.com/anamnesis-go/anamnesis/internal/output"
	"github.com/anamnesis-go/anamnesis/internal/tiles"
)

// WriteFolder writes a model folder: the weights, their index if there are several files,
// config.json without quantization, and the other files that a loader needs; code only if
// code is true. The folder appears only when it is complete. With force it replaces a
// folder in which every file has the name of one that is written; else it names the file.
func (p *Plan) WriteFolder(target string, force, code bool) (*Result, error) {
	beside, err := p.beside(code)
	if err != nil {
		return nil, err
	}
	at, err := p.folderTarget(target, force, beside)
	if err != nil {
		return nil, err
	}
	tree, err := at.CreateTree()
	if err != nil {
		return nil, refusedPlace(err)
	}
	r, err := p.writeTree(tree, beside)
	return r, errors.Join(err, tree.Discard())
}

// openOnTree opens the journal of a folder, if there is to be one, and leaves only weights of
// an earlier run in it. If there is an error, what is unfinished stays.
func (p *Plan) openOnTree(tree *output.Tree) (*resumption, error) {
	if p.o.Resume == nil {
		return nil, nil
	}
	on, err := p.openJournal(tree.Place(), tree.Resumed())
	if err != nil {
		if tree.Resumed() {
			tree.Suspend()
		}
		return nil, err
	}
	return on, tree.Retain(func(name string) bool {
		return on.old && slices.ContainsFunc(p.Files, func(f File) bool { return f.Name == name })
	})
}

// closeTree closes the journal. If there is something to go on with, the folder stays.
func (p *Plan) closeTree(tree *output.Tree, on *resumption, err error) error {
	if err != nil && on.Takes(err) {
		err = p.unfinished(tree.Place(), err)
		tree.Suspend()
	} else if err != nil {
		err = errors.Join(err, on.remove())
	}
	if closed := on.close(); err == nil {
		err = closed
	}
	return err
}

// writeTree fills the folder and publishes it.
func (p *Plan) writeTree(tree *output.Tree, beside *Beside) (r *Result, err error) {
	on, err := p.openOnTree(tree)
	if err != nil {
		return nil, err
	}
	defer func() { err = p.closeTree(tree, on, err) }()
	if r, err = p.fillFolder(tree, on, beside); err != nil {
		return nil, err
	}
	if err := tree.Publish(); err != nil {
		return nil, refusedPlace(err)
	}
	_ = on.remove() // best effort: the next run removes a journal without a folder
	r.Beside = beside
	err = p.sync(tree.SyncFolder)
	r.Synced = p.synced
	return r, err
}

// writesIndex reports whether the folder has an index of its weights.
func (p *Plan) writesIndex() bool {
	return (len(p.Files) > 1 || p.view.Told().Parameters != nil) && p.o.Split == nil
}

// fillFolder writes and syncs every file, the first bytes of the weights last.
func (p *Plan) fillFolder(tree *output.Tree, on *resumption, beside *Beside) (r *Result, err error) {
	var files weightFiles
	defer func() { err = errors.Join(err, files.close()) }()
	if r, err = p.fillWeights(&files, tree, on); err != nil {
		return nil, err
	}
	if p.writesIndex() {
		index, err := p.index()
		if err != nil {
			return nil, err
		}
		if err := p.writeNew(tree, p.stem()+indexEnding, func(f *os.File) error { return writeFull(f, index, 0) }); err != nil {
			return nil, err
		}
	}
	config, err := p.config()
	if err != nil {
		return nil, err
	}
	edited := len(p.Weights) > 0 || p.encoder != nil || p.view.Told().Quantization != nil || namesWeights(p.b, p.m.Configs())
	for _, name := range beside.Copied {
		write := func(f *os.File) error { return p.copyBeside(f, name) }
		if name == encode.ConfigName && edited {
			write = func(f *os.File) error { return writeFull(f, config, 0) }
		}
		if err := p.writeNew(tree, name, write); err != nil {
			return nil, err
		}
	}
	if err := p.sync(tree.Sync); err != nil {
		return nil, err
	}
	if err := errors.Join(p.lastLook(), on.lastLook(p)); err != nil {
		return nil, err
	}
	return r, files.begin(p)
}

// fillWeights writes the weight files, but for their first bytes.
func (p *Plan) fillWeights(files *weightFiles, tree *output.Tree, on *resumption) (r *Result, err error) {
	create := tree.Create
	if on != nil {
		create = tree.Reopen
	}
	for i := range p.Files {
		f, err := create(p.Files[i].Name)
		if err != nil {
			return nil, err
		}
		files.add(f)
		if on != nil {
			continue
		}
		if err := tiles.Reserve(f, p.Files[i].Size); err != nil {
			return nil, err
		}
	}
	if on != nil {
		if err := on.prepare(p, files.open); err != nil {
			return nil, err
		}
	}
	if r, err = p.stream(on, files.writers); err != nil {
		return nil, err
	}
	for _, f := range files.open {
		if err := p.sync(f.Sync); err != nil {
			return nil, err
		}
	}
	return r, nil
}

// writeNew writes one small file.
func (p *Plan) writeNew(tree *output.Tree, name string, write func(*os.File) error) error {
	f, err := tree.Create(name)
	if err != nil {
		return err
	}
	err = write(f)
	if err == nil {
		err = p.sync(f.Sync)
	}
	return errors.Join(err, f.Close())
}
