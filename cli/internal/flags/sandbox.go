package flags

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/anamnesis-go/anamnesis/cli/internal/fault"
	"github.com/anamnesis-go/anamnesis/cli/internal/run"
	"github.com/anamnesis-go/anamnesis/internal/sandbox"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/parser/ollama"
)

// SandboxFlags control which privileges the program drops before it reads a file.
type SandboxFlags struct {
	Sandbox string `enum:"auto,on,off" default:"auto" help:"Drop privileges before the first byte of a file is read (Linux: Landlock, seccomp). auto uses what the system supports (amn version lists what is missing), and nothing for an address; on fails if anything is missing, off does nothing."`
}

// Lock drops all privileges but those in n. A command that was given an address keeps them:
// it connects while it reads.
func (f *SandboxFlags) Lock(s *run.Run, n sandbox.Needs, paths ...string) error {
	switch address := slices.IndexFunc(paths, s.IsRemote); {
	case f.Sandbox == "off":
		return nil
	case !s.OwnProcess && f.Sandbox == "on":
		return fault.Usage("--sandbox on: not possible inside another program")
	case address >= 0 && f.Sandbox == "on":
		return fault.Usage("--sandbox on: " + wire.Quote(paths[address]) + " is read over connections, which a locked program cannot open: fetch the files first, or leave the flag out")
	case address >= 0, !s.OwnProcess:
		return nil
	}
	missing, err := sandbox.Lock(n)
	if err != nil {
		return err
	}
	return f.without(missing)
}

// CanLock fails if Lock would fail in a child of this process, because the system lacks a part.
func (f *SandboxFlags) CanLock() error {
	if f.Sandbox != "on" {
		return nil
	}
	return f.without(sandbox.Missing())
}

// without is the error about what the system lacks, if nothing may be missing.
func (f *SandboxFlags) without(missing []string) error {
	if f.Sandbox != "on" || len(missing) == 0 {
		return nil
	}
	return fault.Usage("--sandbox on: the system lacks " + strings.Join(missing, ", ") + ": nothing was read; --sandbox auto continues without it")
}

// SandboxText describes the sandbox of this system.
func SandboxText() string {
	if missing := sandbox.Missing(); len(missing) > 0 {
		return "without " + strings.Join(missing, ", ")
	}
	return "Landlock, seccomp"
}

// maxRules bounds how many files get a Landlock rule each. If there are more, their folders get one.
const maxRules = 256

// PathsToRead returns which paths a command opens, given its arguments. With beside, these include
// files next to them: shards, configuration.
func PathsToRead(paths []string, beside bool) (n sandbox.Needs) {
	for _, p := range paths {
		path := p
		info, err := os.Stat(path)
		switch {
		case path == "-":
			n.Write = append(n.Write, os.TempDir())
			continue
		case err != nil && strings.Contains(path, ":"):
			n.Read = append(n.Read, ollama.Folders()...)
			continue
		case err != nil:
			continue
		}
		_, index := strings.CutSuffix(path, ".json")
		if !info.IsDir() && (beside || index || len(paths) > maxRules) {
			path = filepath.Dir(path)
		}
		n.Read = append(n.Read, path)
		if real, err := filepath.EvalSymlinks(p); err == nil {
			n.Read = append(n.Read, real, hubModel(real))
		}
		if whole, err := filepath.Abs(path); err == nil {
			n.Read = append(n.Read, hubModel(whole))
		}
	}
	slices.Sort(n.Read)
	n.Read = slices.DeleteFunc(slices.Compact(n.Read), func(s string) bool { return s == "" })
	return n
}

// hubModel returns the model's folder in a cache of the Hugging Face hub, in which snapshots
// link to blobs; "" for other paths.
func hubModel(path string) string {
	for at := path; at != filepath.Dir(at); at = filepath.Dir(at) {
		if strings.HasPrefix(filepath.Base(at), "models--") {
			return at
		}
	}
	return ""
}
