package sidecar

import (
	"path"
	"slices"
	"strings"
	"sync"

	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// A Folder says of which kinds a folder is: a bit for each of folderKinds, and one for all the
// libraries whose members are not listed.
type Folder uint64

// otherKinds is the bit of libraries whose members are not listed.
const otherKinds Folder = 1 << len(folderKinds)

// hasCode is the bit of a folder with a file that Python imports, of whatever name: it says nothing of
// the kind.
const hasCode Folder = 1 << 63

// otherMarks are files by which libraries that folderKinds lacks know their folders.
var otherMarks = strings.Fields(`*.tflite *.pb group1-shard*.bin meta.json meta.yaml configuration.json config.yaml config.yml data.yaml model.yaml .zarray .zgroup .zmetadata zarr.json _metadata .metadata checkpoint type.txt model-settings.json tekken.json
	consolidated*.pth consolidated*.safetensors infer_cfg.yml train_config.json policy_*processor.json latest_checkpointed_iteration.txt *.nam *.mlmodel *.skops`)

// kindOf returns the bit of a kind by its name, and all bits for no name.
func kindOf(name string) Folder {
	if i := slices.IndexFunc(folderKinds[:], func(k Kind) bool { return k.Name == name }); i >= 0 {
		return 1 << i
	}
	return ^Folder(0)
}

// A mark is a pattern with one star: names by which a folder is of a kind.
type mark struct {
	before, after string // the star
	of            Folder
}

// has reports whether the pattern has a name, as path.Match does, which takes fifty times as long.
func (m mark) has(name string) bool {
	return len(name) >= len(m.before)+len(m.after) && strings.HasPrefix(name, m.before) && strings.HasSuffix(name, m.after)
}

// marks are those with a star in them, and marksOf the others by name.
var marks = sync.OnceValues(func() (stars []mark, byName map[string]Folder) {
	byName = map[string]Folder{}
	add := func(pattern string, of Folder) {
		if before, after, is := strings.Cut(pattern, "*"); is {
			stars = append(stars, mark{before, after, of})
			return
		}
		byName[pattern] |= of
	}
	for i, k := range folderKinds {
		for _, pattern := range k.Marks {
			add(pattern, 1<<i)
		}
	}
	for _, pattern := range otherMarks {
		add(pattern, otherKinds)
	}
	return stars, byName
})

// MarkOf returns the kinds of folders that have a file of a name, and whether it is code.
func MarkOf(name string) Folder {
	stars, byName := marks()
	name = baseOf(name)
	f := byName[name]
	if isCode(name) {
		f |= hasCode
	}
	for _, m := range stars {
		if m.has(name) {
			f |= m.of
		}
	}
	return f
}

// maxAbove bounds how many folders above a text say what it belongs to: a model keeps its parts
// one or two folders below its own.
const maxAbove = 8

// placed finds of which kinds the folder of the text is, and those above it in what is judged.
func (r *reader) placed() error {
	if r.t.Around == nil {
		return nil
	}
	name, all := r.t.Name[strings.LastIndexByte(r.t.Name, '!')+1:], Folder(0)
	if archive := strings.TrimSuffix(r.t.Name, name); archive != "" { // its name is that of a kind too, as model.skops
		all = MarkOf(strings.TrimSuffix(archive, "!")) &^ hasCode
	}
	for up := range min(strings.Count(name, "/"), maxAbove) + 1 {
		if err := r.b.Step(1); err != nil {
			return err
		}
		f, known, err := r.t.Around(up)
		if err != nil || !known {
			return err
		}
		r.coded = r.coded || up == 0 && f&hasCode != 0
		all |= f &^ hasCode
	}
	r.lone, r.kinds = all == 0, all
	r.known = schemaOf(r.file).within(all)
	return nil
}

// CodeNoKind is the code of findings about a text with members in a folder that no library is known
// to load.
const CodeNoKind = "sidecar.no-kind"

// lookedFor are the files of which a folder of a kind has one, for a finding.
const lookedFor = "config.json, model_index.json, adapter_config.json, modules.json, genai_config.json, open_clip_config.json, MLmodel, Modelfile, metadata.json, saved_model.pb, *.gguf, *.onnx, *.h5, *.keras and others"

// noKind reports a text that is read for its members in a folder of no kind. Weights alone are
// judged by their format, and documents are read by people.
func (r *reader) noKind() error {
	if !r.opened || !r.lone || r.known != nil || codeNames[r.file] != "" || documentEndings()[strings.TrimPrefix(path.Ext(r.file), ".")] || strings.HasSuffix(r.file, ".index.json") {
		return nil
	}
	if inside, _, _ := r.belowGit(); inside || codeFolders[r.inFolder(1)] != "" || r.inFolder(2) == ".github" || r.inFolder(1) == ".github" {
		return nil
	}
	return r.once(CodeNoKind, tensor.Warning, "", 0, "no library is known that loads this folder, and so none that reads this text: the folder has none of "+lookedFor)
}
