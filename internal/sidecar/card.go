package sidecar

import (
	"errors"
	"strings"
	"unicode"

	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// errShown ends the reading of what is shown to people.
var errShown = errors.New("the end of the front matter")

// A front is the way through the front matter of a card.
type front struct {
	*reader
	begun bool
	q     quoting
	of    string // the key at hand
	kept  []byte // the beginning of a line that a backslash joins with the next, up to bufLen
	// Of a pipeline beside it: prior is the column of that key while its values go on, or -1.
	pipeline bool
	prior    int
}

// card judges the front matter of a card: datasets.load_dataset finds its files by it, and diffusers
// a part of the pipeline beside it. As huggingface_hub finds it, it may follow blank lines, and is
// broken by carriage returns too.
func (r *reader) card() error {
	f := &front{reader: r, prior: -1, q: newQuoting(), pipeline: r.t.Beside == nil || r.t.Beside("model_index.json")}
	err := r.eachLine(func(text string, at int64) error {
		for line := range strings.FieldsFuncSeq(text, func(c rune) bool { return strings.ContainsRune(breaks, c) }) {
			if err := f.steps.Step(); err != nil {
				return err
			}
			if err := f.line(line, at); err != nil {
				return err
			}
		}
		return nil
	})
	if f.kept != nil {
		f.b.Drop(bufLen)
	}
	if err == errShown {
		return nil
	}
	return err
}

// line judges a line of the card.
func (f *front) line(line string, at int64) error {
	switch bare := strings.TrimRight(line, " \t"); {
	case !f.begun:
		if line = strings.TrimFunc(strings.TrimPrefix(line, "\ufeff"), isBlank); line == "" {
			return nil
		}
		if f.begun = line == "---"; !f.begun {
			return errShown
		}
		return nil
	case bare == "---":
		return errShown
	}
	comment := f.q.scan(line)
	joined, lost := f.q.skip, f.q.lost
	f.q.end()
	if lost && comment < len(line) {
		if err := f.once(CodeUnexplained, tensor.Warning, "", at, "loaders of YAML read the quotes before this line in other ways: what a number sign hides is not known"); err != nil {
			return err
		}
	}
	if !lost {
		line = line[:comment]
	}
	if err := f.files(line, at); err != nil || !f.pipeline {
		return err
	}
	if len(f.kept) > 0 {
		line = strings.TrimLeft(line, " \t")
	}
	switch joined = joined || lost && escaped(line); {
	case len(f.kept)+len(line) > bufLen && (joined || len(f.kept) > 0): // what it says is not known
		return f.once(CodeUnexplained, tensor.Danger, priorKey, at, "lines that backslashes join are longer than any that is read here")
	case joined:
		if f.kept == nil {
			if err := f.b.Hold(bufLen); err != nil {
				return err
			}
			f.kept = make([]byte, 0, bufLen)
		}
		f.kept = append(f.kept, line[:len(line)-1]...)
		return nil
	case len(f.kept) > 0:
		line = string(append(f.kept, line...))
		f.kept = f.kept[:0]
	}
	return f.connects(unescaped(line), at)
}

// isBlank reports whether Python's patterns take a character for a blank.
func isBlank(c rune) bool { return unicode.IsSpace(c) || 0x1c <= c && c <= 0x1f }

// files judges a line of what datasets.load_dataset reads.
func (f *front) files(line string, at int64) error {
	line = strings.TrimSpace(line)
	key, value := pair(line)
	if key == "" {
		value = line
	} else {
		f.of = strings.Clone(key)
	}
	if f.of != "data_files" && f.of != "data_dir" && f.of != "path" {
		return nil
	}
	for part := range strings.FieldsFuncSeq(value, func(c rune) bool { return strings.ContainsRune("[],\"' ", c) }) {
		if err := f.steps.Step(); err != nil {
			return err
		}
		if leadsOut(part) {
			return f.once("sidecar.index-path", tensor.Warning, wire.Quote(f.of), at, "datasets.load_dataset reads "+wire.Quote(part))
		}
	}
	return nil
}

// priorKey is the key of a card by which diffusers loads the model that a combined pipeline begins
// with (CONNECTED_PIPES_KEYS). Its AutoPipelines make a combined pipeline of a single one too, so
// the class in model_index.json does not matter.
const priorKey = "prior"

// connects judges a line of what diffusers loads for a combined pipeline.
func (f *front) connects(line string, at int64) error {
	text := strings.TrimLeft(line, " \t")
	if text == "" {
		return nil
	}
	if f.prior >= 0 && len(line)-len(text) <= f.prior && isMember(text) && strings.IndexByte("-:]}", text[0]) < 0 {
		f.prior = -1
	}
	column, rest, is := keyIn(line, priorKey)
	switch {
	case is:
		f.prior, text = column, rest
	case f.prior < 0:
		return nil
	}
	for part := range strings.FieldsFuncSeq(text, func(c rune) bool { return strings.ContainsRune("[]{},\"' \t", c) }) {
		if err := f.steps.Step(); err != nil {
			return err
		}
		switch part = strings.TrimPrefix(part, ":"); {
		case strings.Trim(part, "-|>:?0123456789") == "" || part == "null" || part == "~":
		case leadsOut(part) || part[0] == '.' || strings.IndexByte("*&!<", part[0]) >= 0:
			if err := f.once("sidecar.index-path", tensor.Danger, priorKey, at, "diffusers loads a part of the pipeline from "+wire.Quote(part)); err != nil {
				return err
			}
		default:
			if err := f.once(CodeUnexplained, tensor.Warning, priorKey, at, "diffusers fetches the model "+wire.Quote(part)+", with which a combined pipeline begins"); err != nil {
				return err
			}
		}
	}
	return nil
}

// keyIn finds a key in a line of YAML, quoted or in brackets too, and returns its column and what
// follows it.
func keyIn(line, name string) (column int, rest string, ok bool) {
	for from := 0; ; {
		i := strings.Index(line[from:], name)
		if i < 0 {
			return 0, "", false
		}
		i += from
		from = i + len(name)
		before := strings.TrimRight(line[:i], `"'`)
		after := strings.TrimLeft(strings.TrimLeft(line[from:], `"'`), " \t\r")
		if before != "" && strings.IndexByte(" \t{,", before[len(before)-1]) < 0 {
			continue
		}
		asked := strings.HasSuffix(strings.TrimRight(before, " \t"), "?")
		if rest, ok := strings.CutPrefix(after, ":"); ok || asked && after == "" {
			return len(before), rest, true
		}
	}
}
