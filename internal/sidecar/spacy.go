package sidecar

import (
	_ "embed"
	"strconv"
	"strings"
	"sync"

	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

//go:embed spacy.txt
var spacyTable string

// registries are the functions that spaCy's configurations may name, each behind its registry.
var registries = sync.OnceValue(func() map[string]bool { return tableOf(spacyTable) })

// A pipeline is the way through a config.cfg of spaCy, which is an INI text of JSON values. A key
// that begins with @ names a function of a registry: confection calls it, with the members around
// it as arguments, when spacy.load reads the section. Only [initialize] waits for nlp.initialize.
type pipeline struct {
	*reader
	section string
}

// isPipelineText reports whether confection could read the text.
func (r *reader) isPipelineText() bool { return strings.HasSuffix(r.file, ".cfg") }

// lines judges a line of the file, in which Python sees a break at each carriage return too.
func (p *pipeline) lines(text string, at int64) error {
	for line := range strings.SplitSeq(text, "\r") {
		if err := p.steps.Step(); err != nil {
			return err
		}
		if err := p.line(line, at); err != nil {
			return err
		}
	}
	return nil
}

// line judges a line. The rules are about the raw one: configparser knows comments of whole lines
// alone, and a line with more blanks before it than its key goes on with the value.
func (p *pipeline) line(line string, at int64) error {
	text := strings.TrimSpace(line)
	if text == "" || text[0] == '#' || text[0] == ';' {
		return nil
	}
	if text[0] == '[' {
		p.section = "" // one with blanks before it may be the rest of a value
		if end := strings.LastIndexByte(line, ']'); line[0] == '[' && end > 0 {
			p.section = strings.Clone(line[1:min(end, maxText)])
		}
	}
	plain := asciiOf(text)
	if isPromise(plain) && !p.isKnown(text) {
		return p.once(codeImport, tensor.Danger, "@", at, "spaCy calls a function of a registry that its own configurations do not name here: "+wire.Quote(text))
	}
	if !p.initializes() && (strings.Contains(plain, "${initialize") || strings.Contains(plain, "__SECTION__") || strings.Contains(plain, "$$")) {
		return p.once(codeImport, tensor.Danger, "initialize", at, "spaCy could call what [initialize] names where this stands: "+wire.Quote(text))
	}
	if key, value, ok := cutSetting(text); ok && key == "source" && strings.HasPrefix(p.section, "components.") && value != "null" {
		return p.once(codeImport, tensor.Danger, "source", at, "spaCy loads the pipeline "+wire.Quote(value)+", and imports it if it is a package")
	}
	return nil
}

// asciiOf returns a text with the letters of ASCII that JSON may write as \u00XX.
func asciiOf(text string) string {
	if !strings.Contains(text, `\u00`) {
		return text
	}
	out := make([]byte, 0, len(text))
	for i := 0; i < len(text); i++ {
		if rest := text[i:]; len(rest) >= 6 && strings.HasPrefix(rest, `\u00`) {
			if c, err := strconv.ParseUint(rest[4:6], 16, 7); err == nil {
				out, i = append(out, byte(c)), i+5
				continue
			}
		}
		out = append(out, text[i])
	}
	return string(out)
}

// initializes reports whether the section at hand is one of [initialize].
func (p *pipeline) initializes() bool {
	return p.section == "initialize" || strings.HasPrefix(p.section, "initialize.")
}

// isKnown reports whether a line is a key of a registry with one of the names that are valid there.
func (p *pipeline) isKnown(text string) bool {
	key, value, ok := cutSetting(text)
	if registry, is := strings.CutPrefix(key, "@"); ok && is {
		name := registry + " " + strings.Trim(value, `"`)
		return registries()[name] || p.initializes() && registries()["initialize "+name]
	}
	return false
}

// isPromise reports whether a key that begins with @ could be in a line: @ is in it, and no letter of a
// word before it, as in an address of mail.
func isPromise(text string) bool {
	for i := range len(text) {
		if text[i] == '@' && (i == 0 || !inName(text[i-1])) {
			return true
		}
	}
	return false
}

// cutSetting cuts a line at the first mark of configparser.
func cutSetting(text string) (key, value string, ok bool) {
	i := strings.IndexAny(text, "=:")
	if i < 0 {
		return "", "", false
	}
	return strings.TrimSpace(text[:i]), strings.TrimSpace(text[i+1:]), true
}
