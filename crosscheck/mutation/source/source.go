// Package source rewrites the packages of a module for a measurement, without touching the
// tree: it collects insertions into their files, and writes them as an overlay of the go
// command. The inserted code calls a package that only the overlay has.
package source

import (
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"sort"
	"strings"
)

// A Package is a package of the module, with the text and the tree of its files.
type Package struct {
	Path, Dir string
	Files     []*File
	Built     []string // names of the files that are built here, generated ones too
}

// A File is a source file, and what is inserted into it.
type File struct {
	Name string // from the root of the module, with slashes
	Path string
	Text []byte
	Tree *ast.File

	set  *token.FileSet
	adds []insertion
}

// An insertion is a text before the byte at an offset. Of two at one offset, ends come before
// beginnings, inner ends before outer ones, and outer beginnings before inner ones.
type insertion struct {
	at    int
	end   bool
	depth int
	text  string
}

// Load lists packages by patterns of the go command, and parses their files. Generated files
// are left out.
func Load(root string, patterns ...string) ([]*Package, error) {
	cmd := exec.Command("go", append([]string{"list", "-json=ImportPath,Dir,GoFiles"}, patterns...)...)
	cmd.Dir, cmd.Stderr = root, os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, err
	}
	var list []*Package
	for dec := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p struct {
			ImportPath, Dir string
			GoFiles         []string
		}
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			return list, nil
		} else if err != nil {
			return nil, err
		}
		pkg := &Package{Path: p.ImportPath, Dir: p.Dir, Built: p.GoFiles}
		for _, name := range p.GoFiles {
			f, err := Parse(root, filepath.Join(p.Dir, name))
			if err != nil {
				return nil, err
			}
			if !ast.IsGenerated(f.Tree) {
				pkg.Files = append(pkg.Files, f)
			}
		}
		list = append(list, pkg)
	}
}

// Parse reads one file of the module at root.
func Parse(root, path string) (*File, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	set := token.NewFileSet()
	tree, err := parser.ParseFile(set, path, text, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	name, err := filepath.Rel(root, path)
	return &File{Name: filepath.ToSlash(name), Path: path, Text: text, Tree: tree, set: set}, err
}

// Line returns the line of a position.
func (f *File) Line(p token.Pos) int { return f.set.Position(p).Line }

// Source returns the text of a node.
func (f *File) Source(n ast.Node) string {
	return string(f.Text[f.offset(n.Pos()):f.offset(n.End())])
}

// LineText returns the line of a position without its indentation.
func (f *File) LineText(p token.Pos) string {
	return strings.TrimSpace(strings.Split(string(f.Text), "\n")[f.Line(p)-1])
}

func (f *File) offset(p token.Pos) int { return f.set.Position(p).Offset }

// Before inserts a text before a position.
func (f *File) Before(p token.Pos, text string) {
	f.adds = append(f.adds, insertion{at: f.offset(p), text: text})
}

// Around inserts texts before and after a node; depth orders those of nodes that begin or end
// together.
func (f *File) Around(n ast.Node, depth int, before, after string) {
	f.adds = append(f.adds, insertion{f.offset(n.Pos()), false, depth, before}, insertion{f.offset(n.End()), true, depth, after})
}

// Inserted returns what is inserted, joined: for tests.
func (f *File) Inserted() string {
	var out strings.Builder
	for _, add := range f.adds {
		out.WriteString(add.text)
	}
	return out.String()
}

// text returns the file with its insertions and an import of the package that they call.
func (f *File) text(imported string) string {
	sort.SliceStable(f.adds, func(i, j int) bool {
		a, b := f.adds[i], f.adds[j]
		switch {
		case a.at != b.at:
			return a.at < b.at
		case a.end != b.end:
			return a.end
		case a.end:
			return a.depth > b.depth
		}
		return a.depth < b.depth
	})
	var out strings.Builder
	head := f.offset(f.Tree.Name.End())
	out.Write(f.Text[:head])
	fmt.Fprintf(&out, "; import %q", imported)
	at := head
	for _, add := range f.adds {
		out.Write(f.Text[at:add.at])
		out.WriteString(add.text)
		at = add.at
	}
	out.Write(f.Text[at:])
	return out.String()
}

// Overlay writes the overlay into a folder and returns the path of its description. It adds
// the package called name, whose text is given, below internal of the module at root.
func Overlay(root, module, dir, name, text string, list []*Package) (string, error) {
	replace := map[string]string{}
	put := func(path, text string) error {
		to := filepath.Join(dir, fmt.Sprintf("%d.go", len(replace)))
		replace[path] = to
		return os.WriteFile(to, []byte(text), 0o666)
	}
	if err := put(filepath.Join(root, "internal", name, name+".go"), text); err != nil {
		return "", err
	}
	for _, p := range list {
		for _, f := range p.Files {
			if len(f.adds) == 0 {
				continue
			}
			if err := put(f.Path, f.text(module+"/internal/"+name)); err != nil {
				return "", err
			}
		}
	}
	body, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return "", err
	}
	path := filepath.Join(dir, "overlay.json")
	return path, os.WriteFile(path, body, 0o666)
}

// Retree replaces the tree of the file by one of the same text, which belongs to the set of its
// whole package: types are found for that.
func (f *File) Retree(set *token.FileSet, tree *ast.File) { f.set, f.Tree = set, tree }

// ReadReasons reads a list of exceptions: lines of a file, a tab, a text, a tab, and the reason.
// It returns how often each file and text is listed, under both with a tab between them. An
// empty path is an empty list.
func ReadReasons(path string) (map[string]int, error) {
	list := map[string]int{}
	err := EachReason(path, func(file, text, _ string) error {
		list[file+"\t"+text]++
		return nil
	})
	return list, err
}

// EachReason gives each line of such a list to do.
func EachReason(path string, do func(file, text, why string) error) error {
	if path == "" {
		return nil
	}
	body, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	for line := range strings.Lines(string(body)) {
		if line = strings.TrimSuffix(line, "\n"); line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		parts := strings.Split(line, "\t")
		if len(parts) != 3 || parts[2] == "" {
			return fmt.Errorf("%s: a line is a file, a tab, a text, a tab, and the reason: %s", path, line)
		}
		if err := do(parts[0], parts[1], parts[2]); err != nil {
			return fmt.Errorf("%s: %w: %s", path, err, line)
		}
	}
	return nil
}
