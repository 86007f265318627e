package gate

import (
	"errors"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/anamnesis-go/anamnesis/internal/sidecar"
	"github.com/anamnesis-go/anamnesis/internal/unpack"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser"
	"github.com/anamnesis-go/anamnesis/parser/dcp"
	"github.com/anamnesis-go/anamnesis/parser/onnx"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// This file judges what is judged by several files, in an archive or another file system as
// in a folder: an index with its shards, data of an ONNX model, a class with its code.

// An indexed is an index in an archive, which is judged once all its shards are known.
type indexed struct {
	path, name string // in the archive, and for people
	size       int64
}

// keepIndex keeps an index for [unpacking.judgeIndexes]. In an archive that is still
// arriving it is left to the judgement of the whole.
func (u *unpacking) keepIndex(i unpack.Item, name string) error {
	if u.begun != nil {
		return nil
	}
	if err := u.o.account.Alloc(int64(len(i.Name) + len(name))); err != nil {
		return wire.At(u.out.format, "", wire.NoOffset, err)
	}
	var err error
	u.indexes, err = limits.Append(u.o.account, u.indexes, indexed{i.Name, name, i.Size})
	return wire.At(u.out.format, "", wire.NoOffset, err)
}

// around returns the files of an archive.
func (u *unpacking) around() (*unpack.Files, error) {
	if u.files == nil && u.noFiles == nil {
		u.files, u.noFiles = u.k.Files(u.o.account, u.o.r, u.o.s.size, u.directory())
	}
	return u.files, u.noFiles
}

// describes reports whether a content says which others are one model with it, or could in an archive that is still
// arriving.
func (u *unpacking) describes(i unpack.Item) bool {
	if isIndex(i.Name) || describesDCP(i.Name, i.R) {
		return true
	}
	if could := parser.IsZeRO(i.Name) || parser.IsBundle(i.Name) || parser.IsBundleState(i.Name); !could || u.begun != nil {
		return could
	}
	files, err := u.around()
	return err == nil && describes(files, i.Name, i.R)
}

// leave gives back what the list of an archive's files holds.
func (u *unpacking) leave() {
	if u.files != nil {
		u.files.Close()
		u.files = nil
		u.o.account.Drop(u.held)
		u.kinds, u.models, u.data, u.held = nil, nil, nil, 0
	}
}

// judgeIndexes judges the indices of an archive with the shards that they name, as those of
// a folder. The shards are also judged on their own, and counted there.
func (u *unpacking) judgeIndexes() error {
	for _, x := range u.indexes {
		if err := u.judgeIndex(x); errors.Is(err, errEnough) {
			return nil // u.out.err says why
		} else if err != nil {
			return err
		}
	}
	return nil
}

func (u *unpacking) judgeIndex(x indexed) error {
	g := u.o.s.gate
	v := g.draft(x.name)
	b := u.o.account.Child(*u.o.account.Policy())
	defer b.Close()
	v.take(g.reportOpened(b, v.policy, coversParts(x.path), func() (tensor.Model, error) {
		files, err := u.around()
		if err != nil {
			return nil, err
		}
		return parser.OpenFS(b, files, x.path)
	}))
	if err := contextError(b, v.Err); err != nil {
		return err
	}
	v.Size = x.size
	v.applyPolicy()
	if coversParts(x.path) {
		return u.add(v)
	}
	if v.Totals = (Totals{}); v.Err == nil {
		v.Verified, v.summed = true, true // as far as the shards are
	}
	return u.add(v)
}

// lookAround lets the judgement of a content ask for the files beside it.
func (u *unpacking) lookAround(c *subject, i unpack.Item) {
	if u.k.Stream || u.begun != nil {
		return
	}
	c.hint.near = func(name string) bool {
		files, err := u.around()
		return err == nil && nearIn(files, i.Name)(name)
	}
	c.hint.around = func(up int) (sidecar.Folder, bool, error) {
		dir := path.Dir(i.Name)
		for range up {
			dir = path.Dir(dir)
		}
		return u.kindsOf(dir)
	}
	c.hint.weights = func() (sidecar.Weights, bool, error) { return u.weightsOf(path.Dir(i.Name)) }
	c.hint.holdsData = func(b *limits.Budget) bool {
		list, err := u.dataBeside(b, path.Dir(i.Name))
		return err == nil && slices.Contains(list, path.Base(i.Name))
	}
	c.hint.whyNotOpened = func(name string) error {
		files, err := u.around()
		if err != nil {
			return err
		}
		return whyNotOpenedIn(files, i.Name)(name)
	}
}

// weightsOf returns the files with weights in a folder of the archive; known is false if it cannot be listed.
func (u *unpacking) weightsOf(dir string) (w sidecar.Weights, known bool, err error) {
	files, err := u.around()
	if err != nil {
		return w, false, err
	}
	names, err := files.List(dir)
	if err != nil {
		return w, false, err
	}
	for _, name := range names {
		is, loaded := sidecar.HasWeights(name)
		if !is {
			continue
		}
		info, err := files.Stat(path.Join(dir, path.Base(name)))
		if err != nil {
			return w, false, err
		}
		if !info.IsDir() {
			w.Bytes += info.Size()
			w.Loaded = w.Loaded || loaded
		}
	}
	return w, true, nil
}

// nearIn returns a function that reports whether the folder of a file has one of a name.
func nearIn(files fs.FS, file string) func(string) bool {
	return func(name string) bool {
		_, err := fs.Stat(files, path.Join(path.Dir(file), path.Base(name)))
		return err == nil
	}
}

// whyNotOpenedIn is [walk.whyNotOpened] for a file system whose links are never followed. Loaders
// cannot open a missing file either.
func whyNotOpenedIn(files fs.FS, file string) func(string) error {
	return func(name string) error {
		info, err := fs.Stat(files, path.Join(path.Dir(file), name))
		switch {
		case err != nil && wire.ClassOf(err) == wire.Internal:
			return nil
		case err != nil:
			return err // of a limit
		}
		return checkRegular(name, info.Mode())
	}
}

// maxModels bounds how many models of a folder are searched for the name of one data
// file.
const maxModels = 16

// modelData are the files in which models store their data.
type modelData struct {
	names []string
	held  int64 // the memory of the names
	whole bool  // no limit hid a model
}

// dataOf reads ONNX models of a folder. One that is refused stores nothing. An error is one after
// which the account pays for nothing more.
func dataOf(b *limits.Budget, files fs.FS, dir string, models []string) (d modelData, err error) {
	d.whole = true
	for _, model := range models {
		names, err := externalOf(b, files, path.Join(dir, model))
		if wire.ClassOf(err) == wire.Limit {
			d.whole = false
		}
		if err := b.Step(1); err != nil {
			return modelData{}, err
		}
		for _, name := range names {
			d.names = append(d.names, strings.Clone(name))
			d.held += folderCost + int64(len(name))
		}
	}
	return d, nil
}

// externalOf lists the files in which an ONNX model, or a checkpoint of several files, stores its data.
func externalOf(b *limits.Budget, files fs.FS, name string) ([]string, error) {
	if parser.IsBundle(name) {
		if !parser.NamesBundle(files, name) { // it is judged as something else
			return nil, nil
		}
		return parser.BundleFiles(b, files, name)
	}
	h, err := tensor.OpenFile(files, name)
	if err != nil {
		return nil, err
	}
	defer h.Close()
	if parser.IsDCP(name) {
		if !describesDCP(name, h) { // it is judged as something else, without its parts
			return nil, nil
		}
		return dcp.Files(b, files, name)
	}
	m, err := onnx.Decode(b, h, h.Size)
	if err != nil {
		return nil, err
	}
	return m.External, nil
}

// dataBeside lists the files in which the ONNX models of a folder store their data. The names of
// an archive are gone through once, and a model is read once, however many contents ask.
func (u *unpacking) dataBeside(b *limits.Budget, dir string) ([]string, error) {
	if list, ok := u.data[dir]; ok {
		return list, nil
	}
	files, err := u.around()
	if err != nil {
		return nil, err
	}
	if u.models == nil {
		if err := u.listModels(files.Names()); err != nil {
			return nil, err
		}
	}
	models := u.models[dir]
	if len(models) == 0 {
		return nil, nil
	}
	d, err := dataOf(b, files, "", models)
	if err != nil {
		return nil, err
	}
	if d.whole {
		if err := u.hold(d.held); err != nil {
			return nil, err
		}
		u.data[dir] = d.names
	}
	return d.names, nil
}

// storesElsewhere reports whether a name is that of a file whose data may be in other files of its
// folder: an ONNX model, or what describes a checkpoint of several files.
func storesElsewhere(name string) bool { return path.Ext(name) == ".onnx" || coversParts(name) }

// listModels finds the ONNX models of each folder, the first ones.
func (u *unpacking) listModels(names []string) error {
	u.models, u.data = map[string][]string{}, map[string][]string{}
	steps := u.o.account.Steps()
	for _, name := range names {
		if err := steps.Step(); err != nil {
			return err
		}
		if !storesElsewhere(name) || len(u.models[path.Dir(name)]) >= maxModels {
			continue
		}
		if err := u.hold(folderCost + int64(len(name))); err != nil {
			return err
		}
		u.models[path.Dir(name)] = append(u.models[path.Dir(name)], name)
	}
	return nil
}

// hold charges what is kept until [unpacking.leave].
func (u *unpacking) hold(n int64) error {
	err := u.o.account.Hold(n)
	if err == nil {
		u.held += n
	}
	return err
}
