package parser

import (
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// A modelLibrary is a library that finds the weights of a folder by their names.
type modelLibrary struct {
	library string
	configs []string // any of these files marks a folder of the library
	order   []string // names of weights, in the order of preference
}

// If a folder belongs to two libraries, as a model with an adapter does to transformers
// and PEFT, the first row decides.
//
// The orders are those of transformers 5.23 (modeling_utils,
// _get_resolved_checkpoint_files), diffusers 0.39 (models/model_loading_utils) and PEFT
// 0.20 (utils/save_and_load, load_peft_weights).
var modelLibraries = [...]modelLibrary{
	{"transformers", []string{"config.json", "trainer_state.json"}, []string{
		"model.safetensors", "model.safetensors.index.json",
		"pytorch_model.bin", "pytorch_model.bin.index.json",
	}},
	{"diffusers", []string{"config.json"}, []string{
		"diffusion_pytorch_model.safetensors.index.json", "diffusion_pytorch_model.safetensors",
		"diffusion_pytorch_model.bin.index.json", "diffusion_pytorch_model.bin",
	}},
	{"PEFT", []string{"adapter_config.json"}, []string{"adapter_model.safetensors", "adapter_model.bin"}},
}

// choose returns the model of a folder that its library reads. If no library is known, or
// if two candidates hold different tensors, it returns all of them.
func choose(b *limits.Budget, d *folder, all []entry) (chosen []entry, note *tensor.Finding, err error) {
	if name, err := weightsFromConfig(b, d); err != nil {
		return nil, nil, err
	} else if name != "" {
		return entryFromConfig(d, all, name)
	}
	for _, f := range modelLibraries {
		if !slices.ContainsFunc(f.configs, d.hasFile) {
			continue
		}
		for _, name := range f.order {
			i := slices.IndexFunc(all, func(e entry) bool { return e.name == name })
			if i < 0 {
				continue
			}
			if err := f.agree(b, d, all, name); err != nil {
				return nil, nil, err
			}
			return all[i : i+1], f.note(all, name), nil
		}
	}
	one, err := oneFile(b, d, all)
	return one, nil, err
}

// oneFile returns the weight file of a folder that has only this file and an index that lists only
// this file: every program reads the same tensors.
func oneFile(b *limits.Budget, d *folder, all []entry) ([]entry, error) {
	if len(all) != 2 {
		return all, nil
	}
	for i, e := range all {
		index := all[1-i].name
		if index != e.name+".index.json" {
			continue
		}
		b := b.Probe()
		defer b.Close()
		kind, _ := tensor.ParseIndexName(index)
		x, err := tensor.ReadIndex(b, d, index, kind)
		if err != nil {
			return nil, err
		}
		if len(x.Files) == 1 && x.Files[0] == e.name {
			return all[i : i+1], nil
		}
	}
	return all, nil
}

// agree refuses a file next to an index of its name that lists other files, since
// libraries differ in which of the two they read.
func (f *modelLibrary) agree(b *limits.Budget, d *folder, all []entry, name string) error {
	file := strings.TrimSuffix(name, ".index.json")
	index := file + ".index.json"
	for _, n := range []string{file, index} {
		if !slices.ContainsFunc(all, func(e entry) bool { return e.name == n }) {
			return nil
		}
	}
	b = b.Probe()
	defer b.Close()
	kind, _ := tensor.ParseIndexName(index)
	x, err := tensor.ReadIndex(b, d, index, kind)
	if err != nil || len(x.Files) == 1 && x.Files[0] == file {
		return err
	}
	return wire.At(detection, "", wire.NoOffset, wire.ErrUnsupported.WithRule("detect.two-models").Errorf(
		"the folder holds %s and an index of other files, %s: %s reads the first, other programs read the second; name the one you mean",
		wire.Quote(file), wire.Quote(index), f.library))
}

// maxLeft is how many names a finding lists.
const maxLeft = 8

// note describes what was chosen and what was left out. Shards are left out with their
// index.
func (f *modelLibrary) note(all []entry, name string) *tensor.Finding {
	var left []string
	more := 0
	for _, e := range all {
		switch {
		case e.name == name || name == e.name+".index.json" || e.name == name+".index.json" || belongToIndex(all, e):
		case len(left) == maxLeft:
			more++
		default:
			left = append(left, wire.Quote(e.name))
		}
	}
	if len(left) == 0 {
		return nil
	}
	text := fmt.Sprintf("%s is the model that %s reads from the folder; not read: %s", wire.Quote(name), f.library, strings.Join(left, ", "))
	if more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return &tensor.Finding{Code: "detect.choice", Severity: tensor.Note, Off: wire.NoOffset, Text: text}
}

// belongToIndex reports whether the index of the shards is among the models of the
// folder.
func belongToIndex(all []entry, shards entry) bool {
	s, ok := tensor.ParseShardName(shards.name)
	return ok && slices.ContainsFunc(all, func(e entry) bool {
		return strings.HasPrefix(e.name, s.Prefix+s.Ext+".index")
	})
}

// hasFile reports whether the folder itself has the file.
func (d *folder) hasFile(name string) bool {
	info, err := d.Stat(name)
	return err == nil && info.Mode().IsRegular()
}

// hintFor says what kind of folder without weights this is, "" if unknown.
func hintFor(d fs.FS) string {
	for _, k := range []struct{ name, text string }{
		{"model_index.json", "a pipeline of diffusers: name the folder of one of its components"},
		{"modules.json", "a model of sentence-transformers whose weights are in its modules' folders: name one of them"},
	} {
		if info, err := fs.Stat(d, k.name); err == nil && info.Mode().IsRegular() {
			return k.text
		}
	}
	return ""
}
