package cli

import (
	"io"
	"runtime"

	"github.com/anamnesis-go/anamnesis/gate"
	"github.com/anamnesis-go/anamnesis/limits"
)

// Misjudge gives the child of serve --isolate the bugs that its limits are for: it takes
// memory without end, computes without end, or writes, as the name of the file says.
func Misjudge() {
	check := judgeOne
	judgeOne = func(g *gate.Gate, b *limits.Budget, r io.ReaderAt, size int64, h gate.Hint) (*gate.Verdict, error) {
		switch h.Name {
		case "memory.pt":
			for kept := []byte{1}; ; {
				kept = append(kept, kept...) // twice as much, and all of it written
				runtime.KeepAlive(kept)
			}
		case "time.pt":
			for n := 0; ; n++ {
				if n < 0 {
					return nil, nil
				}
			}
		case "write.pt":
			if _, err := r.(io.WriterAt).WriteAt([]byte("x"), 0); err != nil {
				return nil, err
			}
			panic("a child wrote")
		}
		return check(g, b, r, size, h)
	}
}

// MixNames are the mixes that quantize writes.
var MixNames = mixNames
