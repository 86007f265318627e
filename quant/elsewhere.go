package quant

import (
	"errors"
	"io/fs"
	"strings"

	"github.com/anamnesis-go/anamnesis/internal/config"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// elsewhere refuses a tensor whose scale is in another file. If only one shard of a model
// is given, its codes would otherwise be taken for numbers.
func (s *set) elsewhere(info *tensor.Info) error {
	for _, n := range fp8Scales {
		stem, ok := suffix(info, n.weight)
		if !ok {
			continue
		}
		place, err := s.otherFile(info, stem+n.scale)
		if err != nil {
			return err
		}
		if place != "" {
			return wire.ErrUnsupported.Errorf("its scale %s is in %s", wire.Quote(stem+n.scale), place)
		}
	}
	if err := s.readOthers(); err != nil {
		return err
	}
	if p, ok := s.m.(tensor.Piece); ok && p.Pieces() > 1 && !s.indexed {
		return wire.ErrUnsupported.Errorf("this is one of %d files, and without an index its scale may be in another: name the folder with all of them", p.Pieces())
	}
	return nil
}

// scaledOtherwise refuses a tensor without an FP8 scale that has companions of another
// scheme.
func (s *set) scaledOtherwise(info *tensor.Info) error {
	for _, row := range s.rows.rows {
		for _, m := range row.mains {
			stem, ok := suffix(info, m.codes)
			if !ok {
				continue
			}
			for _, part := range m.parts {
				if err := s.b.Step(1); err != nil {
					return err
				}
				if beside, ok := s.find(stem + part); ok && part != ".comfy_quant" { // .comfy_quant also describes tensors that are cast
					return wire.ErrUnsupported.Errorf("%s %s without a scale of FP8, and %s beside it is a part of %s",
						info.TypeName(), wire.Quote(info.Name), wire.Quote(beside.Name), row.name)
				}
			}
		}
	}
	return nil
}

// otherFile returns where a companion of a tensor is, if not in this file, and what to
// do: a shard, according to an index beside the file, or another file of the folder that
// has the companion but not the tensor. A file that has both is another model.
func (s *set) otherFile(info *tensor.Info, name string) (place string, err error) {
	if err := s.readOthers(); err != nil {
		return "", err
	}
	if file, ok := s.others[name]; ok {
		return "another shard, " + wire.Quote(file) + ": name the model's index or its folder", nil
	}
	for _, o := range s.beside {
		if err := s.b.Step(1); err != nil {
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
func (s *set) readOthers() error {
	if s.others == nil {
		s.others = map[string]string{}
		s.lost = s.readIndexes()
		if s.lost == nil && !s.indexed {
			s.lost = s.readSiblings()
		}
	}
	return s.lost
}

func (s *set) readSiblings() error {
	n, ok := s.m.(tensor.Neighbor)
	if !ok {
		return nil
	}
	return n.Others(s.b, func(file string, m tensor.Model) error {
		o := sibling{file, map[string]bool{}}
		for i := range m.Tensors() {
			if err := s.b.Hold(config.NodeCost + int64(len(i.Name))); err != nil {
				return err
			}
			o.names[strings.Clone(i.Name)] = true
		}
		var err error
		s.beside, err = limits.Append(s.b, s.beside, o)
		return err
	})
}

// readIndexes lists the tensors that an index beside the file places in other files.
func (s *set) readIndexes() error {
	files := s.m.Configs()
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
		x, err := tensor.ReadIndex(s.b, files, e.Name(), s.m.Format())
		if err != nil {
			return err
		}
		for _, t := range x.Entries {
			if err := s.b.Step(1); err != nil {
				return err
			}
			if _, here := s.names.Find(t.Tensor); here {
				s.indexed = true
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
