package gate

import (
	"encoding/binary"
	"fmt"
	"slices"
	"strings"

	"github.com/anamnesis-go/anamnesis/internal/polyglot"
	"github.com/anamnesis-go/anamnesis/limits"
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
	o    *opened
	said *report
	list []Opening
}

func (s *openings) add(as string, loaders ...string) {
	for _, l := range loaders {
		if one := (Opening{l, as}); !slices.Contains(s.list, one) {
			s.list = append(s.list, one)
		}
	}
}

// opens returns which loaders would open the file of which a judge said this.
func (o *opened) opens(b *limits.Budget, said *report) []Opening {
	s := &openings{o: o, said: said}
	if o.s.size == 0 {
		return nil
	}
	switch o.id.Begins {
	case "zip":
		s.archive(b)
	case "gguf":
		s.gguf()
	case "safetensors":
		s.add("tensors", "safetensors")
		if strings.HasSuffix(o.s.hint.Name, ".safetensors") { // since torch 2.15 the name decides
			s.add("tensors", "torch.load")
		}
	case "npy":
		s.add("an array", "numpy.load")
	default:
		s.other()
	}
	if said.err != nil {
		s.alias()
	}
	return s.list
}

// archive adds the loaders of a ZIP archive that begins at the first byte. torch requires
// all members to be in one folder, and two of them tell what the archive is.
func (s *openings) archive(b *limits.Budget) {
	names := map[string]bool{}
	one := true
	switch {
	case s.said.err == nil && s.said.format == "pth":
		names["data.pkl"] = true
	case s.said.err == nil && s.said.format == "npz":
		one = false
	default:
		one = s.members(b, names)
	}
	switch {
	case one && names["data.pkl"] && names["constants.pkl"]:
		s.add("a program (TorchScript)", "torch.jit.load", "torch.load")
	case one && names["data.pkl"]:
		s.add("a checkpoint", "torch.load")
	case one && names["archive_format"]:
		s.add("an exported program", "torch.export.load")
	}
	if s.said.format == "npz" {
		s.add("arrays", "numpy.load")
	} else {
		s.add("an archive of members", "numpy.load")
	}
	s.add("an archive", "zipfile")
}

// members adds the members of an archive to names, without their common folder, and
// reports whether there is one.
func (s *openings) members(b *limits.Budget, names map[string]bool) bool {
	directory := s.o.id.Directory()
	if directory == nil {
		return false
	}
	b = b.Probe()
	defer b.Close()
	z, err := directory.Decode(b, s.o.r, zip.Options{ExactCase: true})
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
func (s *openings) gguf() {
	head := s.o.id.Beginning()
	if len(head) < 8 {
		return
	}
	v := binary.LittleEndian.Uint32(head[4:])
	big := v&0xffff == 0
	if big {
		v = binary.BigEndian.Uint32(head[4:])
	}
	as := fmt.Sprintf("GGUF of version %d", v)
	switch {
	case v == 2 || v == 3:
		if !big {
			s.add(as, "ggml", "llama.cpp", "gguf-py", "ollama")
		} else {
			s.add(as+", big-endian", "gguf-py")
		}
	case v == 1 && !big:
		s.add(as, "ollama")
	}
}

// other adds the loaders of pickles and of packed files.
func (s *openings) other() {
	kind := s.o.id.Pickled
	switch {
	case kind == pth.KindLegacy:
		s.add("a checkpoint of before 1.6", "torch.load")
		s.add("the number that it begins with", "pickle.load", "joblib.load")
		s.add("the number that it begins with, with allow_pickle", "numpy.load")
	case s.said.format == JoblibFormat:
		s.add("an object with arrays", "joblib.load")
	case s.said.format == PickleFormat || kind == pth.KindPickle:
		s.add("an object", "pickle.load", "joblib.load")
		s.add("an object, with allow_pickle", "numpy.load")
		s.add("a checkpoint, and runs the pickle before it finds none", "torch.load")
	}
	switch s.said.format {
	case "tar":
		s.tar()
	case "gzip", "bzip2", "zlib", "zstd", "xz", "lzma":
		s.compressed()
	case "onnx":
		s.add("a model", "onnx.load", "onnxruntime")
	}
}

func (s *openings) tar() {
	s.add("an archive", "tarfile")
	has := func(name string) bool {
		return slices.ContainsFunc(s.said.contents, func(c Content) bool { return strings.HasSuffix(c.Name, "!"+name) })
	}
	if has("pickle") && has("storages") && has("tensors") {
		s.add("a checkpoint of torch 0.1", "torch.load")
	}
}

// compressed adds the loaders of compressed files. joblib decompresses the content and
// runs it as a pickle.
func (s *openings) compressed() {
	module := map[string]string{"gzip": "gzip", "bzip2": "bz2", "zlib": "zlib", "zstd": "compression.zstd", "xz": "lzma", "lzma": "lzma"}[s.said.format]
	s.add("compressed data", module)
	isPickle := func(c Content) bool { return c.Format == PickleFormat || c.Format == JoblibFormat }
	if s.said.format != "zstd" && slices.ContainsFunc(s.said.contents, isPickle) {
		s.add("an object", "joblib.load")
	}
}

// alias adds the loaders that do not start at the first byte. Those of a ZIP archive start
// at its end and are known.
func (s *openings) alias() {
	what := "tar"
	if s.o.id.Begins != "zip" {
		what, _, _ = s.o.id.Archive()
	} else if !polyglot.IsTar(s.o.id.Beginning()) {
		return
	}
	switch {
	case strings.Contains(what, "ZIP"):
		s.add("an archive", "zipfile")
	case strings.Contains(what, "tar"):
		s.add("an archive", "tarfile")
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
	if v == nil {
		return nil
	}
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
