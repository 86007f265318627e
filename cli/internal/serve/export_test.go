package serve

import (
	"io"
	"os"
	"runtime"

	"github.com/anamnesis-go/anamnesis/gate"
	"github.com/anamnesis-go/anamnesis/gate/host"
	"github.com/anamnesis-go/anamnesis/limits"
)

// Misjudge gives the child of serve --isolate the bugs that its limits are for: it takes
// memory without end, computes without end, or writes, as the name of the file says.
func Misjudge() {
	honest := check
	check = func(g *gate.Gate, b *limits.Budget, r io.ReaderAt, size int64, h gate.Hint) (*gate.Verdict, error) {
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
			if _, err := os.NewFile(3, "upload").WriteAt([]byte("x"), 0); err != nil {
				return nil, err
			}
			panic("a child wrote")
		}
		return honest(g, b, r, size, h)
	}
}

// InChildren makes a host judge in child processes, each of which asks for a turn at fixed
// intervals of steps. at is called wherever a child reads, writes, or has asked, before it gets an
// answer.
func InChildren(o *host.Options, steps int64, at func(class string, child *os.Process)) (undo func()) {
	f := &Children{Sandbox: "auto"}
	o.Judge, o.JudgeFolder = f.JudgeInChild, f.JudgeFolderInChild
	wasSteps, wasAt := everySteps, atPoint
	everySteps, atPoint = steps, at
	return func() { everySteps, atPoint = wasSteps, wasAt }
}
