package convert

import (
	"errors"
	"io"
	"os"

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

// writeTree fills the folder and publishes it.
func (p *Plan) writeTree(tree *output.Tree, beside *Beside) (*Result, error) {
	r, err := p.fillFolder(tree, beside)
	if err != nil {
		return nil, err
	}
	if err := p.lastLook(); err != nil {
		return nil, err
	}
	if err := tree.Publish(); err != nil {
		return nil, refusedPlace(err)
	}
	r.Beside = beside
	err = p.sync(tree.SyncFolder)
	r.Synced = p.synced
	return r, err
}

// writesIndex reports whether the folder has an index of its weights.
func (p *Plan) writesIndex() bool { return (len(p.Files) > 1 || p.indexed()) && p.o.Split == nil }

// fillFolder writes and syncs every file.
func (p *Plan) fillFolder(tree *output.Tree, beside *Beside) (*Result, error) {
	r, err := p.fillWeights(tree)
	if err != nil {
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
	edited := len(p.Weights) > 0 || p.encoder != nil || p.unpacked() || namesWeights(p.b, p.m.Configs())
	for _, name := range beside.Copied {
		write := func(f *os.File) error { return p.copyBeside(f, name) }
		if name == configName && edited {
			write = func(f *os.File) error { return writeFull(f, config, 0) }
		}
		if err := p.writeNew(tree, name, write); err != nil {
			return nil, err
		}
	}
	return r, p.sync(tree.Sync)
}

// fillWeights writes the weight files.
func (p *Plan) fillWeights(tree *output.Tree) (r *Result, err error) {
	var open []*os.File // as many as there are shards
	defer func() {
		for _, f := range open {
			err = errors.Join(err, f.Close())
		}
	}()
	var files []io.WriterAt
	for i := range p.Files {
		f, err := tree.Create(p.Files[i].Name)
		if err != nil {
			return nil, err
		}
		open, files = append(open, f), append(files, f)
		if err := tiles.Reserve(f, p.Files[i].Size); err != nil {
			return nil, err
		}
	}
	if r, err = p.Stream(files...); err != nil {
		return nil, err
	}
	for _, f := range open {
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
