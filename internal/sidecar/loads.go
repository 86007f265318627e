package sidecar

import (
	_ "embed"
	"io"
	"strings"
	"sync"

	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// hyper are HyperPyYAML tags with which SpeechBrain looks up names, and mostly calls
// them.
var hyper = [...]string{"new:", "name:", "apply:", "applyref:", "module:"}

//go:embed hyper.txt
var hyperTable string

// hypers are the names that SpeechBrain's own models have, each behind what it is.
var hypers = sync.OnceValue(func() map[string]bool { return tableOf(hyperTable) })

// isHyper reports whether SpeechBrain's own models have such a name behind a tag. A class is made with
// arguments of the file, and a function called with them, so a package is not trusted as a whole:
// speechbrain.utils.superpowers has one that runs commands. The classes of torch.nn and torch.optim
// compute alone.
func isHyper(kind, text string) bool {
	switch kind {
	case "new:", "name:":
		return hypers()["class "+text] || kind == "name:" && hypers()["function "+text] || isClassIn(text, "torch.nn.") || isClassIn(text, "torch.optim.")
	case "apply:", "applyref:":
		return hypers()["call "+text]
	}
	return false
}

// isClassIn reports whether a text is the name of a class right in a package.
func isClassIn(text, inside string) bool {
	name, ok := strings.CutPrefix(text, inside)
	return ok && name != "" && 'A' <= name[0] && name[0] <= 'Z' && isNames(name) && !strings.Contains(name, ".")
}

// loads judges what YAML loaders other than Hydra look up and call.
func (l *lines) loads(line string, most int) error {
	if err := l.tags(line, most); err != nil {
		return err
	}
	if l.file != "mlmodel" {
		return nil
	}
	return l.mlflow(line, most)
}

// tags judges HyperPyYAML tags, which may be in < > with another ! before them.
func (l *lines) tags(line string, most int) error {
	if strings.IndexByte(line, '!') < 0 {
		return nil
	}
	for from := 0; ; {
		i := strings.IndexByte(line[from:], '!')
		if i < 0 || from+i > most {
			return nil
		}
		i += from
		tag := line[i:]
		if end := strings.IndexAny(tag, " \t"); end >= 0 {
			tag = tag[:end]
		}
		from = i + max(1, len(tag))
		if err := l.steps.Step(); err != nil {
			return err
		}
		if err := l.tag(strings.Trim(tag, "!<>,]}"), l.at+int64(i)); err != nil {
			return err
		}
	}
}

func (l *lines) tag(tag string, at int64) error {
	if file, ok := strings.CutPrefix(tag, "include:"); ok && leaves(file) {
		return l.report(codeImport, tensor.Danger, "!include", at, "SpeechBrain reads "+wire.Quote(file)+", and calls what it names")
	}
	for _, kind := range hyper {
		text, ok := strings.CutPrefix(tag, kind)
		switch {
		case !ok:
		case isHyper(kind, text):
			return l.once("sidecar.target", tensor.Warning, "", at, "SpeechBrain calls what its configuration names, such as "+wire.Quote(text))
		default:
			return l.report("sidecar.target", tensor.Danger, "!"+kind, at, "SpeechBrain looks up "+wire.Quote(text)+", and calls it with arguments of the file")
		}
	}
	return nil
}

// mlflowKeys are keys of MLflow's MLmodel that name code.
var mlflowKeys = [...]struct {
	key, does string
	ok        func(value string) bool
}{
	{"loader_module", "MLflow imports", func(v string) bool { return within(v, "mlflow") }},
	{"keras_module", "MLflow imports", func(v string) bool { return moduleTexts["keras_module.txt"].modules()[v] }},
	{"model_code_path", "MLflow runs", isNull},
	{sourceModel, "MLflow fetches, and trusts the code of,", func(v string) bool { return isNull(v) || v != "" && isRepositoryPart(v) }},
	{"code", "MLflow puts on Python's path", isNull},
}

// sourceModel is the key by which MLflow notes where a model came from. It loads the model from there
// if sourceRevision is beside it, and else from the folder (mlflow.transformers of 3.17).
const (
	sourceModel    = "source_model_name"
	sourceRevision = "source_model_revision"
)

// A source is a model of a hub that an MLmodel names.
type source struct {
	name    string
	at      int64
	revised bool // the text has the key of a revision, at any place
}

// isSource notes a line of an MLmodel that says where a model came from. Whether MLflow fetches it is
// known at the end of the text.
func (l *lines) isSource(line string) bool {
	name, ok := strings.CutPrefix(strings.TrimSpace(line), sourceModel+": ")
	if !ok || l.file != mlmodel || !isOwned(name) {
		return false
	}
	if l.source.name == "" {
		l.source.name, l.source.at = strings.Clone(name), l.at
	}
	return true
}

// fetchesSource judges what an MLmodel names, at its end.
func (l *lines) fetchesSource() error {
	if l.source.name == "" || !l.source.revised {
		return nil
	}
	return l.once(codeImport, tensor.Danger, sourceModel, l.source.at, "MLflow fetches, and trusts the code of, "+wire.Quote(l.source.name)+", for the text has "+sourceRevision)
}

func isNull(v string) bool { return v == "null" || v == "~" }

// mlflow judges a line of an MLmodel. MLflow writes plain keys; a key that is hidden, or
// whose value is not on its line, is refused.
func (l *lines) mlflow(line string, most int) error {
	plain := l.plain
	hides := plain != line
	l.source.revised = l.source.revised || strings.Contains(plain, sourceRevision) || strings.Contains(line, sourceRevision)
	for _, k := range mlflowKeys {
		if k.key == sourceModel && l.isSource(line) {
			continue
		}
		stands := isKey(line, k.key)
		if hides && strings.Count(plain, k.key) != strings.Count(line, k.key) {
			if err := l.once(codeImport, tensor.Danger, k.key, l.at, "the key "+k.key+" is written with escapes: it is hidden"); err != nil {
				return err
			}
		}
		err := l.names(line, most, k.key, func(x *key) error {
			value := behind(x.rest)
			if k.ok(value) || value == "" && k.key == "code" && !stands {
				return nil
			}
			return l.once(codeImport, tensor.Danger, k.key, x.at, k.does+" "+wire.Quote(value))
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// isKey reports whether a name could be a key: at the beginning of a line, after a
// question mark, with an anchor, or before a colon.
func isKey(line, name string) bool {
	if strings.HasPrefix(strings.TrimLeft(line, " \t-?\"'{"), name) || strings.ContainsAny(line, "&*") {
		return true
	}
	for from := 0; ; {
		i := strings.Index(line[from:], name)
		if i < 0 {
			return false
		}
		from += i + len(name)
		if rest := strings.TrimLeft(line[from:], "\"' \t"); strings.HasPrefix(rest, ":") {
			return true
		}
	}
}

// backends are Triton backends that run models and no code beside them.
var backends = map[string]bool{
	"tensorrt": true, "tensorrtllm": true, "onnxruntime": true, "pytorch": true, "tensorflow": true, "openvino": true, "fil": true, "vllm": true, "identity": true,
}

// isRuntime reports whether text is the library of a known backend.
func isRuntime(text string) bool {
	name, ok := strings.CutPrefix(text, "libtriton_")
	name, ends := strings.CutSuffix(name, ".so")
	return text == "" || ok && ends && backends[name]
}

// again replaces a key whose value was read; no key is written like that.
const again = "+"

// maxTriton is longer than any honest configuration of Triton.
const maxTriton = 256 << 10

// triton searches a Triton configuration, a protobuf text, for the backend; it is Python
// if the model is code.
func (r *reader) triton() error {
	if r.t.Size > maxTriton {
		return r.report(codeImport, tensor.Danger, "", 0, "a configuration of Triton of more bytes than any honest one")
	}
	var word []byte
	for key, field := "", ""; ; { // field has the entries of a map, each a key and a value
		c, err := r.next()
		switch {
		case err == io.EOF:
			return nil
		case err != nil:
			return err
		case c == '#':
			if err := r.comment(); err != nil && err != io.EOF {
				return err
			}
		case inName(c):
			if len(word) < maxPath {
				word = append(word, c)
			}
			continue
		case c == '"' || c == '\'':
			at := r.off - 1
			text, err := r.quoted(c)
			if err != nil && err != io.EOF {
				return err
			}
			if told, err := r.tritonValue(key, field, text, at); told || err != nil {
				return err
			}
			if key == "backend" || key == "runtime" {
				key = again
			}
		case c == ':' || strings.IndexByte(" \t\r\n", c) >= 0:
		default:
			key = ""
		}
		if len(word) > 0 {
			if key, word = string(word), word[:0]; key != "key" && key != "value" {
				field = key
			}
		}
		if key == "op_library_filename" { // of one library, or of a list
			return r.report(codeImport, tensor.Danger, key, r.off, "ONNX Runtime loads libraries that the model's folder names")
		}
	}
}

// tritonValue looks at a text of Triton's configuration, in an entry of field if that is a map. It
// returns true if a danger was reported, which ends the search.
func (r *reader) tritonValue(key, field, text string, at int64) (told bool, err error) {
	switch {
	case key == "backend" && !backends[text]:
		return true, r.report(codeImport, tensor.Danger, key, at, "Triton's backend "+wire.Quote(text)+" runs code of the model's folder, or code that is not known here")
	case key == "runtime" && !isRuntime(text):
		return true, r.report(codeImport, tensor.Danger, key, at, "Triton loads the library "+wire.Quote(text)+", from the model's folder before any other")
	case (strings.HasSuffix(key, "filename") || strings.HasSuffix(key, "data_file")) && leadsOut(text):
		return true, r.report("sidecar.index-path", tensor.Danger, key, at, "Triton opens "+wire.Quote(text))
	case field == "cc_model_filenames" && key == "value" && leadsOut(text):
		return true, r.report("sidecar.index-path", tensor.Danger, field, at, "Triton opens "+wire.Quote(text))
	case key == "string_value":
		if what := couldName(&kept{text: text, size: int64(len(text))}); what != "" {
			return false, r.once(CodeUnexplained, tensor.Warning, key, at, "a backend of Triton reads this parameter, and "+wire.Quote(text)+" could be "+what)
		}
	case key == again:
		return true, r.report(codeImport, tensor.Danger, "backend", at, "the name of Triton's backend comes in parts: it is hidden")
	}
	return false, nil
}

// comment skips the rest of a line.
func (r *reader) comment() error {
	for {
		if c, err := r.next(); err != nil || c == '\n' {
			return err
		}
	}
}

// quoted reads a quoted text of at most maxPath bytes. One with escapes is no known name.
func (r *reader) quoted(quote byte) (string, error) {
	var text []byte
	for {
		c, err := r.next()
		if err != nil || c == quote {
			return string(text), err
		}
		if len(text) < maxPath {
			text = append(text, c)
		}
		if c == '\\' {
			if _, err := r.next(); err != nil {
				return string(text), err
			}
		}
	}
}
