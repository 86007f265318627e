package parser

import (
	"io/fs"

	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// VerifySource compares the open files of a model with the digests that their source states,
// such as a registry. The parts that have not been read are read now.
func VerifySource(b *limits.Budget, m tensor.Model) error {
	return verifyStated(b, m, func(tensor.Stated) bool { return true })
}

// SourceVerified reports whether no open file of a model has a stated digest that it was not
// compared with.
func SourceVerified(m tensor.Model) bool {
	open := stated(m)
	for _, s := range open {
		if !s.Verified() {
			return false
		}
	}
	return true
}

func verifyStated(b *limits.Budget, m tensor.Model, which func(tensor.Stated) bool) error {
	open := stated(m)
	for _, s := range open {
		if s.Verified() || !which(s) {
			continue
		}
		if err := s.Verify(b); err != nil {
			return wire.At(detection, "", wire.NoOffset, err)
		}
	}
	return nil
}

// stated lists the open files of a model that may have a stated digest.
func stated(m tensor.Model) []tensor.Stated {
	var list []tensor.Stated
	eachOpen(m, func(o *openFile, _ fs.FileInfo, _ error) {
		if s, ok := o.File.(tensor.Stated); ok {
			list = append(list, s)
		}
	})
	return list
}
