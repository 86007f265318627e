package gate

import (
	"io"
	"io/fs"
	"path"

	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser"
	"github.com/anamnesis-go/anamnesis/parser/dcp"
)

// describesDCP reports whether a file describes a distributed checkpoint of PyTorch: by its name, and
// because it begins as the pickle that it then is. Other programs have files of that name too.
func describesDCP(name string, r io.ReaderAt) bool {
	var first [1]byte
	return parser.IsDCP(name) && wire.ReadFull(r, first[:], 0) == nil && first[0] == 0x80
}

// describes reports whether a file says which other files of a file system are one model with it.
func describes(files fs.FS, name string, r io.ReaderAt) bool {
	return isIndex(name) || describesDCP(name, r) || parser.NamesZeRO(files, name) || parser.NamesBundle(files, name)
}

// coversParts reports whether what is judged of a file that describes a model is said of all its other files, too: they are no
// models themselves.
func coversParts(name string) bool { return parser.IsDCP(name) || parser.IsBundle(name) }

// partOf returns the format of a model of which a file of a name is a part, and the name of the file that describes the
// model; "" for other names.
func partOf(name string) (format, described string) {
	if dcp.IsShard(name) {
		return dcp.Format, path.Join(path.Dir(name), dcp.Index)
	}
	if index := parser.BundleOf(name); index != "" {
		return parser.Bundle, index
	}
	return "", ""
}

// isPart reports whether a name is that of a part of a model.
func isPart(name string) bool {
	format, _ := partOf(name)
	return format != ""
}

// leavesOutIndex reports whether a file is a part of a model whose description is left out of the
// judgement: then nothing would judge the part.
func (g *Gate) leavesOutIndex(name string) bool {
	format, described := partOf(name)
	return format != "" && g.Exclude != nil && g.Exclude(described)
}

// judgePart judges a file with parts of a model: the file that describes the model says what it is, and
// is judged with all of its bytes.
func judgePart(_ *limits.Budget, o *opened) (report, error) {
	format := o.as.Kind
	out := report{format: format, err: o.s.policy.allowsFormat(format)}
	switch {
	case out.err != nil:
	case isPart(o.s.hint.Name) && o.s.hint.holdsData != nil && o.s.hint.holdsData(o.account):
		out = report{harmless: "a part of the " + map[string]string{dcp.Format: "distributed checkpoint", parser.Bundle: "checkpoint of TensorFlow"}[format] + " beside it"}
	default:
		out.err = wire.At(format, "", wire.NoOffset, wire.ErrUnsupported.WithRule("file.alone").Errorf("%s", aloneParts[format]))
	}
	return out, nil
}

var aloneParts = map[string]string{
	dcp.Format:    "a part of a distributed checkpoint: judge its folder, whose " + dcp.Index + " says what is in it",
	parser.Bundle: "a part of a checkpoint of TensorFlow: judge its folder, whose file *.index says what is in it",
}
