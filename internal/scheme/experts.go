package scheme

import (
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// FusedExperts are the parameters and the layers that they are made of.
var FusedExperts = []struct {
	Name   string
	Layers []string
}{
	{"gate_up_proj", []string{"gate_proj", "up_proj"}},
	{"down_proj", []string{"down_proj"}},
}

// Adopt moves the parts of one weight to another.
func (s *Set) Adopt(w, part *Weight) (err error) {
	for _, lists := range [...][2]*[]tensor.Info{{&w.Parts, &part.Parts}, {&w.Extra, &part.Extra}} {
		for _, p := range *lists[1] {
			if *lists[0], err = limits.Append(s.Budget, *lists[0], p); err != nil {
				return err
			}
		}
	}
	return nil
}
