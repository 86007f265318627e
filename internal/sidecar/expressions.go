package sidecar

import (
	"bufio"
	"io"
	"strings"

	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// codeExpression is the code of what a library evaluates as Python.
const codeExpression = "sidecar.expression"

// calls reports an expression with a call in it: a parenthesis behind something that
// can be called.
func calls(text string) bool { return lastCall(text) >= 0 }

// lastCall is where the last such parenthesis stands, -1 if there is none.
func lastCall(text string) int {
	at := -1
	var last byte
	digits := false // what is called would be a number
	for i := range len(text) {
		c := text[i]
		if inName(c) && (i == 0 || !inName(text[i-1])) {
			digits = '0' <= c && c <= '9'
		}
		switch {
		case strings.IndexByte(" \t\r\n\f\\", c) >= 0:
			continue
		case c == '(' && (inName(last) && !digits || last >= 0x80 || last != 0 && strings.IndexByte(`)]}"'`, last) >= 0):
			at = i
		}
		last = c
	}
	return at
}

// isExpression reports a text that MONAI evaluates, or imports by: a dollar sign
// before something that can run code.
func isExpression(text string) bool {
	rest, ok := strings.CutPrefix(text, "$")
	if !ok {
		return false
	}
	return imports(rest) || calls(rest)
}

// imports reports a text that is an import.
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
func (w *walk) expression(key, text string, size, at int64) (bool, error) {
	if w.base() == "tokenizer.json" || !strings.HasPrefix(text, "$") || size == int64(len(text)) && !isExpression(text) {
		return false, nil
	}
	return true, w.once(codeExpression, tensor.Danger, key, at, "MONAI evaluates "+wire.Quote(text))
}

// evaluated judges a line of YAML for what its library evaluates: expressions of
// MONAI, the activation and the rows of a model of YOLO.
func (l *lines) evaluated(line string, most int) error {
	if l.said[codeExpression] || strings.Contains(l.t.Name, ".github/") {
		return nil
	}
	plain := l.plain
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
		if err := l.steps.Step(); err != nil {
			return err
		}
		if i < call || imports(plain[from:]) {
			return l.once(codeExpression, tensor.Danger, "", l.at, "MONAI evaluates "+wire.Quote(plain[i:]))
		}
	}
	plain = plain[:commentAt(plain)]
	if row := strings.TrimLeft(plain, " \t-"); strings.HasPrefix(row, "[") && row != plain && callsName(row) {
		return l.once(codeExpression, tensor.Danger, "", l.at, "YOLO evaluates the rows of its configuration: "+wire.Quote(row))
	}
	return l.names(line, most, "activation", func(string, int64) error {
		_, value, _ := strings.Cut(plain, "activation")
		value, ok := strings.CutPrefix(strings.TrimLeft(value, "\"' \t"), ":")
		value = strings.Trim(value, "\"' \t")
		if !ok || !calls(value) || isLayer(value) {
			return nil
		}
		return l.once(codeExpression, tensor.Danger, "activation", l.at, "YOLO evaluates "+wire.Quote(value))
	})
}

// callsName reports a call of something with a name: a parenthesis right behind it.
func callsName(text string) bool {
	for i := 1; i < len(text); i++ {
		if text[i] == '(' && inName(text[i-1]) {
			return true
		}
	}
	return false
}

// isLayer reports a layer of PyTorch with numbers and words for its arguments.
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

// download judges what Ultralytics fetches a set of data by: a text that is no address
// is run. It may begin on the line behind its key.
func (l *lines) download(line string, most int) error {
	plain := l.plain
	if text := strings.TrimSpace(plain); l.later && text != "" {
		l.later = false
		if isText(text) {
			return l.program()
		}
	}
	return l.names(line, most, "download", func(value string, _ int64) error {
		_, text, _ := strings.Cut(plain, "download")
		text, ok := strings.CutPrefix(strings.TrimLeft(text, "\"' \t"), ":")
		text = strings.TrimSpace(text)
		switch {
		case !ok:
			return nil
		case text == "":
			l.later = true
			return nil
		case text[0] == '|' || text[0] == '>' || value == "bash" || value == "import" || value == "from" || calls(text) && !strings.HasPrefix(value, "http"):
			return l.program()
		}
		return nil
	})
}

func (l *lines) program() error {
	return l.once(codeExpression, tensor.Danger, "download", l.at, "Ultralytics runs the text behind download where the data are missing")
}

// isText reports a line that is part of a text, and neither a member nor an element,
// nor an address.
func isText(line string) bool {
	if line[0] == '-' || line[0] == '[' || line[0] == '{' || strings.HasPrefix(strings.Trim(line, "\"'"), "http") {
		return false
	}
	end := 0
	for end < len(line) && (inName(line[end]) || line[end] == '-' || line[end] == '.') {
		end++
	}
	rest := strings.TrimLeft(line[end:], "\"' \t")
	return !strings.HasPrefix(rest, ":")
}

// vocabulary judges a vocabulary of RWKV, each of whose lines has a number, a literal
// of Python and a number: its tokenizer evaluates the middle.
func (r *reader) vocabulary() error {
	if !strings.HasPrefix(r.base(), "rwkv_vocab") {
		return nil
	}
	for {
		p, err := r.in.ReadSlice('\n')
		if err := r.b.Step(1 + int64(len(p))/64); err != nil {
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

// isToken reports a number, one literal of a text or of bytes, and a number.
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
