package sidecar

import (
	"bufio"
	"io"
	"strings"

	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// lap is how much of a long line is looked at again with what follows it: longer
// than a name that is looked for, and what it stands for.
const lap = maxText

// pieceLen is the least that is looked at of a long line at once. bufio reuses the buffer of the
// reader below where that is larger, so the pieces of a long text are of bufLen, 16 KiB. A judge may
// read from a name to the end of the piece, so bufLen bounds the work for each byte.
const pieceLen = 2 * lap

// A lines is the way through a YAML text: a line may come in pieces, and two lines
// may be one.
type lines struct {
	*reader
	keep    string // of the line at hand: its end, or what it is joined with
	at      int64  // its position
	inside  bool   // keep begins within a line
	inRow   bool   // the line at hand may be a row of a model of YOLO
	joined  bool   // keep is joined with the next line
	q       quoting
	doubt   bool   // the line at hand may have a comment, or not
	guessed bool   // the name of the text does not say that it is YAML
	plain   string // the line at hand, escapes resolved
	whole   bool   // the line at hand ends where the piece does
	opens   bool   // a value may begin the line at hand,
	block   bool   // and it is a line of a block scalar
	laters  [kinds][quotes]later
	source  source // of an MLmodel
	// Of FunASR: lines below the key of its files, and the indentation of the key.
	inMetas bool
	metasAt int
	// Of pyannote: the lines at hand are below the key of a pipeline.
	inPipeline bool
	// Of a model of YOLO: names of its keys were seen, and a call in a list, and where.
	backbone, head bool
	call           string
	callAt         int64
	odd            string // a word that none of its rows has, and where
	oddAt          int64
}

// yaml looks through a YAML text by lines, as PyYAML breaks them.
func (r *reader) yaml() error {
	l := &lines{reader: r, opens: true, q: newQuoting(), guessed: !isYAML(r.file)}
	in := bufio.NewReaderSize(r.in, pieceLen)
	if p, err := in.Peek(3); err == nil && string(p) == "\ufeff" {
		in.Discard(3)
		r.off += 3
	}
	for {
		p, err := in.ReadSlice('\n')
		if err := r.steps.Take(1 + int64(len(l.keep)+len(p))/yamlStep); err != nil {
			return err
		}
		if err != nil && err != io.EOF && err != bufio.ErrBufferFull {
			return err
		}
		if l.keep == "" {
			l.at = r.off
		}
		text := string(p)
		if l.joined {
			text = spaces.trimLeft(text)
		}
		l.joined = false
		if l.keep != "" {
			text = l.keep + text
		}
		if err := l.piece(text, err == nil || err == io.EOF); err != nil {
			return err
		}
		r.off += int64(len(p))
		if err == io.EOF {
			if err := l.fetchesSource(); err != nil {
				return err
			}
			if err := l.oddRow(); err != nil {
				return err
			}
			return l.rows()
		}
	}
}

// isYAML reports whether the name of a text says that it is YAML.
func isYAML(file string) bool {
	return file == mlmodel || strings.HasSuffix(file, ".yaml") || strings.HasSuffix(file, ".yml")
}

// breaks are what ends a line to PyYAML.
const breaks = "\r\n\u0085\u2028\u2029"

// piece looks at the lines of a piece; the last one may go on in the next.
func (l *lines) piece(text string, whole bool) error {
	for text != "" {
		if err := l.steps.Take(lineSteps); err != nil {
			return err
		}
		end := breakAt(text)
		line, next := text, ""
		if end >= 0 {
			line, next = text[:end], trimBreaks(text[end:])
		}
		if end < 0 && !whole {
			return l.cut(line)
		}
		before := l.q
		comment := l.q.scan(line)
		l.q.lost = l.q.lost || end >= 0 && text[end] >= 0x80 // which is no break to all loaders
		if l.doubt = l.q.lost && signAt(line) >= 0; l.doubt {
			if err := l.both(line); err != nil {
				return err
			}
		}
		if l.q.lost {
			comment = len(line)
		}
		if (l.q.skip || l.q.lost && escaped(line)) && len(line) <= lap {
			l.q = before // the line is gone past again
			// A quoted text goes on in the next line as if there were no break.
			line = line[:len(line)-1]
			if next == "" {
				l.keep, l.inside, l.joined = line, true, true
				return nil
			}
			l.inside, text = true, line+spaces.trimLeft(next)
			continue
		}
		if err := l.look(line[:comment], comment); err != nil {
			return err
		}
		if said := line[:comment]; l.inside && comment == len(line) || strings.TrimSpace(said) != "" {
			word := lastWord(said)
			l.opens, l.block = opensAfter(word), word != "" && (word[0] == '|' || word[0] == '>')
		}
		if l.doubt {
			l.opens, l.block = true, true
		}
		l.q.end()
		l.at += int64(len(text) - len(next))
		l.keep, l.inside, text = "", false, next
	}
	l.keep, l.inside = "", false
	return nil
}

// both looks at a line whose quotes cannot be followed without what may be a comment. The caller looks
// at all of it.
func (l *lines) both(line string) error {
	if err := l.unsure(); err != nil {
		return err
	}
	at := signAt(line)
	return l.look(line[:at], at)
}

// unsure refuses a text that is YAML by its name, and whose comments are not known.
func (l *lines) unsure() error {
	if l.guessed {
		return nil
	}
	return l.once(CodeUnexplained, tensor.Danger, "", l.at, "loaders of YAML read the quotes before this line in other ways: what a number sign hides is not known")
}

// signAt is where the first number sign is that could begin a comment, or -1.
func signAt(line string) int {
	for i := range len(line) {
		if line[i] == '#' && (i == 0 || !inName(line[i-1])) {
			return i
		}
	}
	return -1
}

// cut looks at a line that goes on in the next piece, but for its end.
func (l *lines) cut(line string) error {
	most := max(0, len(line)-lap)
	after := l.q
	after.scan(line[:most])
	comment := l.q.scan(line)
	if l.doubt = l.q.lost && signAt(line) >= 0; l.doubt {
		comment = len(line)
		if err := l.unsure(); err != nil {
			return err
		}
	}
	if err := l.look(line[:comment], min(most, comment)); err != nil {
		return err
	}
	l.q = after
	l.keep, l.inside = strings.Clone(line[most:]), l.inside || most > 0
	l.at += int64(most)
	return nil
}

// escaped reports a line that ends with a backslash that no other one escapes.
func escaped(line string) bool {
	n := 0
	for n < len(line) && line[len(line)-1-n] == '\\' {
		n++
	}
	return n%2 == 1
}

// look looks at a line, for names that begin in its first bytes.
func (l *lines) look(line string, most int) error {
	plain := unescaped(line)
	hides := plain != line
	if taggedForPython(line) || hides && taggedForPython(plain) {
		if err := l.once("sidecar.yaml-tag", tensor.Danger, "", l.at, "a tag lets YAML construct a Python object: "+wire.Quote(strings.TrimSpace(line[:min(len(line), 80)]))); err != nil {
			return err
		}
	}
	if !l.inside {
		l.rootLine(line)
	}
	l.plain, l.whole = plain, most == len(line)
	if err := l.goOn(l.plain); err != nil {
		return err
	}
	if hides && strings.Count(l.plain, hydraKey) != strings.Count(line, hydraKey) {
		if err := l.once("sidecar.target", tensor.Danger, "", l.at, "the name "+hydraKey+" is written with escapes: it is hidden"); err != nil {
			return err
		}
	}
	if err := l.names(line, most, hydraKey, l.hydra); err != nil {
		return err
	}
	for _, judge := range [...]func(string, int) error{l.loads, l.evaluated} {
		if err := judge(line, most); err != nil {
			return err
		}
	}
	for _, k := range [...]struct {
		name string
		kind kind
	}{{"target", aTarget}, {"class_path", aClass}} {
		if err := l.names(l.plain, most, k.name, func(x *key) error { return l.lookedUp(k.kind, x) }); err != nil {
			return err
		}
	}
	if err := l.metas(l.plain); err != nil {
		return err
	}
	if err := l.obeyed(most); err != nil {
		return err
	}
	if err := l.names(l.plain, most, "custom_imports", func(k *key) error {
		return l.once(codeImport, tensor.Danger, "custom_imports", k.at, "MMEngine imports the modules that this names, when it reads its configuration")
	}); err != nil {
		return err
	}
	if err := l.reaches(line, most); err != nil {
		return err
	}
	if !l.whole || l.inside || l.isSource(line) {
		return nil
	}
	return l.assigned(l.plain, l.at)
}

// lookedUp judges a value of a key whose value is called, which may be on the next line.
func (l *lines) lookedUp(of kind, k *key) error {
	text, _ := k.text()
	value := behind(k.rest)
	switch {
	case k.anchor, k.cut && value == "" && text != "": // an anchor or a tag that is longer than any honest one
		value = text
	case value == "" || value[0] == '|' || value[0] == '>':
		l.await(of, k, "")
		return nil
	case value[0] != '*' && !callsCode(value):
		return nil
	}
	if of == aClass {
		return l.report(codeImport, tensor.Danger, "class_path", k.at, "Lightning imports "+wire.Quote(value)+", and calls it with arguments of the file")
	}
	return l.report("sidecar.target", tensor.Danger, "target", k.at, "loaders of NeMo and of diffusion models call "+wire.Quote(value)+" with arguments of the file")
}

// reaches finds values that name something in a module which runs code, whatever
// their key: pyannote looks up and calls the one of a name.
func (l *lines) reaches(line string, most int) error {
	plain := l.plain
	for from := 0; ; {
		i := strings.IndexByte(plain[from:], '.')
		if i < 0 || from+i > most && most < len(line) {
			return nil
		}
		begin, end := from+i, from+i
		for begin > from && inName(plain[begin-1]) {
			begin--
		}
		for end < len(plain) && (inName(plain[end]) || plain[end] == '.') {
			end++
		}
		from = end
		if err := l.steps.Step(); err != nil {
			return err
		}
		if isReach(plain[begin:end]) && standsAlone(plain[:begin], plain[end:]) {
			return l.once(codeImport, tensor.Danger, "", l.at+int64(min(begin, len(line))), "a library that looks up what this names imports "+wire.Quote(plain[begin:end]))
		}
	}
}

// standsAlone reports whether a plain or quoted value is alone, by the text before and after it.
func standsAlone(before, behind string) bool {
	if behind = strings.TrimLeft(behind, "\"' \t"); behind != "" && strings.IndexByte(",]}#", behind[0]) < 0 {
		return false
	}
	before = strings.TrimRight(before, "\"'")
	word := strings.TrimRight(before, " \t")
	if word == "" || strings.IndexByte(":-?[{,|>", word[len(word)-1]) >= 0 {
		return true
	}
	word = word[strings.LastIndexAny(word, " \t")+1:]
	return word[0] == '&' || word[0] == '!'
}

// hydraKey is the key whose value Hydra calls.
const hydraKey = "_target_"

// hydra judges the value of that key; no value is a name that YAML could make a key.
func (l *lines) hydra(k *key) error {
	value := behind(k.rest)
	if value == "" {
		return l.report("sidecar.target", tensor.Danger, hydraKey, k.at, "the name stands where it is not a plain key with a value behind it, and YAML can make it one")
	}
	return l.target(value, k.at)
}

// names finds a name by itself.
func (l *lines) names(line string, most int, name string, visit func(*key) error) error {
	if !strings.Contains(line, name) {
		return nil
	}
	words := wordsOf(line)
	for from := 0; ; {
		i := strings.Index(line[from:], name)
		if i < 0 || from+i > most {
			return nil
		}
		i += from
		from = i + len(name)
		if i > 0 && inName(line[i-1]) || from < len(line) && inName(line[from]) {
			continue
		}
		if err := l.steps.Take(1 + int64(len(line)-from)/stepLen); err != nil {
			return err
		}
		if err := visit(l.keyAt(&words, i, from)); err != nil {
			return err
		}
	}
}

// A words finds the words before places of a line, which are asked for in their order: each
// byte is looked at once, however many names there are.
type words struct {
	line  string
	seen  int  // how much was looked at
	blank int  // where the last blank of it is, or -1
	flow  bool // a bracket or a comma is in it
}

func wordsOf(line string) words { return words{line: line, blank: -1} }

// before returns the word that ends at a place.
func (w *words) before(end int) string {
	for ; w.seen < end; w.seen++ {
		switch w.line[w.seen] {
		case ' ', '\t':
			w.blank = w.seen
		case '{', '[', ',':
			w.flow = true
		}
	}
	return w.line[w.blank+1 : end]
}

// keyAt describes a name from begin to end of a line.
func (l *lines) keyAt(words *words, begin, end int) *key {
	before := strings.TrimRight(words.line[:begin], `"'`)
	k := &key{column: len(before), rest: words.line[end:], at: l.at + int64(begin), cut: !l.whole}
	word := words.before(len(strings.TrimRight(before, " \t")))
	k.flow = words.flow
	k.asked = strings.HasSuffix(word, "?")
	k.anchor = strings.HasPrefix(word, "&") && behind(k.rest) == ""
	return k
}

// behind returns the value after the end of a key, "" if there is none on its line.
func behind(rest string) string {
	rest, ok := strings.CutPrefix(strings.TrimLeft(strings.TrimLeft(rest, `"'`), " \t"), ":")
	if !ok {
		return ""
	}
	v := strings.TrimSpace(rest)
	for v != "" && (v[0] == '&' || v[0] == '!') { // an anchor, a tag
		end := strings.IndexAny(v, " \t")
		if end < 0 {
			return ""
		}
		v = strings.TrimSpace(v[end:])
	}
	v = strings.Trim(v, `"'`)
	if end := strings.IndexAny(v, ",} \t#\"'"); end >= 0 {
		v = v[:end]
	}
	return v
}

func inName(c byte) bool {
	return c == '_' || '0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
}

// taggedForPython reports a tag of PyYAML's own, or one that could be: written with
// percent signs, or by a handle that the text declares.
func taggedForPython(line string) bool {
	if strings.Contains(line, "!!python") || strings.Contains(line, "yaml.org,2002:python") || strings.Contains(line, "%TAG") {
		return true
	}
	for from := 0; ; {
		i := strings.IndexByte(line[from:], '!')
		if i < 0 {
			return false
		}
		i += from
		tag := line[i:]
		if end := strings.IndexAny(tag, " \t"); end >= 0 {
			tag = tag[:end]
		}
		if strings.Contains(tag, "%") && (i == 0 || strings.IndexByte(" \t[{,-:?&\"'", line[i-1]) >= 0) {
			return true
		}
		from = i + max(1, len(tag))
	}
}
