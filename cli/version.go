package cli

import (
	"cmp"
	"context"
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/anamnesis-go/anamnesis/asm"
	"github.com/anamnesis-go/anamnesis/internal/sandbox"
)

// versionCmd prints the version.
type versionCmd struct{}

func (versionCmd) examples() []example {
	return []example{{"amn version", "Version, commit, Go, platform, the level of the kernels, and what the sandbox has here."}}
}

// version is set by the linker (-X); if it is empty, the version of the module counts.
var version string

// A build describes the binary.
type build struct {
	version, commit string
	modified        bool
}

func buildOf(info *debug.BuildInfo, ok bool) build {
	b := build{version: cmp.Or(version, "(devel)")}
	if !ok {
		return b
	}
	if version == "" && info.Main.Version != "" {
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

// Run implements the command.
func (versionCmd) Run(_ context.Context, s *session) error {
	b := buildOf(debug.ReadBuildInfo())
	platform := runtime.GOOS + "/" + runtime.GOARCH
	if s.json {
		object(s.out.Writer, func(o *jsonObject) {
			o.field("schema", "amn.version/1")
			o.field("version", b.version)
			o.field("commit", b.commit)
			o.field("modified", b.modified)
			o.field("go", runtime.Version())
			o.field("platform", platform)
			o.field("kernels", asm.Best().Level().String())
			o.field("sandbox_lacks", append([]string{}, sandbox.Missing()...))
		})
		return s.out.WriteByte('\n')
	}
	s.out.line("amn %s", b.version)
	if b.commit != "" {
		state := ""
		if b.modified {
			state = ", with changes"
		}
		s.out.fact("", "Commit", b.commit[:min(12, len(b.commit))]+state)
	}
	s.out.fact("", "Built with", fmt.Sprintf("%s for %s", runtime.Version(), platform))
	s.out.fact("", "Kernels", asm.Best().Level().String())
	s.out.fact("", "Sandbox", sandboxText())
	return nil
}
