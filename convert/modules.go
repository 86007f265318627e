package convert

import (
	"errors"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/anamnesis-go/anamnesis/internal/encode"
	"github.com/anamnesis-go/anamnesis/internal/strictjson"
	"github.com/anamnesis-go/anamnesis/limits"
)

// modulesName is where sentence-transformers lists the modules of a model: the
// transformer itself, and a folder for each further module.
const modulesName = "modules.json"

// maxModules bounds the list; real models have two to four.
const maxModules = 64

// modules lists the folders that modules.json names, except those that cannot be folders
// beside it.
func modules(b *limits.Budget, files fs.FS) ([]string, error) {
	body, err := encode.ReadText(b, files, modulesName, encode.MaxConfig)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var list []string
	doc := strictjson.Text{Format: modulesName, Body: body, Whole: true}
	err = strictjson.Decode(b, doc, func(d *strictjson.Decoder) error {
		return d.Array(func(i int) error {
			return d.Object(func(member string) error {
				if member != "path" {
					return d.Skip()
				}
				name, err := d.String()
				if fs.ValidPath(name) && !strings.ContainsAny(name, `/\:`) && !strings.HasPrefix(name, ".") && len(list) < maxModules {
					list = append(list, name)
				}
				return err
			})
		})
	})
	return list, err
}

// besideModule decides which files of a module's folder are copied: those that a loader
// needs, and its weights unless they are a pickle.
func (p *Plan) besideModule(out *Beside, dir string) error {
	files, err := fs.Sub(p.m.Configs(), dir)
	if err != nil {
		return err
	}
	list, err := fs.ReadDir(files, ".")
	if err != nil {
		return err
	}
	for _, e := range list {
		if err := p.b.Items(1); err != nil {
			return err
		}
		why := leave(files, e, false)
		switch {
		case why == "weights" && path.Ext(e.Name()) == ".safetensors" && e.Type().IsRegular():
			why = ""
		case why == "weights":
			why = "a module's weights in another format than safetensors: convert its folder by itself"
		}
		if err := out.add(p.b, path.Join(dir, e.Name()), why); err != nil {
			return err
		}
	}
	return nil
}

// stems are the names of weights in libraries. The first of which the folder has a file
// is used, as in package parser.
var stems = []struct{ is, begins string }{
	{"model", "model"}, {"model", "pytorch_model"},
	{"diffusion_pytorch_model", "diffusion_pytorch_model"},
	{adapterStem, adapterStem},
}

// adapterStem is PEFT's.
const adapterStem = "adapter_model"

// stem returns the name for the output's weights: that of the source, if a library looks
// for it.
func stem(files fs.FS, named string) string {
	var names []string
	if named != "" {
		names = append(names, named)
	} else if list, err := fs.ReadDir(files, "."); err == nil {
		for _, e := range list {
			if isWeights(e.Name()) && !e.IsDir() {
				names = append(names, e.Name())
			}
		}
	}
	for _, s := range stems {
		if slices.ContainsFunc(names, func(name string) bool {
			rest, ok := strings.CutPrefix(name, s.begins)
			return ok && (rest[0] == '.' || rest[0] == '-')
		}) {
			return s.is
		}
	}
	return stems[0].is
}
