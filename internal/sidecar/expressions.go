package sidecar

import (
	"bufio"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// codeExpression is the code of findings about text that a library evaluates as Python.
const codeExpression = "sidecar.expression"

// calls reports whether an expression has a call in it: a parenthesis after something
// callable.
func calls(text string) bool { return lastCall(text) >= 0 }

// lastCall returns the offset of the last such parenthesis, or -1. It examines only the text before
// each parenthesis.
func lastCall(text string) int {
	if strings.IndexByte(text, '(') < 0 { // faster than from the end
		return -1
	}
	for at := strings.LastIndexByte(text, '('); at >= 0; at = strings.LastIndexByte(text[:at], '(') {
		end := at
		for end > 0 && isCallSpace(text[end-1]) {
			end--
		}
		if end == 0 {
			continue
		}
		called, last := text[:end], text[end-1]
		if last >= 0x80 || strings.IndexByte(`)]}"'`, last) >= 0 {
			return at
		}
		begin := len(called)
		for begin > 0 && inName(called[begin-1]) {
			begin--
		}
		if begin < len(called) && (called[begin] < '0' || '9' < called[begin]) {
			return at // but a number cannot be called
		}
	}
	return -1
}

// isCallSpace reports whether a byte may be between what is called and the parenthesis.
func isCallSpace(c byte) bool {
	return c == ' ' || c == '\t' || c == '\r' || c == '\n' || c == '\f' || c == '\\'
}

// isExpression reports whether MONAI evaluates a text, or imports by it: a dollar sign
// before something that can run code.
func isExpression(text string) bool {
	rest, ok := strings.CutPrefix(text, "$")
	if !ok {
		return false
	}
	return imports(rest) || calls(rest)
}

// imports reports whether a text is an import.
func imports(text string) bool {
	text = strings.TrimLeft(text, " \t\r\n\\")
	for _, word := range [...]string{"import", "from"} {
		if after, ok := strings.CutPrefix(text, word); ok && after != "" && strings.IndexByte(" \t\r\n\\", after[0]) >= 0 {
			return true
		}
	}
	return false
}

// expression judges a string that JSON gives to a library such as MONAI.
func (w *walk) expression(key string, k *kept, at int64) (bool, error) {
	if w.file == "tokenizer.json" || !strings.HasPrefix(k.text, "$") || !k.isCut() && !isExpression(k.text) {
		return false, nil
	}
	return true, w.once(codeExpression, tensor.Danger, key, at, "MONAI evaluates "+wire.Quote(k.text))
}

// evaluated judges a line of YAML for what its library evaluates: expressions of
// MONAI, the activation and the rows of a model of YOLO, the program of a set of data.
func (l *lines) evaluated(line string, most int) error {
	if strings.Contains(l.t.Name, ".github/") {
		return nil
	}
	plain := l.plain
	words := wordsOf(plain)
	for from, call := 0, lastCall(plain); ; {
		i := strings.IndexByte(plain[from:], '$')
		if i < 0 {
			break
		}
		i += from
		from = i + 1
		if i > 0 && strings.IndexByte(" \t\"'[{,:-?&!|>", plain[i-1]) < 0 {
			continue
		}
		if err := l.steps.Take(1 + int64(len(plain)-i)/(4*stepLen)); err != nil {
			return err
		}
		if i < call || imports(plain[from:]) {
			return l.once(codeExpression, tensor.Danger, "", l.at, "MONAI evaluates "+wire.Quote(plain[i:]))
		}
		l.awaitExpression(&words, i)
	}
	if err := l.row(plain); err != nil {
		return err
	}
	for _, k := range [...]struct {
		name  string
		kind  kind
		judge func(text string) error
	}{{"activation", anActivation, l.activates}, {"download", aDownload, l.downloads}} {
		err := l.names(plain, most, k.name, func(x *key) error {
			text, ok := x.text()
			if !ok {
				return nil
			}
			text = strings.TrimSpace(text)
			l.await(k.kind, x, text)
			if text == "" {
				return nil
			}
			return k.judge(text)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// awaitExpression notes that the expression that begins with a dollar sign at i may
// continue on further lines.
func (l *lines) awaitExpression(words *words, i int) {
	line := words.line
	if i > 0 && (line[i-1] == '"' || line[i-1] == '\'') {
		i--
	}
	member := strings.TrimLeft(line[:i], " \t-?")
	switch {
	case !l.opens && strings.TrimSpace(line[:i]) == "", !opensAfter(words.before(len(strings.TrimRight(line[:i], " \t\r")))): // it is inside a text
		return
	case line[i] == '$' && isMember(line[i:]) && (member != "" || !l.block): // a key
		return
	}
	k := &key{column: i - len(member), flow: words.flow}
	if member == "" {
		k.column = i - 1
	}
	l.await(anExpression, k, line[i:])
}

// activates judges the activation of a model of YOLO.
func (l *lines) activates(text string) error {
	text = strings.Trim(text, "\"' \t")
	if !calls(text) || isLayer(text) {
		return nil
	}
	return l.once(codeExpression, tensor.Danger, "activation", l.at, "YOLO evaluates "+wire.Quote(text))
}

// row judges a line that may be a row of a YOLO model: a list in brackets. For a list
// over several lines, calls count if the file has the keys of such a model.
func (l *lines) row(line string) error {
	l.backbone, l.head = l.backbone || strings.Contains(line, "backbone"), l.head || strings.Contains(line, "head")
	text := strings.TrimLeft(line, " \t-")
	if l.known == nil && !l.guessed && (text != line || strings.Contains(line, "[")) {
		l.yolo(line)
	}
	if !l.inside {
		l.inRow = text != line && strings.HasPrefix(text, "[")
	}
	switch {
	case !runsName(text):
	case l.inRow:
		return l.rowRuns(text, l.at)
	case l.call == "" && (strings.HasPrefix(strings.TrimLeft(line, " \t"), "-") || !isMember(text)):
		l.call, l.callAt = strings.Clone(text[:min(len(text), maxText)]), l.at
	}
	return nil
}

func (l *lines) rowRuns(row string, at int64) error {
	return l.once(codeExpression, tensor.Danger, "", at, "YOLO evaluates the rows of its configuration: "+wire.Quote(row))
}

// rows judges rows over several lines.
func (l *lines) rows() error {
	if l.call == "" || !l.backbone || !l.head {
		return nil
	}
	return l.rowRuns(l.call, l.callAt)
}

// calling are functions of Python itself by which an expression runs code or finds what does. What
// people write before a parenthesis too, as open or type, counts only right before it, or with a text in it.
var calling = setOf("eval exec compile getattr setattr delattr globals locals vars breakpoint __import__")

// reaching are those that an expression needs only to name.
var reaching = setOf("eval exec compile getattr setattr delattr globals locals breakpoint")

// runsName reports whether something with a name is called in a text, as Python's grammar has it: right
// behind the name, or after blanks if it is a function of Python itself or a name in a module,
// or in another way, such as (exec)(x), if the text names such a function.
func runsName(text string) bool {
	if strings.IndexByte(text, '(') < 0 {
		return false
	}
	if callsName(text) {
		return true
	}
	if !calls(text) {
		return false
	}
	for i := 0; i < len(text); i++ {
		begin := i
		for i < len(text) && inName(text[i]) {
			i++
		}
		if begin == i {
			if isStyled(text[i:]) { // Python reads exec, however its letters are drawn
				return true
			}
			continue
		}
		word := text[begin:i]
		escaped := begin > 0 && text[begin-1] == '\\' // of a text in quotes, as \n is
		if reaching()[word] || escaped && reaching()[word[1:]] {
			return true
		}
		end := skipBlanks(text, i)
		if end >= len(text) || text[end] != '(' {
			i--
			continue
		}
		dotted := strings.TrimRight(text[:begin], pythonBlanks)
		if word == "open" && strings.IndexByte(`"'`, (strings.TrimLeft(text[end+1:], pythonBlanks) + " ")[0]) >= 0 {
			return true
		}
		if calling()[word] || escaped && calling()[word[1:]] || begin > 0 && text[begin-1] == '.' {
			return true
		}
		if dotted, ok := strings.CutSuffix(dotted, "."); ok {
			dotted = strings.TrimRight(dotted, pythonBlanks)
			root := dotted[strings.LastIndexFunc(dotted, func(c rune) bool { return c >= 0x80 || !inName(byte(c)) })+1:]
			if running()[root] || standard()[root] || tools()[root] {
				return true
			}
		}
		i--
	}
	return false
}

// pythonBlanks are the characters that Python skips within parentheses, with the backslash that
// joins lines.
const pythonBlanks = " \t\r\n\f\\"

// skipBlanks returns the place behind blanks and comments of Python.
func skipBlanks(text string, at int) int {
	for at < len(text) {
		switch {
		case strings.IndexByte(pythonBlanks, text[at]) >= 0:
			at++
		case text[at] == '#' && at > 0 && strings.IndexByte(text[at:], '\n') >= 0:
			at += strings.IndexByte(text[at:], '\n')
		default:
			return at
		}
	}
	return at
}

// isStyled reports whether a text begins with a letter that Python reads as one of ASCII (NFKC).
func isStyled(text string) bool {
	if text == "" || text[0] < 0x80 {
		return false
	}
	c, _ := utf8.DecodeRuneInString(text)
	switch {
	case c == 0xaa, c == 0xba, c == 0x17f, 0x1d2c <= c && c <= 0x1d6a, 0x2071 <= c && c <= 0x209c, 0x2102 <= c && c <= 0x2149,
		0xff21 <= c && c <= 0xff5a, 0x1d400 <= c && c <= 0x1d6a3, c == 0xff3f, c == 0xfe33, c == 0xfe34, 0xfe4d <= c && c <= 0xfe4f:
		return true
	}
	return 0x2b0 <= c && c <= 0x2b8 || 0x2e1 <= c && c <= 0x2e3
}

// callsName reports whether something with a name is called: a parenthesis right after
// it.
func callsName(text string) bool {
	for i := 1; i < len(text); i++ {
		if text[i] == '(' && inName(text[i-1]) {
			return true
		}
	}
	return false
}

// isLayer reports whether a text is a PyTorch layer with numbers and words as arguments.
func isLayer(text string) bool {
	text = strings.TrimPrefix(text, "torch.")
	name, rest, _ := strings.Cut(strings.TrimPrefix(text, "nn."), "(")
	args, end, ok := strings.Cut(rest, ")")
	if !ok || !strings.HasPrefix(text, "nn.") || !isPath(name) || strings.Contains(name, ".") {
		return false
	}
	for i := range len(args) {
		if !inName(args[i]) && strings.IndexByte(" =.,-", args[i]) < 0 {
			return false
		}
	}
	end = strings.TrimLeft(end, "\"'")
	return end == "" || strings.IndexByte(" ,}]", end[0]) >= 0 && !calls(end)
}

// downloads judges how Ultralytics fetches a data set: a text that is not an address is
// run.
func (l *lines) downloads(text string) error {
	text = strings.TrimSpace(strings.Trim(text, "\"' \t,"))
	switch {
	case text == "", strings.HasPrefix(text, "http://"), strings.HasPrefix(text, "https://"): // Python reads no program behind such a beginning
		return nil
	case text[0] == '|', text[0] == '>', text[0] == '@', strings.HasPrefix(text, "bash "), imports(text), calls(text), strings.IndexByte(text, '=') >= 0, strings.IndexByte(text, ';') >= 0, strings.Contains(text, `\n`):
		return l.once(codeExpression, tensor.Danger, "download", l.at, "Ultralytics runs the text behind download where the data are missing")
	}
	return nil
}

// vocabulary judges a vocabulary of RWKV, each of whose lines has a number, a literal
// of Python and a number: its tokenizer evaluates the middle.
func (r *reader) vocabulary() error {
	if !strings.HasPrefix(r.file, "rwkv_vocab") {
		return nil
	}
	for {
		p, err := r.in.ReadSlice('\n')
		if err := r.steps.Take(plainSteps + int64(len(p))/stepLen); err != nil {
			return err
		}
		if line := strings.TrimSpace(string(p)); line != "" && (err == bufio.ErrBufferFull || !isToken(line)) {
			return r.once(codeExpression, tensor.Danger, "", r.off, "the tokenizer of RWKV evaluates "+wire.Quote(line))
		}
		r.off += int64(len(p))
		if err == io.EOF {
			return nil
		} else if err != nil {
			return err
		}
	}
}

// isToken reports whether a line is a number, a literal of a text or of bytes, and a
// number.
func isToken(line string) bool {
	from, to := strings.IndexByte(line, ' '), strings.LastIndexByte(line, ' ')
	if from < 0 || from >= to {
		return false
	}
	text := strings.TrimPrefix(strings.Trim(line[from:to], " "), "b")
	if len(text) < 2 || text[0] != '\'' && text[0] != '"' {
		return false
	}
	for i := 1; i < len(text); i++ {
		switch text[i] {
		case '\\':
			i++
		case text[0]:
			return i == len(text)-1
		}
	}
	return false
}
