package sidecar

import (
	"cmp"
	"encoding/base64"
	"path"
	"slices"
	"strings"

	"github.com/anamnesis-go/anamnesis/internal/jinja"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// CodeUnexplained is the code of findings about values that could name something, of members
// that no table explains.
const CodeUnexplained = "sidecar.unexplained"

// dataTexts are files of a vocabulary, whose texts are data by what reads them.
var dataTexts = map[string]bool{
	"tokenizer.json": true, "vocab.json": true, "added_tokens.json": true, "special_tokens_map.json": true, "merges.txt": true, "vocab.txt": true, "vocabulary.json": true,
}

// dataEndings are the extensions of files that are judged by themselves.
var dataEndings = setOf(`safetensors json txt model bin pt pth ckpt onnx npz npy gguf jinja yaml yml msgpack h5 tiktoken vocab spm wav png jpg csv flac`)

// couldName returns what a text could name for a library that follows it, "" for a number or
// words.
func couldName(k *kept) string {
	text := strings.TrimSpace(k.text)
	if len(text) < 2 || isShortWord(text) {
		return ""
	}
	return couldNameBy(text)
}

// couldNameBy is couldName of a text that is not a short word.
func couldNameBy(text string) string {
	switch {
	case strings.Contains(text, "{{"), strings.Contains(text, "{%"), strings.Contains(text, "${"):
		return "a template"
	case strings.Contains(text, "://"):
		return "an address"
	case strings.Contains(text, "$("), strings.Contains(text, "`"), strings.Contains(text, "&&"), strings.Contains(text, "||"):
		return "a command"
	case namesInside(text), runsName(text), imports(text), strings.HasPrefix(text, "lambda "):
		return "an expression"
	case isPacked(text):
		return "bytes of a pickle or an archive in base64"
	}
	if strings.Trim(text, "/ ") == "" {
		return "" // a mark between words
	}
	if isSourced(text) {
		return "a repository or a folder"
	}
	if strings.HasPrefix(text, "../") || strings.HasPrefix(text, `..\`) || strings.HasPrefix(text, `\\`) || strings.HasPrefix(text, "~/") ||
		hasParent(text) || onDrive(text) || text[0] == '/' && strings.Contains(text[1:], "/") {
		return "a path"
	}
	if strings.ContainsAny(text, " \t\n<>|[") { // words of people, a token, a pattern
		return ""
	}
	switch {
	case strings.ContainsAny(text, `/\`) && strings.Trim(text, `/\`) != "", strings.HasPrefix(text, "~"), text == "..":
		return "a path or a repository"
	case strings.ContainsAny(text, ";&"):
		return "a command"
	}
	return isDottedName(text)
}

// isShortWord reports whether a text is letters and digits alone, too few for what isPacked
// finds: most texts are, and name nothing.
func isShortWord(text string) bool {
	if len(text) >= packedLen {
		return false
	}
	for i := range len(text) {
		if c := text[i]; c == '_' || !inName(c) {
			return false
		}
	}
	return true
}

// hasParent reports whether a part of a path is two dots.
func hasParent(text string) bool {
	for rest := text; ; {
		i := strings.Index(rest, "..")
		if i < 0 {
			return false
		}
		begin := i == 0 && len(rest) == len(text) || i > 0 && (rest[i-1] == '/' || rest[i-1] == '\\')
		end := i+2 == len(rest) || rest[i+2] == '/' || rest[i+2] == '\\'
		if begin && end && len(text) > 2 {
			return true
		}
		rest = rest[i+1:]
	}
}

// onDrive reports whether a text is a path on a drive of Windows.
func onDrive(text string) bool {
	return len(text) > 2 && text[1] == ':' && (text[2] == '\\' || text[2] == '/') && 'a' <= text[0]|0x20 && text[0]|0x20 <= 'z'
}

// namesInside reports whether a text names something that Python keeps for itself.
func namesInside(text string) bool {
	for from := 0; ; {
		i := strings.Index(text[from:], "__")
		if i < 0 {
			return false
		}
		i += from
		from = i + 2
		if i == 0 || !inName(text[i-1]) {
			return true
		}
	}
}

// isDottedName returns what names with dots between them could be.
func isDottedName(text string) string {
	root, rest, dotted := strings.Cut(text, ".")
	if !dotted || !isNames(text) || root == "" || '0' <= root[0] && root[0] <= '9' || rest == "" {
		return ""
	}
	last := text[strings.LastIndexByte(text, '.')+1:]
	switch {
	case last == "" || '0' <= last[0] && last[0] <= '9':
		return ""
	case root+"."+last == text && dataEndings()[last], root == "torch" && isType(rest):
		return ""
	}
	return "a name in a module"
}

// packedLen is the least length of a text that isPacked decodes, and packedBegin are the letters with
// which it may begin: those of 0x80, of x, of gzip, of PK and of BZ.
const (
	packedLen   = 12
	packedBegin = "geHUQ"
)

// urlSafe writes base64 with the letters of addresses, and without what fills its end.
var urlSafe = strings.NewReplacer("+", "-", "/", "_", "=", "")

// isPacked reports whether a text is bytes in base64 that begin as a pickle or an archive.
func isPacked(text string) bool {
	if len(text) < packedLen || strings.IndexByte(packedBegin, text[0]) < 0 {
		return false
	}
	for i := range len(text) {
		if c := text[i]; !inName(c) && c != '+' && c != '/' && c != '-' && c != '=' {
			return false
		}
	}
	head, err := base64.RawURLEncoding.DecodeString(urlSafe.Replace(text[:packedLen]))
	if err != nil || len(head) < 4 {
		return false
	}
	switch {
	case head[0] == 0x80 && 2 <= head[1] && head[1] <= 5,
		head[0] == 'x' && (int(head[0])<<8|int(head[1]))%31 == 0 && strings.IndexByte("\x01\x5e\x9c\xda", head[1]) >= 0,
		string(head[:2]) == "\x1f\x8b", string(head[:2]) == "PK", string(head[:3]) == "BZh":
		return true
	}
	return false
}

// unexplained judges the text of a member that nothing else explained.
func (w *walk) unexplained(key string, k *kept, at int64) error {
	base := w.file
	if dataTexts[base] || base == "strings.json" && w.kinds&kindOf("spaCy") != 0 || libraries()[k.text] || strings.HasSuffix(base, ".index.json") || w.overwritten(base, key) {
		return nil
	}
	if _, is := servedBy(key); couldName(k) == "" && !(is && namesCode(k.text)) {
		return nil
	}
	size := placeCost * int64(len(w.open))
	if err := w.b.Hold(size); err != nil {
		return err
	}
	defer w.b.Drop(size)
	return w.couldBe(key, w.place(), k, at)
}

// placeCost is the memory of a member in a place.
const placeCost = 24

// imported are members under which libraries look up classes and functions.
var imported = setOf("class cls class_name _class name type target module function func fn callable factory impl")

// fetching are members whose address a library fetches.
var fetching = setOf("url urls uri download entrypoint entry_point path weights model checkpoint source")

// isOfPython reports whether a name is in Python's own library, or in what installs packages.
func isOfPython(text string) bool {
	root, _, _ := strings.Cut(text, ".")
	return !plain[text] && (standard()[root] || tools()[root] || root == "pip")
}

// couldBe reports a text that could name something: danger in a text of which it is known what
// its library reads, elsewhere a warning, which the profiles upload and strict refuse.
func (r *reader) couldBe(key string, p place, k *kept, at int64) error {
	s := r.known
	what := couldName(k)
	if by, is := servedBy(key); is && s == nil && namesCode(k.text) {
		return r.once(codeImport, tensor.Danger, wire.Quote(key), at, by.who+" "+by.does+" "+wire.Quote(k.text)+", if it is started with this text")
	}
	if what == "" || r.isInterpolation(k.text) {
		return nil
	}
	if what == "a template" && namesInside(k.text) {
		return r.once(CodeTemplate+jinja.CodeDunder, tensor.Danger, wire.Quote(key), at, "whatever renders "+wire.Quote(k.text)+" reaches what Python keeps for itself")
	}
	number, single := "", ""
	if s != nil {
		number, single = s.mistakes(key, p)
	}
	if number == "" && r.explains(grammarRows, p, k.text) {
		return nil
	}
	if why := cmp.Or(number, single); why != "" {
		return r.once(CodeUnexplained, tensor.Danger, wire.Quote(key), at, why+", and "+wire.Quote(k.text)+" could be "+what)
	}
	if r.explains(exceptionRows, p, k.text) || s == nil && slices.ContainsFunc(p.keys, isShown) {
		return nil
	}
	if imported()[strings.ToLower(key)] && what == "a name in a module" && isOfPython(k.text) {
		return r.once(codeImport, tensor.Danger, wire.Quote(key), at, "a library that looks up what this names imports "+wire.Quote(k.text))
	}
	if s == nil && strings.HasSuffix(key, "attn_implementation") && strings.Contains(k.text, "/") {
		return r.once(codeImport, tensor.Danger, wire.Quote(key), at, kernel.who+" "+wire.Quote(k.text))
	}
	if s == nil {
		severity := tensor.Danger
		fetched := isLink(k.text) && fetching()[strings.ToLower(key)]
		if !r.inRow() && !fetched || what == "a path or a repository" && isInside(k.text) && codeEndings[path.Ext(k.text)] == "" || isLink(k.text) && !fetched { // which no library is known to load
			severity = tensor.Warning
		}
		return r.once(CodeUnexplained, severity, wire.Quote(key), at, "no table explains this member, and "+wire.Quote(k.text)+" could be "+what)
	}
	if s.hasWord(key, k.text) {
		return nil
	}
	if r.explains(repositoryRows, p, k.text) {
		return r.once(CodeUnexplained, tensor.Warning, wire.Quote(key), at, "a library may fetch the model "+wire.Quote(k.text)+" because of this")
	}
	return r.once(CodeUnexplained, tensor.Danger, wire.Quote(key), at, s.reads(key)+", and "+wire.Quote(k.text)+" could be "+what)
}

// isInterpolation reports whether a text of YAML or of a config.cfg names another member of it, as
// OmegaConf and confection do: ${model.sample_rate}. That one is judged by itself. A colon would call a
// resolver.
func (r *reader) isInterpolation(text string) bool {
	name, ok := strings.CutPrefix(strings.Trim(text, `"'`), "${")
	name, end := strings.CutSuffix(name, "}")
	return ok && end && (isYAML(r.file) || r.isPipelineText()) && isNames(name) && !namesInside(name)
}

func isShown(key string) bool { return shown()[key] }

// assigned judges a line of YAML, TOML or INI that gives a key a value, or goes on with the
// values of the key before it: elements of a list, members in brackets, the rest of a text.
func (r *reader) assigned(line string, at int64) error {
	goesOn := r.known != nil || isYAML(r.file) // a line without a key is of the value before it
	if line == "" || codeNames[r.file] != "" {
		return nil
	}
	if mark := strings.IndexAny(line, ":="); namesNothing(line) && (strings.IndexByte(line, '*') < 0 || !hasAlias(line)) && !strings.Contains(line[:max(mark, 0)], "[") {
		if hasKey(line, mark) {
			r.opened, r.keyed = true, line
		}
		return nil
	}
	text := line
	if r.keyed != "" {
		if key, _ := pair(r.keyed); key != "" {
			r.key = strings.Clone(key[:min(len(key), maxText)])
		}
		r.keyed = ""
	}
	key, value := pair(line)
	if strings.HasPrefix(key, "lambda ") { // whose colon is no mark behind a key
		key = ""
	}
	switch {
	case key != "":
		r.opened, r.key = true, keptKey(key, line)
	case strings.HasPrefix(spaces.trimLeft(text), "- "), goesOn:
		value = elementCut.trim(text)
	}
	if brackets.index(text) >= 0 && !strings.Contains(text, "{{") && !strings.Contains(text, "{%") && !strings.Contains(text, "${") {
		return r.inBrackets(text, at)
	}
	return r.assignedTo(r.key, value, at)
}

// hasKey reports whether pair finds a key before the mark of a line.
func hasKey(line string, mark int) bool {
	return mark > 0 && strings.Trim(strings.TrimLeft(line[:mark], " \t-"), " \t\"'") != ""
}

// namesNothing reports whether couldName finds nothing in a line, whatever part of it is a value: no
// letter of an expression or a path is there, no word that begins one, no run of letters that could be
// base64, and no colon inside a value. A point between digits is one of a number.
func namesNothing(line string) bool {
	run, colons := 0, 0
	for i := range len(line) {
		c := line[i]
		switch what := lineMarks[c]; {
		case what == 0:
			run = 0
			continue
		case what == ofBase64:
			if run++; run >= packedLen {
				return false
			}
			if c == '_' && i > 0 && line[i-1] == '_' {
				return false
			}
			continue
		case c == '.':
			if i == 0 || i+1 == len(line) || !isDigit(line[i-1]) || !isDigit(line[i+1]) {
				return false
			}
		case c == ':':
			if colons++; colons > 1 || i+1 < len(line) && strings.IndexByte(" \t\r", line[i+1]) < 0 {
				return false
			}
		default:
			return false
		}
		run = 0
	}
	if colons > 0 && strings.IndexByte(line, '=') >= 0 { // one of them may be in a value
		return false
	}
	for _, word := range [...]string{"import", "from", "lambda"} {
		if strings.Contains(line, word) {
			return false
		}
	}
	return true
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

// Kinds of characters for namesNothing: those of base64, and marks that are looked at.
const (
	ofBase64 = 1
	aMark    = 2
)

var lineMarks = func() (out [256]uint8) {
	for c := range 256 {
		if c := byte(c); inName(c) || strings.IndexByte("+-=", c) >= 0 {
			out[c] = ofBase64
		}
	}
	for _, c := range []byte(".:{}$`&|(/\\~;#") {
		out[c] = aMark
	}
	return out
}()

// inBrackets judges the parts of a line with lists or members in brackets.
func (r *reader) inBrackets(text string, at int64) error {
	return bracketPart.fields(text, func(part string) error {
		if err := r.steps.Step(); err != nil {
			return err
		}
		key, value := pair(part)
		if key != "" {
			r.key = keptKey(key, text)
		} else {
			value = partCut.trim(part)
		}
		return r.assignedTo(r.key, value, at)
	})
}

// keptKey returns a key of a line to be kept until another one comes. It is a part of the line
// unless that is long.
func keptKey(key, line string) string {
	key = key[:min(len(key), maxText)]
	if len(line) > maxText {
		return strings.Clone(key)
	}
	return key
}

// assignedTo judges a value of a key. Its surroundings are unknown.
func (r *reader) assignedTo(key, value string, at int64) error {
	value = untagged(value)
	if value == "" || value == "|" || value == ">" {
		return nil
	}
	return r.couldBe(key, place{[]string{key}, []shape{word}}, &kept{text: value, size: int64(len(value))}, at)
}

// untagged returns a value of YAML without the tags and anchors before it, which say nothing of what it
// could name.
func untagged(value string) string {
	for value != "" && (value[0] == '&' || value[0] == '!') {
		end := strings.IndexAny(value, " \t")
		if end < 0 {
			return value
		}
		value = strings.Trim(value[end:], " \t\"'")
	}
	return value
}

// pair returns the key and the value of a line, "" if it has none.
func pair(line string) (key, value string) {
	text := dashes.trimLeft(line)
	mark := assigning.index(text)
	if mark <= 0 || mark+1 < len(text) && text[mark] == ':' && strings.IndexByte(" \t\r", text[mark+1]) < 0 && strings.IndexByte("\"'", text[mark-1]) < 0 {
		return "", ""
	}
	key = keyCut.trim(text[:mark])
	value = valueCut.trim(text[mark+1:])
	return key, value
}

// settings judges a text of keys and values, TOML or INI.
func (r *reader) settings() error {
	isTOML := strings.HasSuffix(r.file, ".toml")
	var q tomlQuoting
	p := &pipeline{reader: r}
	return r.eachLine(func(line string, at int64) error {
		if r.isPipelineText() {
			if err := p.lines(strings.TrimSuffix(line, "\n"), at); err != nil || p.isKnown(strings.TrimSpace(line)) {
				return err
			}
		}
		line = strings.TrimRight(line, "\r\n")
		if isTOML {
			line = line[:q.scan(line)]
		} else if strings.HasPrefix(strings.TrimLeft(line, " \t"), "#") {
			return nil
		}
		if comment := strings.Index(line, " #"); comment >= 0 && !isTOML { // some readers of INI take it for one
			if err := r.setting(line[:comment], at); err != nil {
				return err
			}
		}
		return r.setting(line, at)
	})
}

// setting judges a line of such a text.
func (r *reader) setting(line string, at int64) error {
	if key, _ := pair(line); key != hydraKey && isKeyOf(unescaped(line), hydraKey) {
		return r.once("sidecar.target", tensor.Danger, hydraKey, at, "the name stands where it is not a plain key with a value behind it")
	}
	key, value := pair(line)
	if value == "" {
		return nil
	}
	judged, err := false, error(nil)
	if key == hydraKey {
		judged, err = true, r.target(value, at)
	}
	if trustsIn(unescaped(line)) {
		judged, err = true, cmp.Or(err, r.trusts(at))
	}
	if isReach(value) {
		judged, err = true, cmp.Or(err, r.report(codeImport, tensor.Danger, wire.Quote(key), at, "a library that looks up what this names imports "+wire.Quote(value)))
	}
	if judged || err != nil {
		return err
	}
	return r.assigned(line, at)
}
