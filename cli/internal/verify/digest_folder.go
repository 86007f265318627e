package verify

import (
	"fmt"
	"iter"
	"os"
	"path/filepath"

	"github.com/anamnesis-go/anamnesis/cli/internal/run"
	"github.com/anamnesis-go/anamnesis/cli/internal/term"
	"github.com/anamnesis-go/anamnesis/internal/folder"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/parser"
)

// A searched is a folder that was searched for models. It is empty for a model that was named
// itself.
type searched struct {
	folder    string
	recursive bool
}

// folderOf returns the folder that an argument of hash names.
func folderOf(arg string, recursive bool) searched {
	if info, err := os.Stat(arg); err != nil || !info.IsDir() {
		return searched{recursive: recursive}
	}
	return searched{arg, recursive}
}

// models lists the models of an argument. A link to a folder elsewhere is an error: loaders follow
// it but the listing does not, so no manifest would cover its files.
func (f searched) models(arg string) iter.Seq2[parser.Source, error] {
	return func(yield func(parser.Source, error) bool) {
		for src, err := range parser.Find(arg, f.recursive) {
			if !yield(src, err) {
				return
			}
		}
		if f.folder == "" || !f.recursive {
			return
		}
		for e := range folder.Each(f.folder) {
			if e.Kind == folder.Astray && e.Mode.IsDir() && !yield(parser.Source{Path: e.Path}, e.Refusal()) {
				return
			}
		}
	}
}

// below reports whether a path is that of a folder or below it, by the paths alone.
func below(path, folder string) bool {
	rel, err := filepath.Rel(filepath.FromSlash(folder), filepath.FromSlash(path))
	return err == nil && filepath.IsLocal(rel)
}

// A compared collects what a manifest was compared with.
type compared struct {
	models  map[string]bool // that the manifest states
	files   map[string]bool // of models
	folders map[searched]bool
	order   []searched // of the folders, which the manifest is made of
}

// add notes that a model was compared.
func (k *compared) add(d *digests) {
	for _, f := range d.files {
		k.files[filepath.Clean(f.path)] = true
	}
}

// addFolder notes where the manifest says that a model was found.
func (k *compared) addFolder(d *digests, from searched) {
	if d.err != nil && filepath.Clean(d.path) == filepath.Clean(from.folder) {
		return // the error of the folder was printed already
	}
	if !k.folders[from] {
		k.folders[from] = true
		k.order = append(k.order, from)
	}
}

// newer reports the models that are in a folder of the manifest and not in the manifest.
func (c *Hash) newer(s *run.Run, k *compared) error {
	for _, from := range k.order {
		for src, err := range from.models(from.folder) {
			path := filepath.Clean(src.Path)
			if k.models[path] || k.files[path] || err != nil && path == filepath.Clean(from.folder) { // an error of the folder itself is reported by its model
				continue
			}
			k.files[path] = true // another folder may have it too
			s.Count.Worst = max(s.Count.Worst, wire.Differs)
			if err := c.printNewer(s, src.Path); err != nil {
				return err
			}
		}
	}
	return nil
}

func (c *Hash) printNewer(s *run.Run, path string) error {
	const why = "is not in the manifest, which was made of its folder"
	if s.JSON {
		printCompared(s, path, []string{"the model " + why})
	} else {
		fmt.Fprintf(s.Out, "%s: %s\n", term.Path(path), why)
	}
	return s.Out.Flush()
}
