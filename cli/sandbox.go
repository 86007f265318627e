package cli

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/anamnesis-go/anamnesis/internal/sandbox"
	"github.com/anamnesis-go/anamnesis/parser/ollama"
)

// sandboxFlags say what is taken from the program before it reads a file.
type sandboxFlags struct {
	Sandbox string `enum:"auto,on,off" default:"auto" help:"Drop privileges before the first byte of a file is read (Linux: Landlock, seccomp). auto uses what the system supports (amn version lists what is missing), on fails if anything is missing, off does nothing."`
}

// lock gives it up for good.
func (f *sandboxFlags) lock(s *session, n sandbox.Needs) error {
	switch {
	case f.Sandbox == "off":
		return nil
	case !s.ownProcess && f.Sandbox == "on":
		return usage{"--sandbox on: this runs inside of another program"}
	case !s.ownProcess:
		return nil
	}
	missing, err := sandbox.Lock(n)
	switch {
	case err != nil:
		return err
	case len(missing) == 0:
	case f.Sandbox == "on":
		return usage{"--sandbox on: the system lacks " + strings.Join(missing, ", ")}
	}
	return nil
}

// sandboxed says in one line what a lock would be.
func sandboxed() string {
	if missing := sandbox.Missing(); len(missing) > 0 {
		return "without " + strings.Join(missing, ", ")
	}
	return "Landlock, seccomp"
}

// maxRules bounds how many files get a rule of their own; of more, their folders.
const maxRules = 256

// readsOf is what is opened of the paths that a command is given. With beside, that
// is what lies beside a file too: shards, configuration.
func readsOf(paths []string, beside bool) (n sandbox.Needs) {
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

// hubModel is the folder of the model in a cache of the Hugging Face hub, whose
// snapshots link to its blobs; "" for any other path.
func hubModel(path string) string {
	for at := path; at != filepath.Dir(at); at = filepath.Dir(at) {
		if strings.HasPrefix(filepath.Base(at), "models--") {
			return at
		}
	}
	return ""
}
