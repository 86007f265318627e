package scheme

import (
	"errors"
	"io/fs"
	"strings"

	"github.com/anamnesis-go/anamnesis/internal/config"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// Apart refuses a tensor of one of several files whose companions may be in another: no
// index says what the others hold.
func (s *Set) Apart() error {
	if err := s.readOthers(); err != nil {
		return err
	}
	if p, ok := s.Model.(tensor.Piece); ok && p.Pieces() > 1 && !s.indexed {
		return wire.ErrUnsupported.Errorf("this is one of %d files, and without an index its scale may be in another: name the folder with all of them", p.Pieces())
	}
	return nil
}

// OtherFile returns where a companion of a tensor is, if not in this file, and what to
// do: a shard, according to an index beside the file, or another file of the folder that
// has the companion but not the tensor. A file that has both is another model.
func (s *Set) OtherFile(info *tensor.Info, name string) (place string, err error) {
	if err := s.readOthers(); err != nil {
		return "", err
	}
	if file, ok := s.others[name]; ok {
		return "another shard, " + wire.Quote(file) + ": name the model's index or its folder", nil
	}
	for _, o := range s.beside {
		if err := s.Budget.Step(1); err != nil {
			return "", err
		}
		if o.names[name] && !o.names[info.Name] {
			return wire.Quote(o.file) + " beside this file, and no index says whether the two are one model: " +
				"write one, or take the file out of the folder if it belongs to another model", nil
		}
	}
	return "", nil
}

// A sibling is a file beside the model's, of the same format.
type sibling struct {
	file  string
	names map[string]bool
}

// readOthers lists the tensors that are in other files: those that an index beside this
// file places, or, if no index lists this file, those of the files beside it.
func (s *Set) readOthers() error {
	if s.others == nil {
		s.others = map[string]string{}
		s.lost = s.readIndexes()
		if s.lost == nil && !s.indexed {
			s.lost = s.readSiblings()
		}
	}
	return s.lost
}

func (s *Set) readSiblings() error {
	n, ok := s.Model.(tensor.Neighbor)
	if !ok {
		return nil
	}
	return n.Others(s.Budget, func(file string, m tensor.Model) error {
		o := sibling{file, map[string]bool{}}
		for i := range m.Tensors() {
			if err := s.Budget.Hold(config.NodeCost + int64(len(i.Name))); err != nil {
				return err
			}
			o.names[strings.Clone(i.Name)] = true
		}
		var err error
		s.beside, err = limits.Append(s.Budget, s.beside, o)
		return err
	})
}

// readIndexes lists the tensors that an index beside the file places in other files.
func (s *Set) readIndexes() error {
	files := s.Model.Configs()
	if files == nil {
		return nil
	}
	list, err := fs.ReadDir(files, ".")
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrInvalid) {
		return nil // the folder cannot be listed
	}
	if err != nil {
		return err
	}
	for _, e := range list {
		if _, ok := tensor.ParseIndexName(e.Name()); !ok {
			continue
		}
		x, err := tensor.ReadIndex(s.Budget, files, e.Name(), s.Model.Format())
		if err != nil {
			return err
		}
		for _, t := range x.Entries {
			if err := s.Budget.Step(1); err != nil {
				return err
			}
			if _, here := s.Names.Find(t.Tensor); here {
				s.indexed = true
				continue
			}
			if err := s.Budget.Hold(config.NodeCost); err != nil {
				return err
			}
			s.others[t.Tensor] = x.Files[t.File]
		}
	}
	return nil
}
