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
	// maxFound is how many findings one text may fill a report with.
	maxFound = 64
	// maxTemplate is the longest template that is looked through.
	maxTemplate = 4 << 20
	// largeTemplate is longer than any honest one: of 71 published ones the longest
	// has 17 KB.
	largeTemplate = 256 << 10
	// maxText is how much of any other string is kept.
	maxText = 512
	bufLen  = 16 << 10
)

// Manifest is where an archive for TorchServe says what it holds.
const Manifest = "MAR-INF/MANIFEST.json"

// A Text is a file beside a model.
type Text struct {
	Name string // its path: the ending says what it is
	R    io.ReaderAt
	Size int64
	// Beside reports a file in the same folder; nil if that is unknown.
	Beside func(name string) bool
	// JSON says that it is one, whatever its name.
	JSON bool
	// Template is shown each chat template, escapes resolved, and its place; it may be
	// nil.
	Template func(where, text string)
}

// readers by the endings of names.
var readers = map[string]func(*reader) error{
	".jinja": (*reader).jinja, ".jinja2": (*reader).jinja, ".j2": (*reader).jinja,
	".json": (*reader).json, ".yaml": (*reader).yaml, ".yml": (*reader).yaml, ".gin": (*reader).gin, ".prototxt": (*reader).protoText,
	".txt": (*reader).vocabulary, ".onnxjson": (*reader).json,
	".textproto": (*reader).onnxText, ".pbtxt": (*reader).onnxText, ".onnxtxt": (*reader).onnxText, ".onnxtext": (*reader).onnxText,
}

// readersOf are those of files that a library knows by their whole names.
var readersOf = map[string]func(*reader) error{
	"mlmodel": (*reader).yaml, "config.pbtxt": (*reader).triton, "type.txt": (*reader).kind, "handler.py": (*reader).handler,
	"inference.py": (*reader).inference, "model.py": (*reader).model, "pipeline.py": (*reader).pipeline, "generate.py": (*reader).generate,
}

// Check returns what is found in a text, nothing for one that is not looked at.
func Check(b *limits.Budget, t Text) ([]tensor.Finding, error) {
	r := &reader{b: b, t: t}
	read := readersOf[r.base()]
	if read == nil {
		read = readers[strings.ToLower(path.Ext(t.Name))]
	}
	switch {
	case read == nil && !t.JSON:
		return nil, nil
	case read == nil:
		read = (*reader).json
	}
	if err := b.Hold(bufLen); err != nil {
		return nil, wire.At(format, "", 0, err)
	}
	defer b.Drop(bufLen)
	r.in, r.steps = bufio.NewReaderSize(nil, bufLen), b.Steps()
	r.begin()
	if err := read(r); err != nil {
		return nil, wire.At(format, "", r.off, err)
	}
	return r.found.All(), nil
}

// begin goes to the beginning of the text.
func (r *reader) begin() {
	r.in.Reset(io.NewSectionReader(r.t.R, 0, r.t.Size))
	r.off = 0
}

// format is what errors carry.
const format = "sidecar"

// A reader goes through one text.
type reader struct {
	b     *limits.Budget
	t     Text
	in    *bufio.Reader
	off   int64 // of the next byte
	steps limits.Steps
	found tensor.Findings
	said  map[string]bool // codes that are said once in a file
}

// next reads a byte; io.EOF at the end.
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

// back undoes one next.
func (r *reader) back() {
	if r.in.UnreadByte() == nil {
		r.off--
	}
}

// leaves reports a path that may lead out of the model's folder. Of one of which no more
// than its beginning was kept nobody knows where it leads.
func leaves(path string) bool {
	return len(path) >= maxText || !tensor.IsLocal(path) || strings.ContainsAny(path, `\:`)
}

// report keeps a finding, up to the most of a file.
func (r *reader) report(code string, s tensor.Severity, where string, off int64, text string) error {
	if len(r.found.All()) >= maxFound {
		return nil
	}
	return r.found.Add(r.b, format, tensor.Finding{Code: code, Severity: s, Where: where, Off: off, Text: text})
}

// dangerous reports that enough was found to refuse the text.
func (r *reader) dangerous() bool {
	for _, f := range r.found.All() {
		if f.Severity == tensor.Danger {
			return true
		}
	}
	return false
}

// once is report for what a file need not say twice.
func (r *reader) once(code string, s tensor.Severity, where string, off int64, text string) error {
	if r.said[code] {
		return nil
	}
	if r.said == nil {
		r.said = map[string]bool{}
	}
	r.said[code] = true
	return r.report(code, s, where, off, text)
}
