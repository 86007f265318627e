package gate

import (
	"io"
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

// leavesOutIndex reports whether a file is a part of a distributed checkpoint whose description is
// left out of the judgement: then nothing would judge the part.
func (g *Gate) leavesOutIndex(name string) bool {
	return dcp.IsShard(name) && g.Exclude != nil && g.Exclude(path.Join(path.Dir(name), dcp.Index))
}

// judgePartOfDCP judges a file with parts of a distributed checkpoint: the file that describes the
// checkpoint says what it is, and is judged with all of its bytes.
func judgePartOfDCP(_ *limits.Budget, o *opened) (report, error) {
	out := report{format: dcp.Format, err: o.s.policy.allowsFormat(dcp.Format)}
	switch {
	case out.err != nil:
	case o.s.hint.holdsData != nil && o.s.hint.holdsData(o.account):
		out = report{harmless: "a part of the distributed checkpoint beside it"}
	default:
		out.err = wire.At(dcp.Format, "", wire.NoOffset, wire.ErrUnsupported.WithRule("file.alone").Errorf("a part of a distributed checkpoint: judge its folder, whose %s says what is in it", dcp.Index))
	}
	return out, nil
}
