package run

import (
	"cmp"
	"runtime/debug"
)

// A Build describes the binary.
type Build struct {
	Version, Commit string
	Modified        bool
}

// BuildOf describes a binary. linked is the version that the linker has set, or "", which means the
// version of the module.
func BuildOf(linked string, info *debug.BuildInfo, ok bool) Build {
	b := Build{Version: cmp.Or(linked, "(devel)")}
	if !ok {
		return b
	}
	if linked == "" && info.Main.Version != "" {
		b.Version = info.Main.Version
	}
	for _, set := range info.Settings {
		switch set.Key {
		case "vcs.revision":
			b.Commit = set.Value
		case "vcs.modified":
			b.Modified = set.Value == "true"
		}
	}
	return b
}

// Build describes this binary.
func (s *Run) Build() Build {
	info, ok := debug.ReadBuildInfo()
	return BuildOf(s.Linked, info, ok)
}
