package safetensors

import (
	"io/fs"
	"iter"
	"path"

	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// A Sharded is several safetensors files read as one model.
type Sharded struct {
	tensor.Sharded
	aliases []Entry
}

// Aliases lists the names of tied tensors that were left out, each with the stored tensor
// that it means. They are found in the index and in the shards.
func (s *Sharded) Aliases() iter.Seq2[string, string] { return pairs(s.aliases) }

// OpenIndex opens the model that an index describes. Its shards lie in the
// index's own folder of fsys.
func OpenIndex(b *limits.Budget, fsys fs.FS, name string) (tensor.Model, error) {
	x, err := tensor.ReadIndex(b, fsys, name, Format)
	if err != nil {
		return nil, err
	}
	s, names, err := openSet(b, fsys, path.Dir(name), x.Files)
	if err != nil {
		return nil, err
	}
	err = s.CheckIndex(b, x, names)
	if err == nil {
		err = s.findAliases(b, x.Meta, names)
	}
	if err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}

// OpenSharded opens the files of one set without an index, such as
// model-00001-of-00002.safetensors, in any order. They lie in one folder of
// fsys, and none may be missing.
func OpenSharded(b *limits.Budget, fsys fs.FS, files []string) (tensor.Model, error) {
	sorted, err := tensor.SortShards(Format, files)
	if err != nil {
		return nil, err
	}
	folder := path.Dir(sorted[0])
	for i, name := range sorted {
		if path.Dir(name) != folder {
			return nil, wire.At(Format, "", wire.NoOffset, wire.ErrUsage.Errorf("shards of two folders"))
		}
		sorted[i] = path.Base(name)
	}
	s, names, err := openSet(b, fsys, folder, sorted)
	if err != nil {
		return nil, err
	}
	if err := s.findAliases(b, nil, names); err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}

func openSet(b *limits.Budget, fsys fs.FS, folder string, files []string) (*Sharded, *tensor.SetNames, error) {
	set, names, err := tensor.OpenShards(b, fsys, folder, files, Format, openShard)
	if err != nil {
		return nil, nil, err
	}
	return &Sharded{Sharded: tensor.Sharded{Parts: set.Parts, Files: set.Files, Found: set.Found, Folder: set.Folder}}, names, nil
}

// openShard decodes one file of a set. The set resolves the aliases, which may mean a
// tensor of another file.
func openShard(b *limits.Budget, h *tensor.Handle) (tensor.Model, error) {
	f, err := decode(b, h, h.Size, true)
	if err != nil {
		return nil, err
	}
	f.Closer = h
	return f, nil
}

// findAliases finds the aliases of the set, in the metadata of the index and of every
// shard.
func (s *Sharded) findAliases(b *limits.Budget, meta []tensor.Pair, names *tensor.SetNames) error {
	n := len(meta)
	for _, p := range s.Parts {
		n += len(p.(*File).header.meta)
	}
	all, err := limits.Make[Entry](b, n)
	if err != nil {
		return wire.At(Format, metadataKey, wire.NoOffset, err)
	}
	all = all[:0]
	all = append(all, meta...)
	for _, p := range s.Parts {
		all = append(all, p.(*File).header.meta...)
	}
	s.aliases, err = findAliases(b, &s.Found, all, func(yield func(string) bool) {
		for _, name := range names.List {
			if !yield(name) {
				return
			}
		}
	})
	return wire.At(Format, metadataKey, wire.NoOffset, err)
}
