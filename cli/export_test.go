package cli

import (
	"io"
	"os"
	"runtime"

	"github.com/anamnesis-go/anamnesis/cli/internal/policies"
	"github.com/anamnesis-go/anamnesis/cli/internal/serve"
	"github.com/anamnesis-go/anamnesis/cli/internal/targets"
	"github.com/anamnesis-go/anamnesis/cli/internal/write"
	"github.com/anamnesis-go/anamnesis/gate"
	"github.com/anamnesis-go/anamnesis/gate/host"
	"github.com/anamnesis-go/anamnesis/limits"
)

// Misjudge gives the child of serve --isolate the bugs that its limits are for: it takes
// memory without end, computes without end, or writes, as the name of the file says.
func Misjudge() {
	check := serve.JudgeFile
	serve.JudgeFile = func(g *gate.Gate, b *limits.Budget, r io.ReaderAt, size int64, h gate.Hint) (*gate.Verdict, error) {
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
		return check(g, b, r, size, h)
	}
}

// InChildren makes a host judge in child processes, each of which asks for a turn at fixed
// intervals of steps. at is called wherever a child reads, writes, or has asked, before it gets an
// answer.
func InChildren(o *host.Options, steps int64, at func(class string, child *os.Process)) (undo func()) {
	f := &serve.Children{Sandbox: "auto"}
	o.Judge, o.JudgeFolder = f.JudgeInChild, f.JudgeFolderInChild
	wasSteps, wasAt := serve.EverySteps, serve.AtPoint
	serve.EverySteps, serve.AtPoint = steps, at
	return func() { serve.EverySteps, serve.AtPoint = wasSteps, wasAt }
}

// MixNames are the mixes that quantize writes.
var MixNames = targets.MixNames

// NotInOutput are the flags that change no byte of an output.
var NotInOutput = write.NotInOutput

// FlagsOf are the flags of a command itself, without --.
func FlagsOf(command string) (names []string) {
	for _, c := range program(new(policies.Globals)).Leaves(true) {
		if c.Name == command {
			for _, f := range c.Flags {
				names = append(names, f.Name)
			}
		}
	}
	return names
}

// ConvertTargets are the values of convert's --to, and QuantizeTargets those of quantize's, but
// for mixes.
func ConvertTargets() (names []string) {
	for _, t := range write.ConvertTargets {
		names = append(names, t.Names[0])
	}
	return names
}

func QuantizeTargets() []string { return append(targets.Names(), targets.ScaledNames()...) }
