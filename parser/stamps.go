package parser

import (
	"io/fs"

	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// Stamps calls add for every open file of a model from Open, OpenFS or a Source, with an identity
// of its content: the one of its source (see [tensor.Named]), or else the one that of returns for
// the opened file. The stamp is "" for a file of which nothing is known.
func Stamps(m tensor.Model, of func(fs.FileInfo) string, add func(name, stamp string)) {
	eachOpen(m, func(o *openFile, now fs.FileInfo, err error) {
		text := ""
		if n, ok := o.File.(tensor.Named); ok {
			text = n.ContentName()
		} else if err == nil {
			text = of(o.info)
		}
		add(o.info.Name(), text)
	})
}

// VerifyStated compares each open file of a model whose source states a digest with it, and
// reads what has not been read for that. [Unchanged] does so with files that were read whole.
func VerifyStated(b *limits.Budget, m tensor.Model) error {
	return verifyStated(b, m, func(tensor.Stated) bool { return true })
}
