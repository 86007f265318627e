package main

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/anamnesis-go/anamnesis/corpus"
)

// classes are the values of expect: in any recipe.
var classes = []string{"ok", "malformed", "truncated", "unsupported", "limit", "forbidden"}

// seeds returns all files of the corpus in the folder root, and the shapes.
func seeds(root string) (list []*input, err error) {
	for _, kind := range []string{"hostile", "valid", "gate"} {
		err = filepath.WalkDir(filepath.Join(root, "corpus", kind), func(file string, e fs.DirEntry, err error) error {
			if err != nil || e.IsDir() {
				return err
			}
			info, err := e.Info()
			if err != nil || info.Size() > largest {
				return err
			}
			text, err := os.ReadFile(file)
			if err != nil {
				return err
			}
			format := filepath.Base(filepath.Dir(file))
			switch filepath.Ext(file) {
			case ".py", ".md":
			case ".txt":
				if in := built(format, filepath.Base(file), string(text)); in != nil {
					list = append(list, in)
				}
			default:
				list = append(list, &input{name: filepath.Base(file), format: format, data: text})
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	return append(list, shapes()...), nil
}

// built returns the input that a recipe makes, or nil.
func built(format, name, text string) *input {
	r, err := corpus.Parse(format, name, text, classes)
	if err != nil {
		return nil
	}
	data, err := r.Build()
	if err != nil || len(data) > largest {
		return nil
	}
	in := &input{name: strings.TrimSuffix(name, ".txt"), format: format, data: data, recipe: text}
	if r.Rule != "" {
		in.format = "gate"
		if in.name = filepath.Base(r.File); in.name == "." || r.Folder {
			in.name = "folder.zip"
		}
	}
	return in
}
