package cli

import (
	"cmp"
	"context"
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/anamnesis-go/anamnesis/asm"
	"github.com/anamnesis-go/anamnesis/cli/internal/jsonout"
	"github.com/anamnesis-go/anamnesis/internal/sandbox"
)

// versionCmd prints the version.
type versionCmd struct{}

func (versionCmd) Examples() []example {
	return []example{{"amn version", "Version, commit, Go, platform, the level of the kernels, and what the sandbox has here."}}
}

// A build describes the binary.
type build struct {
	version, commit string
	modified        bool
}

// buildOf returns what is known of a binary. linked is the version that its linker has set, if it
// has; else the version of the module counts.
func buildOf(linked string, info *debug.BuildInfo, ok bool) build {
	b := build{version: cmp.Or(linked, "(devel)")}
	if !ok {
		return b
	}
	if linked == "" && info.Main.Version != "" {
		b.version = info.Main.Version
	}
	for _, set := range info.Settings {
		switch set.Key {
		case "vcs.revision":
			b.commit = set.Value
		case "vcs.modified":
			b.modified = set.Value == "true"
		}
	}
	return b
}

// build describes this binary.
func (s *session) build() build {
	info, ok := debug.ReadBuildInfo()
	return buildOf(s.linked, info, ok)
}

// Run implements the command.
func (versionCmd) Run(_ context.Context, s *session) error {
	b := s.build()
	platform := runtime.GOOS + "/" + runtime.GOARCH
	if s.json {
		jsonout.Write(s.out.Writer, func(o *jsonout.Object) {
			o.Field("schema", "amn.version/1")
			o.Field("version", b.version)
			o.Field("commit", b.commit)
			o.Field("modified", b.modified)
			o.Field("go", runtime.Version())
			o.Field("platform", platform)
			o.Field("kernels", asm.Best().Level().String())
			o.Field("sandbox_lacks", append([]string{}, sandbox.Missing()...))
		})
		return s.out.WriteByte('\n')
	}
	s.out.Line("amn %s", b.version)
	if b.commit != "" {
		state := ""
		if b.modified {
			state = ", with changes"
		}
		s.out.Fact("", "Commit", b.commit[:min(12, len(b.commit))]+state)
	}
	s.out.Fact("", "Built with", fmt.Sprintf("%s for %s", runtime.Version(), platform))
	s.out.Fact("", "Kernels", asm.Best().Level().String())
	s.out.Fact("", "Sandbox", sandboxText())
	return nil
}
