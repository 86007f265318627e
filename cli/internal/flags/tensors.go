package flags

import (
	"github.com/anamnesis-go/anamnesis/cli/internal/run"
	"github.com/anamnesis-go/anamnesis/parser/pth"
)

// TensorsFlag allows checkpoints whose pickles contain more than data.
type TensorsFlag struct {
	TensorsOnly bool `help:"Read the tensors of a checkpoint even if its pickle uses classes that are not allowed. Nothing is run; everything that is not understood is listed. amn scan still refuses such a file."`
}

// Grant applies the flag to the models that the command opens.
func (f *TensorsFlag) Grant(s *run.Run) {
	s.Policy.Strict = !f.TensorsOnly
	if f.TensorsOnly {
		s.Policy.Limits.Quirks = append(s.Policy.Limits.Quirks, pth.QuirkTensorsOnly)
	}
}
