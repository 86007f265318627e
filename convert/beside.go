package convert

import (
	"errors"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/anamnesis-go/anamnesis/internal/encode"
	"github.com/anamnesis-go/anamnesis/limits"
)

// maxBeside bounds a file that is copied with the weights. The largest tokenizers have
// some tens of megabytes.
const maxBeside = 256 << 20

// besidePatterns are the files that a loader needs with the weights.
var besidePatterns = []string{"*.json", "*.txt", "*.model", "*.jinja", "LICENSE*", "*.md"}

// quantFiles describe the quantization of the source, which does not apply to the output.
var quantFiles = []string{"quantize_config.json", "quant_config.json", "hf_quant_config.json", "quantization_config.json"}

// adapterConfig marks the folder of an adapter, whatever else is in it.
const adapterConfig = "adapter_config.json"

// A Beside lists the files beside a model, copied or not.
type Beside struct {
	Copied []string
	Left   []string // not copied, with the reason
}

// beside decides which files of the model's folder are copied. Weights are not listed.
func (p *Plan) beside(code bool) (*Beside, error) {
	files, out := p.m.Configs(), &Beside{}
	if p.o.Split != nil {
		return out, nil // a GGUF file has everything that a loader needs
	}
	if _, err := fs.Stat(files, encode.ConfigName); p.o.Alone && errors.Is(err, fs.ErrNotExist) {
		return out, nil
	}
	list, err := fs.ReadDir(files, ".")
	if err != nil {
		return nil, err
	}
	folders, err := modules(p.b, files)
	if err != nil {
		return nil, err
	}
	adapter := p.stem() == adapterStem
	for _, e := range list {
		if err := p.b.Items(1); err != nil {
			return nil, err
		}
		if e.Name() == adapterConfig && !adapter { // its weights are not copied, and transformers would look for them
			err = out.add(p.b, e.Name(), "of an adapter")
		} else if e.IsDir() && slices.Contains(folders, e.Name()) {
			err = p.besideModule(out, e.Name())
		} else if why := leave(files, e, code); why != "weights" {
			err = out.add(p.b, e.Name(), why)
		}
		if err != nil {
			return nil, err
		}
	}
	out.Left = slices.Concat(out.Left, p.view.Told().Unmade)
	return out, nil
}

// add notes a file that is copied, or left out for a reason.
func (out *Beside) add(b *limits.Budget, name, why string) (err error) {
	to := &out.Copied
	if why != "" {
		to, name = &out.Left, name+" ("+why+")"
	}
	if err := b.Hold(int64(len(name))); err != nil {
		return err
	}
	*to, err = limits.Append(b, *to, name)
	return err
}

// folders lists the folders to which files are copied.
func (out *Beside) folders() (list []string) {
	for _, name := range out.Copied {
		if dir := path.Dir(name); dir != "." && !slices.Contains(list, dir) {
			list = append(list, dir)
		}
	}
	return list
}

// leave returns why a file is not copied, "" if it is.
func leave(files fs.FS, e fs.DirEntry, code bool) string {
	name := e.Name()
	like := func(pattern string) bool { ok, _ := path.Match(pattern, name); return ok }
	switch {
	case e.IsDir():
		return "folder"
	case strings.HasPrefix(name, "."):
		return "hidden"
	case isWeights(name):
		return "weights"
	case slices.Contains(quantFiles, name):
		return "quantization"
	case like("*.py") && !code:
		return "code"
	case !like("*.py") && !slices.ContainsFunc(besidePatterns, like):
		return "not needed to load it"
	}
	if e.Type()&fs.ModeSymlink != 0 && !isBlob(files, name) {
		return "link"
	}
	info, err := fs.Stat(files, name)
	switch {
	case err != nil || !info.Mode().IsRegular():
		return "no regular file"
	case info.Size() > maxBeside:
		return "too large"
	}
	return ""
}

// isWeights reports whether a name is that of weights or of their index.
func isWeights(name string) bool {
	switch path.Ext(name) {
	case ".safetensors", ".bin", ".pt", ".pth", ".ckpt", ".pkl", ".gguf", ".npz", ".npy", ".h5", ".msgpack", ".onnx":
		return true
	}
	return strings.HasSuffix(name, ".index.json")
}

// isBlob reports whether a file is a link into the blobs of the Hugging Face hub's cache.
func isBlob(files fs.FS, name string) bool {
	to, err := fs.ReadLink(files, name)
	dir, base := path.Split(strings.ReplaceAll(to, `\`, "/"))
	return err == nil && strings.HasSuffix(dir, "../blobs/") && (len(base) == 40 || len(base) == 64)
}

// copyBeside copies one file.
func (p *Plan) copyBeside(w io.Writer, name string) error {
	return copyFile(p.b, w, p.m.Configs(), name)
}
