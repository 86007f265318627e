package parser

import (
	"io"
	"path"
	"strings"

	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// Bundle is the name of the format of checkpoints of TensorFlow.
const Bundle = "tfbundle"

// IsBundle reports whether a name can be that of the file which lists the tensors of a checkpoint of TensorFlow. Other programs
// have files of such names too: see [NamesBundle].
func IsBundle(name string) bool { return strings.HasSuffix(name, ".index") }

// IsBundleState reports whether a name is that of the text which names the newest checkpoint of TensorFlow.
func IsBundleState(name string) bool { return path.Base(name) == "checkpoint" }

// partOfBundle refuses what only the files of a folder explain.
func partOfBundle(*limits.Budget, io.ReaderAt, *Identity) (tensor.Model, error) {
	return nil, aloneOfBundle()
}

func aloneOfBundle() error {
	return wire.At(Bundle, "", wire.NoOffset, wire.ErrUnsupported.WithRule("file.alone").Errorf("a part of a checkpoint of TensorFlow: its index and its data are files beside each other, opened by the path of the index or the folder"))
}

// isBundleIndex looks for the last bytes of a table of LevelDB, and for its first: an entry without a name.
func isBundleIndex(h *head) bool {
	const magic, footer = "\x57\xfb\x80\x8b\x24\x75\x47\xdb", 48
	if h.size < footer || h.r == nil || len(h.p) < footer || h.p[0] != 0 {
		return false
	}
	var end [len(magic)]byte
	return wire.ReadFull(h.r, end[:], h.size-int64(len(end))) == nil && string(end[:]) == magic
}
