// Sources prints the digests of the sources by which files are judged, for a build:
//
//	go build -ldflags "-X 'main.sources=$(go run ./internal/sources)'" ./cmd/amn-hub
//
// One digest is of each package of the module that the gate is made of, and one of all else: what
// other modules they are built from, and the version of Go.
package main

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
)

// module is what packages of the gate begin with.
const module = "github.com/anamnesis-go/anamnesis"

func main() {
	text, err := Sources(".")
	if err != nil {
		fmt.Fprintln(os.Stderr, "sources:", err)
		os.Exit(1)
	}
	fmt.Println(text)
}

// A listed package is what go list says of it.
type listed struct {
	ImportPath, Dir                   string
	GoFiles, CgoFiles, SFiles, HFiles []string
	EmbedFiles                        []string
	Standard                          bool
	Module                            *struct{ Path, Version, Sum string }
}

// Sources lists the packages that gate needs, seen from a folder, with their digests.
func Sources(dir string) (string, error) {
	cmd := exec.Command("go", "list", "-deps", "-json", module+"/gate")
	cmd.Dir, cmd.Stderr = dir, os.Stderr
	text, err := cmd.Output()
	if err != nil {
		return "", err
	}
	others := []string{runtime.Version(), runtime.GOARCH}
	var out []string
	for d := json.NewDecoder(strings.NewReader(string(text))); ; {
		var p listed
		if err := d.Decode(&p); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return "", err
		}
		name, ours := strings.CutPrefix(p.ImportPath, module+"/")
		switch {
		case p.Standard:
		case !ours && p.Module != nil:
			others = append(others, p.ImportPath+" "+p.Module.Version+" "+p.Module.Sum)
		default:
			sum, err := digest(p)
			if err != nil {
				return "", err
			}
			out = append(out, name+"="+sum)
		}
	}
	if len(out) < 10 {
		return "", fmt.Errorf("only %d packages", len(out))
	}
	h := sha256.Sum256([]byte(strings.Join(others, "\n")))
	out = append(out, "others="+hex.EncodeToString(h[:16]))
	slices.Sort(out)
	return strings.Join(out, " "), nil
}

func digest(p listed) (string, error) {
	h := sha256.New()
	for _, name := range slices.Concat(p.GoFiles, p.CgoFiles, p.SFiles, p.HFiles, p.EmbedFiles) {
		data, err := os.ReadFile(filepath.Join(p.Dir, name))
		if err != nil {
			return "", err
		}
		fmt.Fprintf(h, "%q %d ", name, len(data))
		h.Write(data)
	}
	return hex.EncodeToString(h.Sum(nil)[:16]), nil
}
