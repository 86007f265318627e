package sidecar

import (
	"bufio"
	"io"
	"strings"
	"unicode"

	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// codeHandler is the code of findings about files that a server runs because of their
// path.
const codeHandler = "sidecar.handler"

// handler judges the file that Hugging Face's servers run for a model.
func (r *reader) handler() error {
	return r.report(codeHandler, tensor.Danger, "", 0, "Hugging Face's inference servers run this file for the model beside it")
}

// pipeline judges the file that those servers ran before, and that diffusers runs with
// trust_remote_code.
func (r *reader) pipeline() error {
	if r.t.Beside == nil || !r.t.Beside("config.json") && !r.t.Beside("model_index.json") {
		return nil
	}
	return r.report("sidecar.auto-map", tensor.Warning, "", 0, "diffusers runs this file, if it is told to trust code of the repository, and older inference servers without being told")
}

// inference judges the file that SageMaker's containers run.
func (r *reader) inference() error {
	if r.inFolder(1) != "code" {
		return nil
	}
	return r.report(codeHandler, tensor.Danger, "", 0, "containers of SageMaker run code/inference.py of a model's archive")
}

// model judges the file that Triton runs for a version of a model.
func (r *reader) model() error {
	version := r.inFolder(1)
	if version == "" || strings.Trim(version, "0123456789") != "" {
		return nil
	}
	return r.report(codeHandler, tensor.Danger, "", 0, "Triton runs model.py of a version's folder, with or without a configuration")
}

// generate judges the file by which a repository generates with code of its own.
func (r *reader) generate() error {
	if r.inFolder(1) != "custom_generate" {
		return nil
	}
	return r.report("sidecar.auto-map", tensor.Warning, "", 0, "transformers runs this file for custom_generate, if it is told to trust code of the repository")
}

// inFolder returns the name of the file's folder, or of one further up, as some system opens it.
func (r *reader) inFolder(up int) string {
	parts := partsOf(r.t.Name)
	if up >= len(parts) {
		return ""
	}
	return parts[len(parts)-1-up]
}

// kind judges the file that tells GluonTS what to load.
func (r *reader) kind() error {
	var line []byte
	for len(line) < maxText {
		c, err := r.next()
		if err == io.EOF || err == nil && c == '\n' && len(line) > 0 {
			break
		}
		if err != nil {
			return err
		}
		if len(line) > 0 || !unicode.IsSpace(rune(c)) {
			line = append(line, c)
		}
	}
	text := strings.TrimSpace(string(line))
	if !strings.Contains(text, ".") || !isNames(text) || within(text, "gluonts") {
		return nil
	}
	return r.report(codeImport, tensor.Danger, "", 0, "GluonTS imports "+wire.Quote(text)+", and loads the model by it")
}

// gin judges a Gin configuration, which imports modules and calls what it names.
func (r *reader) gin() error {
	return r.eachLine(func(line string, at int64) error {
		line = strings.TrimSpace(line)
		rest, imports := strings.CutPrefix(line, "import")
		if !imports {
			rest, imports = strings.CutPrefix(line, "from")
		}
		if imports && (rest == "" || !inName(rest[0]) && rest[0] != '.') {
			module, _, _ := strings.Cut(strings.TrimSpace(rest), " ")
			root, _, _ := strings.Cut(module, ".")
			switch {
			case root == "__gin__":
				return nil
			case !isPath(module) || running()[root] || standard()[root] || tools()[root] || roots()[root]:
				return r.report(codeImport, tensor.Danger, "", at, "Gin imports "+wire.Quote(module)+", and calls what the file names")
			}
			return r.once("sidecar.target", tensor.Warning, "", at, "Gin imports the modules that the file names, such as "+wire.Quote(module))
		}
		for rest := line; ; {
			_, name, ok := strings.Cut(rest, "@")
			if !ok {
				return nil
			}
			if err := r.steps.Step(); err != nil {
				return err
			}
			end := 0
			for end < len(name) && (inName(name[end]) || name[end] == '.') {
				end++
			}
			if isReach(name[:end]) {
				return r.report(codeImport, tensor.Danger, "", at, "Gin calls "+wire.Quote(name[:end])+" with arguments of the file")
			}
			rest = name
		}
	})
}

// caffe judges a Caffe network, whose layers may be Python code.
func (r *reader) caffe() error {
	return r.eachLine(func(line string, at int64) error {
		if !strings.Contains(line, "python_param") {
			return nil
		}
		return r.once(codeImport, tensor.Danger, "", at, "Caffe imports the module of a layer that is Python")
	})
}

// eachLine calls visit for the lines of a text, which must be short.
func (r *reader) eachLine(visit func(line string, at int64) error) error {
	for {
		p, err := r.in.ReadSlice('\n')
		if err := r.steps.Take(plainSteps + int64(len(p))/stepLen); err != nil {
			return err
		}
		switch {
		case err == bufio.ErrBufferFull:
			return r.report(codeImport, tensor.Danger, "", r.off, "a line that is longer than any honest one: it is not looked through")
		case err != nil && err != io.EOF:
			return err
		}
		if err := visit(string(p), r.off); err != nil {
			return err
		}
		r.off += int64(len(p))
		if err == io.EOF {
			return nil
		}
	}
}
