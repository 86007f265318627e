package sidecar

import (
	"bufio"
	"io"
	"path"
	"strings"

	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

const (
	// maxTemplate is the longest template that is searched.
	maxTemplate = 4 << 20
	// largeTemplate is longer than any honest template: the longest of 71 published ones
	// has 17 KB.
	largeTemplate = 256 << 10
	// maxText is how much is kept of any other string.
	maxText = 512
	bufLen  = 16 << 10
	minBuf  = 64 // more than is peeked at
	// stepLen is how many bytes are looked at for a step.
	stepLen = 64
	// yamlStep is how many of YAML are, which are searched for breaks, comments, names and
	// calls, one after the other.
	yamlStep = stepLen / 16
	// lineSteps are those of a line of YAML, however short: some twenty judges see it.
	lineSteps = 12
	// plainSteps are those of a line of another text.
	plainSteps = 2
	// stringSteps are those of a string of JSON besides what a value costs: it is copied, and
	// judged by its key and where it stands.
	stringSteps = 8
)

// Manifests are the files in which archives for TorchServe describe themselves: of a model,
// and of a workflow of several.
var Manifests = [...]string{"MAR-INF/MANIFEST.json", "WAR-INF/MANIFEST.json"}

// ManifestOf returns the folder of an archive that its manifest is for, with the mark that
// ends it.
func ManifestOf(name string) (root string, is bool) {
	for _, m := range Manifests {
		if root, is = strings.CutSuffix(name, m); is {
			return root, true
		}
	}
	return "", false
}

// A Text is a file beside a model.
type Text struct {
	Name string // its path: the extension says what it is
	R    io.ReaderAt
	Size int64
	// Beside reports a file in the same folder; nil if that is unknown.
	Beside func(name string) bool
	// Around returns the kinds of a folder that is the given number of levels above the folder of
	// the file; known is false if it cannot be listed. Nil if no folder is known.
	Around func(up int) (f Folder, known bool, err error)
	// Weights returns the files with weights in the folder of the file; known is false if it cannot
	// be listed. Nil if no folder is known.
	Weights func() (w Weights, known bool, err error)
	// Part says that the text is a part of a file of a known kind, so that no row needs to have it.
	Part bool
	// JSON says that the text is JSON, whatever its name.
	JSON bool
	// Prefixed says that each member has the name of a part of a pipeline before it, and a dot.
	Prefixed bool
	// Field says that the text is the value of a field of a form, and no file.
	Field bool
	// Template, if set, is called for each chat template, with escapes resolved, and its
	// place.
	Template func(where, text string)
}

// readers are the readers by extension.
var readers = map[string]func(*reader) error{
	".jinja": (*reader).jinja, ".jinja2": (*reader).jinja, ".j2": (*reader).jinja,
	".json": (*reader).json, ".yaml": (*reader).yaml, ".yml": (*reader).yaml, ".gin": (*reader).gin, ".prototxt": (*reader).protoText,
	".toml": (*reader).settings, ".ini": (*reader).settings, ".cfg": (*reader).settings, ".txt": (*reader).vocabulary, ".onnxjson": (*reader).json,
	".textproto": (*reader).onnxText, ".pbtxt": (*reader).onnxText, ".meta": (*reader).onnxText, ".onnxtxt": (*reader).onnxText, ".onnxtext": (*reader).onnxText,
}

// readersOf are the readers of files that a library finds by their whole name.
var readersOf = map[string]func(*reader) error{
	"mlmodel": (*reader).yaml, "config.pbtxt": (*reader).triton, "type.txt": (*reader).kind, "handler.py": (*reader).handler,
	"inference.py": (*reader).inference, "model.py": (*reader).model, "pipeline.py": (*reader).pipeline, "generate.py": (*reader).generate,
	"readme.md": (*reader).card, "saved_model.pbtxt": (*reader).savedModel, ".zarray": (*reader).json, ".zmetadata": (*reader).json,
}

// Check returns the findings about a text, none for one that is not searched.
func Check(b *limits.Budget, t Text) ([]tensor.Finding, error) {
	r := newReader(b, t)
	if err := r.placed(); err != nil {
		return nil, wire.At(format, "", wire.NoOffset, err)
	}
	read := readersOf[r.file]
	if read == nil {
		read = readers[path.Ext(r.file)]
	}
	if read == nil && t.JSON {
		read = (*reader).json
	}
	if read == nil || path.Ext(r.file) == ".txt" && !strings.HasPrefix(r.file, "rwkv_vocab") && readersOf[r.file] == nil {
		read = (*reader).plain
	}
	if r.byGit() != nil {
		read = nil // git's own judge says all of it
	}
	n := min(bufLen, max(t.Size, minBuf))
	if err := b.Hold(n); err != nil {
		return nil, wire.At(format, "", 0, err)
	}
	defer b.Drop(n)
	r.in, r.steps = bufio.NewReaderSize(nil, int(n)), b.Steps()
	for _, read := range [...]func(*reader) error{read, (*reader).codeBeside} {
		if read == nil {
			continue
		}
		r.begin()
		if err := read(r); err != nil {
			return nil, wire.At(format, "", r.off, err)
		}
	}
	for _, judge := range [...]func() error{r.noKind, r.unexplainedText} {
		if err := judge(); err != nil {
			return nil, wire.At(format, "", r.off, err)
		}
	}
	found, err := r.found.all(b)
	return found, wire.At(format, "", r.off, err)
}

// begin returns to the beginning of the text.
func (r *reader) begin() {
	r.in.Reset(io.NewSectionReader(r.t.R, 0, r.t.Size))
	r.off = 0
}

// format is the format of errors.
const format = "sidecar"

// A reader reads one text.
type reader struct {
	b      *limits.Budget
	t      Text
	file   string  // the name without folders, as file systems compare names
	known  *schema // what the libraries that open a text of this name read in it, or nil
	kinds  Folder  // the kinds of its folder, all if they are not known
	lone   bool    // its folder is of no kind
	coded  bool    // its folder has a file that Python imports
	in     *bufio.Reader
	off    int64 // offset of the next byte
	steps  limits.Steps
	found  told
	key    string // the last one of YAML, TOML or INI,
	keyed  string // or a later line of which it is, if that has one
	opened bool   // the text has members
	trees  string // the library whose trees are in the text

	rooted, stranger bool // it has members at its root, and one that rootMembers lacks
}

// newReader returns a reader of a text, before its beginning.
func newReader(b *limits.Budget, t Text) *reader {
	file := baseOf(t.Name)
	if isVersioned(file) {
		file = "tokenizer.json"
	}
	return &reader{b: b, t: t, file: file, known: schemaOf(file).within(0), kinds: ^Folder(0)}
}

// isVersioned reports whether transformers opens a file in place of tokenizer.json, as its versions from the
// one in the name on do: tokenizer.4.0.0.json. Old ones look for them in the folder, others for those that
// tokenizer_config.json lists.
func isVersioned(name string) bool {
	before, is := strings.CutSuffix(name, ".json")
	version, of := strings.CutPrefix(before, "tokenizer.")
	return is && of && version != "" && !strings.ContainsAny(version, "/\\")
}

// next returns the next byte, or io.EOF.
func (r *reader) next() (byte, error) {
	if r.off%64 == 0 {
		if err := r.steps.Step(); err != nil {
			return 0, err
		}
	}
	c, err := r.in.ReadByte()
	if err == nil {
		r.off++
	}
	return c, err
}

// back undoes one call of next.
func (r *reader) back() {
	if r.in.UnreadByte() == nil {
		r.off--
	}
}

// leaves reports whether a path may lead out of the model's folder. It may if only its
// beginning was kept.
func leaves(path string) bool {
	return len(path) >= maxText || !tensor.IsLocal(path) || strings.ContainsAny(path, `\:`)
}

// report adds a finding.
func (r *reader) report(code string, s tensor.Severity, where string, off int64, text string) error {
	return r.found.add(r.b, tensor.Finding{Code: code, Severity: s, Where: where, Off: off, Text: text})
}

// reportCase is report for danger of which libraries and versions are known.
func (r *reader) reportCase(of, code, where string, off int64, text string) error {
	return r.found.add(r.b, tensor.Finding{Code: code, Severity: tensor.Danger, Where: where, Off: off, Text: text, Case: of})
}

// once is report for what is said once of each place.
func (r *reader) once(code string, s tensor.Severity, where string, off int64, text string) error {
	one := tensor.Finding{Code: code, Severity: s, Where: where, Off: off, Text: text}
	if r.found.has(func(f *tensor.Finding) bool { return f.Where == where && covers(f, &one) }) {
		return nil
	}
	return r.found.add(r.b, one)
}
