package quant

import (
	"errors"
	"io/fs"

	"github.com/anamnesis-go/anamnesis/internal/config"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// elsewhere refuses a tensor whose scale lies in another shard: an index beside
// the file says so. Who names one shard of a model alone would have the codes
// taken for numbers.
func (s *set) elsewhere(info *tensor.Info) error {
	if err := s.readIndexes(); err != nil {
		return err
	}
	for _, n := range fp8Scales {
		stem, ok := suffix(info, n.weight)
		if !ok {
			continue
		}
		if file, ok := s.others[stem+n.scale]; ok {
			return wire.ErrUnsupported.With("its scale %s is in another shard, %s: name the model's index or its folder", wire.Quote(stem+n.scale), wire.Quote(file))
		}
	}
	if p, ok := s.m.(tensor.Piece); ok && p.Pieces() > 1 && !s.indexed {
		return wire.ErrUnsupported.With("one of %d files, and no index beside it says whether its scale is in another: name the folder with all of them", p.Pieces())
	}
	return nil
}

// otherFile is the shard that a tensor is in, by an index beside the file.
func (s *set) otherFile(name string) (file string, ok bool, err error) {
	if err := s.readIndexes(); err != nil {
		return "", false, err
	}
	file, ok = s.others[name]
	return file, ok, nil
}

// readIndexes lists the tensors that the indexes beside a file place, and that it
// does not have.
func (s *set) readIndexes() error {
	if s.others != nil {
		return nil
	}
	s.others = map[string]string{}
	files := s.m.Configs()
	if files == nil {
		return nil
	}
	list, err := fs.ReadDir(files, ".")
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrInvalid) {
		return nil // no folder that can be listed
	}
	if err != nil {
		return err
	}
	for _, e := range list {
		if _, ok := tensor.ParseIndexName(e.Name()); !ok {
			continue
		}
		x, err := tensor.ReadIndex(s.b, files, e.Name(), s.m.Format())
		if err != nil {
			return err
		}
		s.indexed = true
		for _, t := range x.Entries {
			if err := s.b.Step(1); err != nil {
				return err
			}
			if _, here := s.names.Find(t.Tensor); here {
				continue
			}
			if err := s.b.Hold(config.NodeCost); err != nil {
				return err
			}
			s.others[t.Tensor] = x.Files[t.File]
		}
	}
	return nil
}
