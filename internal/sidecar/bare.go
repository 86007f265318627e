package sidecar

import "strings"

// A bare is the way through a text that nothing explains, to the first thing in it that is more than
// words and numbers. It knows no format: whatever reads the text finds there what this finds, in keys as in
// values.
type bare struct {
	what    string // "" while there is none
	at      int64
	members bool // a word has a colon or an equals sign behind it

	words bool // it has letters that no digest has

	before   byte   // the byte before
	last     byte   // the last one that is no blank
	word     []byte // the last word, or the current one: at most wordLen of it
	letters  int    // the length of the current word
	digit    bool   // the last word begins with a digit
	dotted   bool   // the byte before is a point behind a word of letters
	path     bool   // the last word is behind another and a point
	numbers  bool   // the byte before is a slash behind a number
	begun    bool   // the line has more than blanks, quotes and dashes
	opening  bool   // the last word is the first of its line
	spaced   bool   // the last byte is a parenthesis behind a word and blanks
	angle    bool   // a mark < is open
	piped    bool   // the last byte but blanks is a | behind a word
	keyed    bool   // the last word but one is a key that could name a function
	features bool   // it is of datasets, which looks _type up in its own table of features
	flat     bool   // no reader of members knows the text
	served   bool   // the last key is one of which a server imports the value
	dashes   int    // before this byte, behind a blank
	packed   []byte // what could be base64, at most packedLen of it
}

// wordLen is longer than any word that is looked up.
const wordLen = 32

// isLetter reports whether Python takes a byte for one of a name.
func isLetter(c byte) bool { return inName(c) || c >= 0x80 }

// piece looks through the next bytes, and reports whether it has found something.
func (b *bare) piece(p []byte, at int64) bool {
	for i, c := range p {
		what := b.next(c)
		if what == "" {
			continue
		}
		if b.what == "" || !isNamed[what] {
			b.what, b.at = what, at+int64(i)
		}
		if !isNamed[what] {
			return true
		}
	}
	return false
}

// Marks and names are in many texts that people keep beside a model, and by themselves run nothing: a
// warning, while the search goes on for what does.
const (
	someMark = "marks that a shell or a template could read"
	wordCall = "a parenthesis behind a word"
	classKey = "a key that could name a class or a function"
	aPath    = "a path, an address or the name of a repository"
	aDotted  = "names with points between them"
	anEsc    = "an escape"
)

// aServed is said of a text that no reader of members has judged already.
const aServed = "the name of a class or a function under a key by which servers import one"

// aShell is commands in backticks, behind one another, or at the end of a pipe.
const aShell = "marks of a shell"

var isNamed = map[string]bool{someMark: true, wordCall: true, classKey: true, aPath: true, aDotted: true, anEsc: true}

// next returns what a text holds that is more than words, as its next byte shows.
func (b *bare) next(c byte) (what string) {
	for _, found := range [...]string{b.marks(c), b.names(c), b.base64(c)} {
		if what == "" || isNamed[what] && found != "" {
			what = found
		}
	}
	b.past(c)
	return what
}

// past goes past a byte.
func (b *bare) past(c byte) {
	if c > ' ' {
		b.spaced = c == '(' && isLetter(b.last) && !b.digit
	}
	b.dotted = c == '.' && b.letters > 0 && !b.digit
	b.numbers = c == '/' && isDigit(b.before)
	switch {
	case c == '-' && (b.dashes > 0 || b.before <= ' '):
		b.dashes++
	default:
		b.dashes = 0
	}
	if !isLetter(c) {
		b.letters = 0
	}
	switch {
	case c == '\n' || c == '\r':
		b.begun, b.opening, b.angle = false, false, false
	case c > ' ':
		b.piped = c == '|' && b.last != ':' && b.last != '-' && b.begun
		b.last = c
		b.begun = b.begun || c != '-' && c != '"' && c != '\''
	}
	b.before = c
}

// marks finds what a mark says: of a shell, a template, a path, a call, a tag.
func (b *bare) marks(c byte) string {
	begins := isLetter(c) && b.letters == 0
	switch {
	case c == '`', b.before == '$' && c == '(', b.before == '&' && c == '&', b.before == '|' && c == '|', b.piped && (c == '\n' || c == '\r'):
		return aShell
	case strings.IndexByte("$;&|~", c) >= 0:
		return someMark
	case c == '\\':
		return anEsc
	case b.before == '{' && strings.IndexByte("{%#", c) >= 0:
		return "a template"
	case c == '(' && (b.calls() || b.before == '='): // logging.config evaluates args=(...)
		return "a call"
	case c == '(' && isLetter(b.before) && !b.digit, b.spaced && c > ' ' && strings.IndexByte("\"'(", c) >= 0:
		return wordCall
	case begins && (b.before == '!' || b.before == '@'):
		return "a tag or a reference"
	case begins && b.dashes == 2:
		return "an option of a command"
	case b.before == '<' && (c == '!' || c == '?'), b.angle && c <= ' ' && isLetter(b.before):
		return "markup"
	case c == '>' && !b.angle:
		return someMark
	}
	switch c {
	case '<':
		b.angle = true
	default:
		b.angle = b.angle && (isLetter(c) || strings.IndexByte("-:.", c) >= 0)
	}
	return b.slash(c)
}

// calls reports whether a parenthesis calls what is before it. One behind blanks does behind what Python
// runs code by, or before a text; else it is one of people.
func (b *bare) calls() bool {
	if isLetter(b.before) && b.path || b.before > ' ' && strings.IndexByte(`)]}"'%`, b.before) >= 0 {
		return true
	}
	return isLetter(b.last) && (calling()[string(b.word)] || reaching()[string(b.word)])
}

// slash finds a path, an address or owner/name. A slash between numbers is one of a date.
func (b *bare) slash(c byte) string {
	switch {
	case b.before == '/' && c > ' ' && (!b.numbers || !isDigit(c)):
	case c == '/' && (isLetter(b.before) && !isDigit(b.before) || strings.IndexByte(".:*", b.before) >= 0 && b.before != 0):
	default:
		return ""
	}
	return aPath
}

// isTensor reports whether the last of names with points between them is one of a tensor, or the ending
// of a file that is judged by itself.
func isTensor(last string) bool {
	for _, name := range [...]string{"weight", "bias"} {
		if strings.HasPrefix(last, name) || strings.HasSuffix(last, name) {
			return true
		}
	}
	return tensors()[last] || dataEndings()[last]
}

var tensors = setOf("a_log d scale scales inv_freq running_mean running_var num_batches_tracked " +
	"gate_up_proj down_proj sinks alpha lora_a lora_b")

// names finds what a name says: one in a module, one that Python keeps for itself, a key by which a
// library imports or runs something, a line that takes something in.
func (b *bare) names(c byte) (what string) {
	switch {
	case isLetter(c):
		if b.letters == 0 {
			b.word, b.digit, b.opening = b.word[:0], isDigit(c), !b.begun
		}
		b.words = b.words || !isDigit(c) && (c < 'a' || 'f' < c)
		if b.letters++; len(b.word) < wordLen {
			b.word = append(b.word, lowered(c))
		}
		switch {
		case b.letters == 1 && b.dotted && !isDigit(c):
			b.path = true
		case b.letters == 2 && b.before == '_' && c == '_':
			return "a name that Python keeps for itself"
		}
	case b.path && c != '.':
		if b.path = false; !isTensor(string(b.word)) {
			if what = aDotted; b.served {
				what = aServed
			}
		}
	}
	switch {
	case c == ':' || c == '=':
		if b.last == 0 || !isLetter(b.last) && strings.IndexByte(`"']`, b.last) < 0 {
			return what
		}
		if _, is := servedBy(string(b.word)); is || b.served {
			b.served = is && b.flat
		}
		if b.members = true; runsBy(string(b.word)) && !(b.features && string(b.word) == "_type") {
			return "a key by which libraries import or run something"
		}
		if b.keyed = namesKeys()[string(b.word)]; b.keyed {
			return classKey
		}
	case b.keyed && b.letters > 0 && !isLetter(c):
		b.keyed = false
		if word := string(b.word); calling()[word] || reaching()[word] || word == "open" {
			return "a function of Python as the value of a key"
		}
	case c <= ' ' && b.opening && b.letters > 0 && takesIn()[string(b.word)]:
		return "a line that takes something in"
	}
	return what
}

// takesIn are the words with which lines begin that take in a file or a module.
var takesIn = setOf("import from include exec source run eval load require using module")

// running keys are those by which libraries import, call or start something, and the ends of such.
var (
	runKeys = setOf("_base_ _component_ _type cls class_name fn func callable import imports include includes target factory handler plugin plugins " +
		"command commands cmd exec execute run script scripts shell hook hooks onready entrypoint entry_point python pythonexecutable callback callbacks eval environment_tarball")
	runEnds = strings.Fields("_class _cls _function _fn _func command cmd script hook hooks plugin plugins executable entrypoint component component_ custom_import user_dir handler import imports path_or_url callback callbacks factory")
	// namesKeys are in many texts with words that name nothing.
	namesKeys = setOf("type class code custom processor loader backend environment env init op ops operator function module modules method extension extensions")
)

// runsBy reports whether a key is one by which a library may import or run something.
func runsBy(key string) bool {
	if runKeys()[key] {
		return true
	}
	for _, end := range runEnds {
		if strings.HasSuffix(key, end) {
			return true
		}
	}
	return false
}

// base64 finds bytes of a pickle or an archive in base64.
func (b *bare) base64(c byte) string {
	if !inName(c) && strings.IndexByte("+/-=", c) < 0 {
		b.packed = b.packed[:0]
		return ""
	}
	if len(b.packed) == packedLen {
		return ""
	}
	if b.packed = append(b.packed, c); len(b.packed) == packedLen && isPacked(string(b.packed)) {
		return "bytes of a pickle or an archive in base64"
	}
	return ""
}

// lowered is a letter of ASCII in its small form.
func lowered(c byte) byte {
	if 'A' <= c && c <= 'Z' {
		return c + 'a' - 'A'
	}
	return c
}
