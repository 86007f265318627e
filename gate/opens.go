package gate

import (
	"encoding/binary"
	"fmt"
	"slices"
	"strings"

	"github.com/anamnesis-go/anamnesis/internal/polyglot"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser"
	"github.com/anamnesis-go/anamnesis/parser/pth"
	"github.com/anamnesis-go/anamnesis/parser/zip"
)

// An Opening is a loader that would open a file, and the format it would take the file for,
// by that loader's own criteria. The loader may still fail later.
// crosscheck/gate/loaders.py compares this with the loaders.
type Opening struct {
	Loader string `json:"loader"`
	As     string `json:"as"`
}

// openings collects the openings of a file.
type openings struct {
	j    *judgement
	head []byte
	list []Opening
}

func (o *openings) add(as string, loaders ...string) {
	for _, l := range loaders {
		if one := (Opening{l, as}); !slices.Contains(o.list, one) {
			o.list = append(o.list, one)
		}
	}
}

// opens returns which loaders would open the file.
func (j *judgement) opens(b *limits.Budget) []Opening {
	var buf [pth.SniffLen]byte
	o := &openings{j: j, head: buf[:max(0, min(j.Size, int64(len(buf))))]}
	if len(o.head) == 0 || wire.ReadFull(j.r, o.head, 0) != nil {
		return nil
	}
	switch format := parser.IdentifyBeginning(o.head, 0, "").Begins; {
	case format == "zip":
		o.archive(b)
	case format == "gguf":
		o.gguf()
	case format == "safetensors":
		o.add("tensors", "safetensors")
		if strings.HasSuffix(j.hint.Name, ".safetensors") { // since torch 2.15 the name decides
			o.add("tensors", "torch.load")
		}
	case format == "npy":
		o.add("an array", "numpy.load")
	default:
		o.other()
	}
	if j.Err != nil {
		o.alias()
	}
	return o.list
}

// archive adds the loaders of a ZIP archive that begins at the first byte. torch requires
// all members to be in one folder, and two of them tell what the archive is.
func (o *openings) archive(b *limits.Budget) {
	names := map[string]bool{}
	one := true
	switch {
	case o.j.Err == nil && o.j.Format == "pth":
		names["data.pkl"] = true
	case o.j.Err == nil && o.j.Format == "npz":
		one = false
	default:
		one = o.members(b, names)
	}
	switch {
	case one && names["data.pkl"] && names["constants.pkl"]:
		o.add("a program (TorchScript)", "torch.jit.load", "torch.load")
	case one && names["data.pkl"]:
		o.add("a checkpoint", "torch.load")
	case one && names["archive_format"]:
		o.add("an exported program", "torch.export.load")
	}
	if o.j.Format == "npz" {
		o.add("arrays", "numpy.load")
	} else {
		o.add("an archive of members", "numpy.load")
	}
	o.add("an archive", "zipfile")
}

// members adds the members of an archive to names, without their common folder, and
// reports whether there is one.
func (o *openings) members(b *limits.Budget, names map[string]bool) bool {
	b = b.Probe()
	defer b.Close()
	z, err := zip.Decode(b, o.j.r, o.j.Size, zip.Options{ExactCase: true})
	if err != nil || len(z.Members) == 0 {
		return false
	}
	folder, _, ok := strings.Cut(z.Members[0].Name, "/")
	for i := range z.Members {
		name, in := strings.CutPrefix(z.Members[i].Name, folder+"/")
		if ok = ok && in; !ok {
			return false
		}
		if len(name) <= len("archive_format") {
			names[strings.ToLower(name)] = true
		}
	}
	return ok
}

// gguf adds the loaders of a GGUF file, which depend on its version. The byte order of
// the version is that of the file.
func (o *openings) gguf() {
	if len(o.head) < 8 {
		return
	}
	v := binary.LittleEndian.Uint32(o.head[4:])
	big := v&0xffff == 0
	if big {
		v = binary.BigEndian.Uint32(o.head[4:])
	}
	as := fmt.Sprintf("GGUF of version %d", v)
	switch {
	case v == 2 || v == 3:
		if !big {
			o.add(as, "ggml", "llama.cpp", "gguf-py", "ollama")
		} else {
			o.add(as+", big-endian", "gguf-py")
		}
	case v == 1 && !big:
		o.add(as, "ollama")
	}
}

// other adds the loaders of pickles and of packed files.
func (o *openings) other() {
	kind, _ := pth.Sniff(o.head[:min(len(o.head), pth.SniffLen)])
	switch {
	case kind == pth.KindLegacy:
		o.add("a checkpoint of before 1.6", "torch.load")
		o.add("the number that it begins with", "pickle.load", "joblib.load")
		o.add("the number that it begins with, with allow_pickle", "numpy.load")
	case o.j.Format == JoblibFormat:
		o.add("an object with arrays", "joblib.load")
	case o.j.Format == PickleFormat || kind == pth.KindPickle:
		o.add("an object", "pickle.load", "joblib.load")
		o.add("an object, with allow_pickle", "numpy.load")
		o.add("a checkpoint, and runs the pickle before it finds none", "torch.load")
	}
	switch o.j.Format {
	case "tar":
		o.tar()
	case "gzip", "bzip2", "zlib", "zstd", "xz", "lzma":
		o.compressed()
	case "onnx":
		o.add("a model", "onnx.load", "onnxruntime")
	}
}

func (o *openings) tar() {
	o.add("an archive", "tarfile")
	has := func(name string) bool {
		return slices.ContainsFunc(o.j.Contents, func(c Content) bool { return strings.HasSuffix(c.Name, "!"+name) })
	}
	if has("pickle") && has("storages") && has("tensors") {
		o.add("a checkpoint of torch 0.1", "torch.load")
	}
}

// compressed adds the loaders of compressed files. joblib decompresses the content and
// runs it as a pickle.
func (o *openings) compressed() {
	module := map[string]string{"gzip": "gzip", "bzip2": "bz2", "zlib": "zlib", "zstd": "compression.zstd", "xz": "lzma", "lzma": "lzma"}[o.j.Format]
	o.add("compressed data", module)
	isPickle := func(c Content) bool { return c.Format == PickleFormat || c.Format == JoblibFormat }
	if o.j.Format != "zstd" && slices.ContainsFunc(o.j.Contents, isPickle) {
		o.add("an object", "joblib.load")
	}
}

// alias adds the loaders that do not start at the first byte.
func (o *openings) alias() {
	switch what, _, _ := polyglot.Alias(o.j.r, o.j.Size, o.head); {
	case strings.Contains(what, "ZIP"):
		o.add("an archive", "zipfile")
	case strings.Contains(what, "tar"):
		o.add("an archive", "tarfile")
	}
}

// foundOpens has the openings of models that were found by a name and not by their bytes.
var foundOpens = map[string][]Opening{
	"safetensors": {{"safetensors", "tensors"}},
	"gguf":        {{"ggml", "GGUF"}, {"llama.cpp", "GGUF"}, {"gguf-py", "GGUF"}, {"ollama", "GGUF"}},
	"pth":         {{"torch.load", "a checkpoint"}},
}

// Opens lists the loaders that would open the file, accepted or not, and the format each
// takes it for.
func (v *Verdict) Opens() []Opening {
	if v.openings == nil {
		return foundOpens[v.Format]
	}
	return v.openings
}

// Loaders lists the names of the loaders that would open the file.
func (v *Verdict) Loaders() (list []string) {
	for _, o := range v.Opens() {
		if !slices.Contains(list, o.Loader) {
			list = append(list, o.Loader)
		}
	}
	return list
}
