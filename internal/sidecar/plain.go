package sidecar

import (
	"bufio"
	"io"
	"path"
	"strings"

	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// documentEndings are the extensions of texts that people read, and of tables, of which no library
// makes members.
var documentEndings = setOf("md markdown rst adoc csv tsv log bib tex html htm xml svg css srt vtt lrc")

// documentNames are what texts for people are called, whatever their extension.
var documentNames = setOf("readme license licence copying notice authors changelog changes contributing citation usage_policy use_policy acceptable_use_policy third_party_notices")

// vocabularyNames are texts whose lines are words.
var vocabularyNames = setOf("vocab.txt merges.txt tokens.txt dict.txt words.txt labels.txt classes.txt bpe.codes vocab.bpe phones.txt spm_vocab.txt sentencepiece.vocab")

// plain looks through a text whose name says nothing of what it is, as YAML: OmegaConf, Hydra
// and yaml.safe_load read a file of any name. A text that YAML reads as one long word is not one.
func (r *reader) plain() error {
	ext := strings.TrimPrefix(path.Ext(r.file), ".")
	stem, _, _ := strings.Cut(r.file, ".")
	if documentEndings()[ext] || documentNames()[stem] || vocabularyNames()[r.file] || dataTexts[r.file] || codeEndings["."+ext] != "" || codeNames[r.file] != "" {
		return nil
	}
	if inside, _, _ := r.belowGit(); inside { // names of branches and the like, for git alone
		return nil
	}
	is, err := r.opensYAML()
	if err != nil || !is {
		return err
	}
	r.begin()
	return r.yaml()
}

// opensYAML reports whether the root of a text could be a collection to YAML, which its first
// line of content decides: where that is a plain word, so is all that follows, or an error.
func (r *reader) opensYAML() (bool, error) {
	in := bufio.NewReaderSize(r.in, pieceLen)
	for first := true; ; first = false {
		p, err := in.ReadSlice('\n')
		if err := r.steps.Take(plainSteps + int64(len(p))/stepLen); err != nil {
			return false, err
		}
		if err != nil && err != io.EOF && err != bufio.ErrBufferFull {
			return false, err
		}
		line := strings.TrimSpace(string(p))
		if first {
			line = strings.TrimPrefix(line, "\ufeff")
		}
		line = strings.TrimSpace(strings.TrimPrefix(line, "---"))
		for line != "" && (line[0] == '!' || line[0] == '&') { // a tag, an anchor
			if strings.HasPrefix(line, "!!python") || strings.HasPrefix(line, "!<") {
				return true, nil
			}
			_, line, _ = strings.Cut(line, " ")
			line = strings.TrimSpace(line)
		}
		switch {
		case strings.HasPrefix(line, "%TAG"):
			return true, nil
		case line == "" || line[0] == '#' || line[0] == '%':
			if err == io.EOF {
				return false, nil
			}
			continue
		case err == bufio.ErrBufferFull, strings.IndexByte(`{["'`, line[0]) >= 0, line[0] == '?' && len(line) < 3:
			return true, nil
		}
		return strings.HasPrefix(line, "- ") || line == "-" || strings.HasPrefix(line, "? ") || strings.HasSuffix(line, ":") ||
			strings.Contains(line, ": ") || strings.Contains(line, ":\t"), nil
	}
}

// metas judges the files that FunASR joins with the folder of a model: everything below
// file_path_metas, up to a line that is not indented deeper.
func (l *lines) metas(line string) error {
	text := strings.TrimLeft(line, " \t")
	depth := len(line) - len(text)
	at, named := strings.Index(text, metasKey), false
	if at >= 0 && (at == 0 || !inName(text[at-1])) {
		l.metasAt, l.inMetas, named = depth, true, true
		text = text[at+len(metasKey):]
	}
	if !l.inMetas || text == "" {
		return nil
	}
	if !named && depth <= l.metasAt && !l.inside && !l.q.nested && !l.doubt {
		l.inMetas = false
		return nil
	}
	for _, value := range strings.FieldsFunc(text, func(c rune) bool { return strings.ContainsRune("{}[],: \t\"'", c) }) {
		if leaves(value) {
			return l.once("sidecar.index-path", tensor.Danger, metasKey, l.at, "FunASR opens "+wire.Quote(value))
		}
	}
	return nil
}

const metasKey = "file_path_metas"
