// Command amn-corpus writes the recipes as files, drafts a recipe from a crash,
// and shows the bytes of one recipe.
package main

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/anamnesis-go/anamnesis/corpus"
	"github.com/anamnesis-go/anamnesis/internal/output"
)

const usage = `usage:
  amn-corpus write DIR          every recipe as a file, and DIR/manifest.json
  amn-corpus seeds DIR          an archive of files for each format, for fuzzers that know no F.Add
  amn-corpus recipe FILE        a draft of a recipe from a crash file or raw bytes
  amn-corpus show FORMAT/NAME   a hex dump of a recipe's file
`

func main() {
	if err := run(os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(args []string, out io.Writer) error {
	if len(args) != 2 {
		return errors.New(strings.TrimSpace(usage))
	}
	switch args[0] {
	case "write":
		return write(args[1])
	case "seeds":
		return seeds(args[1])
	case "recipe":
		return draft(args[1], out)
	case "show":
		return show(args[1], out)
	default:
		return errors.New(strings.TrimSpace(usage))
	}
}

// extensions of the formats that are not their own.
var extensions = map[string]string{"pickle": "pkl", "legacy": "pt", "strictjson": "json"}

// An entry is one line of the manifest. Offset is null where the error has no place.
type entry struct {
	Name   string          `json:"name"`
	Format string          `json:"format"`
	File   string          `json:"file"`
	Class  string          `json:"class"`
	Offset *int64          `json:"offset"`
	Axis   string          `json:"axis,omitempty"`
	Depth  string          `json:"depth"`
	Covers []string        `json:"covers,omitempty"`
	Policy json.RawMessage `json:"policy,omitempty"`
	Size   int             `json:"size"`
	SHA256 string          `json:"sha256"`
}

func write(dir string) error {
	var list []entry
	for _, format := range corpus.Formats() {
		if err := output.MkdirAll(filepath.Join(dir, format)); err != nil {
			return err
		}
		for _, r := range corpus.Hostile(format) {
			e, err := writeOne(dir, &r)
			if err != nil {
				return err
			}
			list = append(list, e)
		}
	}
	manifest, err := json.MarshalIndent(list, "", "  ")
	if err != nil {
		return err
	}
	return output.WriteFile(filepath.Join(dir, "manifest.json"), append(manifest, '\n'), replacing)
}

func writeOne(dir string, r *corpus.Recipe) (entry, error) {
	data, err := r.Build()
	if err != nil {
		return entry{}, err
	}
	ext := extensions[r.Format]
	if ext == "" {
		ext = r.Format
	}
	sum := sha256.Sum256(data)
	e := entry{
		Name: r.Name, Format: r.Format, File: r.Format + "/" + r.Name + "." + ext, Class: r.Expect, Axis: r.Axis,
		Depth: r.Depth, Covers: r.Covers, Policy: r.Policy, Size: len(data), SHA256: hex.EncodeToString(sum[:]),
	}
	if r.Offset != corpus.NoOffset {
		e.Offset = &r.Offset
	}
	return e, output.WriteFile(filepath.Join(dir, filepath.FromSlash(e.File)), data, replacing)
}

func draft(file string, out io.Writer) error {
	data, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	if data, err = corpus.CrashBytes(data); err != nil {
		return err
	}
	_, err = io.WriteString(out, corpus.Draft(data))
	return err
}

func show(path string, out io.Writer) error {
	format, name, _ := strings.Cut(path, "/")
	for _, r := range corpus.Hostile(format) {
		if r.Name != name {
			continue
		}
		data, err := r.Build()
		if err != nil {
			return err
		}
		if _, err = fmt.Fprintf(out, "%d bytes, expect %s, offset %#x\n", len(data), r.Expect, r.Offset); err != nil {
			return err
		}
		d := hex.Dumper(out)
		defer d.Close()
		_, err = d.Write(data[:min(len(data), 64<<10)])
		return err
	}
	return fmt.Errorf("no recipe %s", path)
}
