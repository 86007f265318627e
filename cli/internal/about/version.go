package about

import (
	"context"
	"fmt"
	"runtime"

	"github.com/anamnesis-go/anamnesis/asm"
	"github.com/anamnesis-go/anamnesis/cli/internal/flags"
	"github.com/anamnesis-go/anamnesis/cli/internal/jsonout"
	"github.com/anamnesis-go/anamnesis/cli/internal/run"
	"github.com/anamnesis-go/anamnesis/internal/sandbox"
)

// Version prints the version.
type Version struct{}

func (Version) Examples() []run.Example {
	return []run.Example{{Command: "amn version", What: "Version, commit, Go, platform, the level of the kernels, and what the sandbox has here."}}
}

// Run implements the command.
func (Version) Run(_ context.Context, s *run.Run) error {
	b := s.Build()
	platform := runtime.GOOS + "/" + runtime.GOARCH
	if s.JSON {
		jsonout.Write(s.Out.Writer, func(o *jsonout.Object) {
			o.Field("schema", "amn.version/1")
			o.Field("version", b.Version)
			o.Field("commit", b.Commit)
			o.Field("modified", b.Modified)
			o.Field("go", runtime.Version())
			o.Field("platform", platform)
			o.Field("kernels", asm.Best().Level().String())
			o.Field("sandbox_lacks", append([]string{}, sandbox.Missing()...))
		})
		return s.Out.WriteByte('\n')
	}
	s.Out.Line("amn %s", b.Version)
	if b.Commit != "" {
		state := ""
		if b.Modified {
			state = ", with changes"
		}
		s.Out.Fact("", "Commit", b.Commit[:min(12, len(b.Commit))]+state)
	}
	s.Out.Fact("", "Built with", fmt.Sprintf("%s for %s", runtime.Version(), platform))
	s.Out.Fact("", "Kernels", asm.Best().Level().String())
	s.Out.Fact("", "Sandbox", flags.SandboxText())
	return nil
}
