package parser

import (
	"bytes"
	"io/fs"
	"slices"

	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/dcp"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// An entry is one model of a folder: a file, an index of shards, or, without an index, a
// set of shards.
type entry struct {
	name   string
	shards []string
}

// opened runs an operation that opens a model. The memory of the model is charged to a separate
// account, which ends with the model, or at once if there is none.
func opened(b *limits.Budget, op string, open func(*limits.Budget) (tensor.Model, error)) (tensor.Model, error) {
	held := b.Holding()
	m, err := guarded(b, op, func() (tensor.Model, error) {
		m, err := open(held)
		if err != nil {
			return nil, err
		}
		k, ok := m.(tensor.Keeper)
		if !ok {
			m.Close()
			return nil, wire.At(detection, "", wire.NoOffset, wire.ErrInternal.Errorf("model of %s keeps no account", m.Format()))
		}
		k.Keep(held)
		return m, nil
	})
	if err != nil {
		held.Close()
	}
	return m, err
}

// openIn opens a model of a folder. The model owns the folder; when there is no
// model, the folder and every file that was opened in it are closed, whatever
// happened.
func openIn(b *limits.Budget, d *folder, e entry) (tensor.Model, error) {
	done := false
	defer func() {
		if !done {
			d.Close()
		}
	}()
	m, found, err := d.model(b, e)
	if err != nil {
		return nil, explainTruncated(e.name, err)
	}
	if m, err = addFindings(b, m, found...); err != nil {
		return nil, err
	}
	if p, ok := m.(tensor.Placer); ok {
		p.Place(d, d)
	}
	done = true
	return m, nil
}

// model decodes an entry. Differences between its name and its content are returned as
// findings.
func (d *folder) model(b *limits.Budget, e entry) (tensor.Model, []*tensor.Finding, error) {
	f := d.describes(e.name)
	if f != nil {
		return d.index(b, f, e.name)
	}
	if dcp.IsShard(e.name) || BundleOf(e.name) != "" || e.shards != nil && isPartOfZeRO(e.name) {
		return d.partOfFolder(b, e)
	}
	h, err := tensor.OpenFile(d, e.name)
	if err != nil {
		return nil, nil, wrapFolderError(err)
	}
	id, err := identify(b, h, h.Size, e.name)
	if err != nil {
		return nil, nil, err
	}
	defer id.Close()
	if f, err = id.admit(b); err != nil {
		return nil, nil, err
	}
	found := []*tensor.Finding{id.alias, misnamed(e.name, f)}
	if e.shards == nil && f.isShard != nil && f.isShard(e.name) {
		e.shards = d.setOf(e.name)
	}
	if e.shards != nil && f.shards != nil {
		h.Close()
		set := &setFolder{folder: d, b: b, f: f}
		m, err := f.shards(b, set, e.shards)
		if err != nil {
			return nil, nil, d.explain(b, err, func(*limits.Budget) []string { return e.shards })
		}
		return m, append(set.found, found[1:]...), nil // the first file belongs to the set
	}
	m, err := f.decode(b, h, id)
	if err == nil {
		err = d.situate(b, m, f, e.name)
	}
	return m, found, err
}

// describes returns the kind of a model whose other files a file describes, or nil.
func (d *folder) describes(name string) *kind {
	if NamesBundle(d, name) {
		return kindOf(Bundle)
	}
	return byIndex(name)
}

// partOfFolder opens what a whole folder explains by one of its parts.
func (d *folder) partOfFolder(b *limits.Budget, e entry) (tensor.Model, []*tensor.Finding, error) {
	switch {
	case dcp.IsShard(e.name):
		return nil, nil, aloneOfDCP()
	case BundleOf(e.name) != "":
		return nil, nil, aloneOfBundle()
	}
	if err := refused(b, kindOf(zeroFormat)); err != nil {
		return nil, nil, err
	}
	set := &setFolder{folder: d, b: b, f: byExt(e.name)}
	m, err := openZeRO(b, set, e.name)
	return m, set.found, err
}

// situate gives a model of one file the facts from its folder: where its data is, that it is a
// piece of a set, and how to read the other files of its format.
func (d *folder) situate(b *limits.Budget, m tensor.Model, f *kind, file string) error {
	if o, ok := m.(outsider); ok {
		if err := o.Attach(b, d); err != nil {
			return err
		}
	}
	if p, ok := m.(tensor.Piece); ok {
		if name, ok := tensor.ParseShardName(file); ok && name.Count > 1 {
			p.PieceOf(name.Count)
		}
	}
	if n, ok := m.(tensor.Neighbor); ok {
		n.Beside(d.others(f, file))
	}
	return nil
}

// index opens the set that an index describes.
func (d *folder) index(b *limits.Budget, f *kind, name string) (tensor.Model, []*tensor.Finding, error) {
	if err := refused(b, f); err != nil {
		return nil, nil, err
	}
	set := &setFolder{folder: d, b: b, f: f}
	if f.name == zeroFormat {
		set.f = byExt(".pt")
	}
	m, err := f.index(b, set, name)
	if err != nil && (f.name == dcp.Format || f.name == zeroFormat || f.name == Bundle) {
		return nil, nil, err // its files are of no kind by themselves, or of one that has no index
	}
	if err != nil {
		return nil, nil, d.explain(b, err, func(b *limits.Budget) []string {
			x, err := tensor.ReadIndex(b, d, name, f.name)
			if err != nil {
				return []string{name}
			}
			return x.Files
		})
	}
	return m, set.found, nil
}

// setOf lists the files of the set that a file belongs to, at least the file itself.
func (d *folder) setOf(name string) []string {
	if all, err := modelsOf(d); err == nil {
		for _, e := range all {
			if slices.Contains(e.shards, name) {
				return e.shards
			}
		}
	}
	return []string{name}
}

// wrapFolderError gives a place to an error about a file of the folder. Errors of the
// system are returned unchanged.
func wrapFolderError(err error) error {
	if ClassOf(err) == Internal {
		return err
	}
	return wire.At(detection, "", wire.NoOffset, err)
}

// explain examines the files of a set that could not be read. If one is not a model at
// all, such as a Git LFS pointer, it returns that error instead.
func (d *folder) explain(b *limits.Budget, err error, files func(*limits.Budget) []string) error {
	if c := ClassOf(err); c != Malformed && c != Truncated {
		return err
	}
	b = b.Probe()
	defer b.Close()
	for _, name := range files(b) {
		h, openErr := tensor.OpenFile(d, name)
		if openErr != nil {
			return err
		}
		var begin [64]byte
		n, _ := h.ReadAt(begin[:], 0)
		if byIndex(name) != nil && bytes.HasPrefix(trimText(begin[:n]), []byte("{")) {
			h.Close()
			continue // an index is JSON as well: its parser reports the error
		}
		id, foreign := identify(b, h, h.Size, name)
		if foreign == nil {
			foreign = id.Err
			id.Close()
		}
		h.Close()
		if e, ok := foreign.(*wire.Error); ok && ClassOf(foreign) == Unsupported && e.Format == detection {
			return &wire.Error{Format: detection, Where: "file " + wire.Quote(name), Off: e.Off, Err: e.Err}
		}
	}
	return err
}

// openOnly opens the only model of a folder, or the one that the folder's library reads.
func openOnly(b *limits.Budget, d *folder, path string) (tensor.Model, error) {
	models, note, err := only(b, d)
	if err != nil {
		d.Close()
		return nil, err
	}
	m, err := openIn(b, d, models)
	if err != nil {
		return nil, err
	}
	noticed, err := addFindings(b, m, note)
	if err != nil {
		m.Close()
	}
	return noticed, err
}

func only(b *limits.Budget, d *folder) (entry, *tensor.Finding, error) {
	all, err := entriesOf(d)
	if err != nil {
		return entry{}, nil, err
	}
	models, note, err := choose(b, d, all)
	if err != nil {
		return entry{}, nil, err
	}
	if models = withoutLooseShards(models); len(models) != 1 {
		return entry{}, nil, wire.At(detection, "", wire.NoOffset, notOne(d, models))
	}
	return models[0], note, nil
}

func notOne(d fs.FS, models []entry) error {
	if len(models) > 0 {
		return wire.ErrUnsupported.WithRule("detect.many-models").Errorf("the folder holds %d models: name one, such as %s", len(models), wire.Quote(models[0].name))
	}
	if is := hintFor(d); is != "" {
		return wire.ErrUnsupported.WithRule("detect.no-model").Errorf("no weight files in this folder itself, which is %s", is)
	}
	return wire.ErrUnsupported.WithRule("detect.no-model").Errorf("no weight files in this folder itself")
}

// modelsOf applies the rule of [Find] to one folder.
func modelsOf(fsys fs.FS) ([]entry, error) {
	all, err := entriesOf(fsys)
	return withoutLooseShards(all), err
}

// withoutLooseShards drops, from a folder with an index, all files but those whose name
// is that of a whole model.
func withoutLooseShards(all []entry) []entry {
	if !slices.ContainsFunc(all, func(e entry) bool { return byIndex(e.name) != nil }) {
		return all
	}
	return slices.DeleteFunc(slices.Clone(all), func(e entry) bool {
		return byIndex(e.name) == nil && e.name != "model.safetensors" && e.name != "pytorch_model.bin"
	})
}

// entriesOf lists the indexes, the sets of shards and the other weights of a
// folder, indexes first; without any of these, the graphs with tensors.
func entriesOf(fsys fs.FS) ([]entry, error) {
	list, err := fs.ReadDir(fsys, ".")
	if err != nil {
		return nil, err
	}
	var indexes, files, graphs, parts []entry
	sets := map[tensor.ShardName]int{}
	for _, e := range list {
		name := e.Name()
		switch {
		case e.IsDir(), IsZeRO(name) && !NamesZeRO(fsys, name):
		case graphByExt(name) != nil, IsZeRO(name), NamesBundle(fsys, name):
			graphs = append(graphs, entry{name: name})
		case isPartOfZeRO(name):
			parts = append(parts, entry{name: name})
		case byIndex(name) != nil:
			indexes = append(indexes, entry{name: name})
		case byExt(name) == nil:
		default:
			set, ok := tensor.ParseShardName(name)
			if f := byExt(name); !ok || f.shards == nil || f.isShard != nil && !f.isShard(name) {
				files = append(files, entry{name: name})
				continue
			}
			set.Number = 0
			if _, ok := sets[set]; !ok {
				sets[set] = len(files)
				files = append(files, entry{name: name})
			}
			first := &files[sets[set]]
			first.shards = append(first.shards, name)
		}
	}
	return inOrder(append(indexes, files...), parts, graphs), nil
}

// inOrder lists the entries of a folder: the parts of a checkpoint of ZeRO are one, if nothing else holds
// weights.
func inOrder(weights, parts, graphs []entry) []entry {
	switch {
	case len(weights) > 0:
		return append(weights, parts...)
	case slices.ContainsFunc(parts, func(e entry) bool { return isOptimizerOfZeRO(e.name) }):
		return []entry{{name: parts[0].name, shards: namesOf(parts)}}
	case len(parts) > 0:
		return parts
	}
	if i := slices.IndexFunc(graphs, func(e entry) bool { return IsBundleState(e.name) }); i >= 0 { // it names one of them
		state := graphs[i]
		return append(slices.DeleteFunc(graphs, func(e entry) bool { return IsBundle(e.name) || IsBundleState(e.name) }), state)
	}
	return graphs
}

// namesOf lists the files of entries.
func namesOf(all []entry) (list []string) {
	for _, e := range all {
		list = append(list, e.name)
	}
	return list
}

// byIndex returns the format whose shards an index of this name lists.
func byIndex(name string) *kind {
	if IsDCP(name) {
		return graphByExt(dcp.Suffix)
	}
	if IsZeRO(name) {
		return kindOf(zeroFormat)
	}
	kind, ok := tensor.ParseIndexName(name)
	if !ok {
		return nil
	}
	if f := byExt("." + kind); f != nil && f.index != nil {
		return f
	}
	return nil
}
