//go:build !page

package folder

import (
	"bufio"
	"bytes"
	"io"
	"path"
	"regexp"
	"strings"
	"sync"
)

// A text can denote more names than it spells out: parsers join parts, loaders replace variables
// and expand patterns, and the system has other names for a file. Which of them does what is a list
// without end, so the rule is the other way round: letters, digits, and . _ - are themselves, and
// any other mark of a component of a path may become anything. A component that could become one of
// the names is refused.

// plainKeys are keys of JSON whose values no library makes a path of: templates of chats, and
// expressions that are compared with names of modules.
var plainKeys = map[string]bool{"chat_template": true, "template": true, "target_modules": true, "exclude_modules": true, "modules_to_save": true, "pattern": true, "Regex": true}

// Denotes returns what in a text could become one of the names, although [Search.In] does not see
// it, or "". Code is not looked at, and neither is what In takes for granted.
func (s *Search) Denotes(name string, open func() (io.ReadCloser, error)) (found string, err error) {
	ext := strings.ToLower(path.Ext(name))
	if len(s.Names) == 0 || silent(name) {
		return "", nil
	}
	f, err := open()
	if err != nil {
		return "", err
	}
	defer f.Close()
	in := bufio.NewReaderSize(f, pieceLen)
	head, err := in.Peek(pieceLen)
	if err != nil && err != io.EOF || isTensors(head) || !isText(head) {
		return "", ignoreEOF(err)
	}
	if isJSON, found, err := s.denotesJSON(open); isJSON || err != nil {
		return found, err
	}
	switch {
	case prose[ext]:
		return "", nil
	case ext == ".md":
		return s.denoted(front(head)), nil
	}
	buf := make([]byte, pieceLen)
	for held := 0; ; {
		n, err := io.ReadFull(in, buf[held:])
		p := buf[:held+n]
		if found := s.denoted(p); found != "" || err == io.EOF || err == io.ErrUnexpectedEOF {
			return found, nil
		}
		if err != nil {
			return "", err
		}
		held = copy(buf, p[len(p)-overlap:])
	}
}

func ignoreEOF(err error) error {
	if err == io.EOF {
		return nil
	}
	return err
}

// denotesJSON looks at the strings of a text that is JSON.
func (s *Search) denotesJSON(open func() (io.ReadCloser, error)) (is bool, found string, err error) {
	f, err := open()
	if err != nil {
		return false, "", err
	}
	defer f.Close()
	v := &values{all: func(key, text string) {
		if found == "" && !plainKeys[key] {
			found = s.denoted([]byte(text))
		}
	}}
	is, err = v.json(bufio.NewReaderSize(f, maxValue))
	return is, found, err
}

// pattern compiles an expression when it is asked for: few runs of a program need it.
func pattern(text string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(text) })
}

// joined are what parsers take away between the parts of one value: the end of a line behind a
// backslash, what begins and ends a section, comments and instructions of XML, and the quotes
// between strings of protobuf's texts. Of UTF-16 the zero bytes were taken away before.
var joined = pattern(`\\[ \t]*(?:\r?\n|\r|\x{85}|\x{2028}|\x{2029})[ \t\r\n]*|<!\[CDATA\[|\]\]>|<!--(?s:.*?)-->|<\?[^>]*\?>|["'][ \t\r\n]*["']`)

// A tag of YAML makes another value of a text, such as one in Base64.
var tagged = pattern(`(?m)(?:^|[\s\[{,:?-])![a-z!<][^\s=]*[ \t]|%tag[ \t]|yaml\.org,2002:`)

// Placeholders for a value: variables of OmegaConf (also nested), shells, Python, INI, Jinja and
// Windows, classes of letters, entities of XML, and words between two equal marks.
var reference = pattern(`\$\{(?:[^{}\n]|\$\{[^{}\n]*\})*\}|\$\([^()\n]*\)|\$\w+|%\([^()\n]*\)\w?|%\w+%|%[a-z]|\{\{[^\n]*?\}\}|[@#]\{[^{}\n]*\}|\{[^{}\n"' ]*\}|\[[^\[\]\n"' ]*\]|&[a-z]\w*;|<[a-z]\w*>|@\w+@|\^\w+\^|!\w+!|\+\w+\+|#\w+#`)

// ref stands for a reference in a component.
const ref = 0x01

// denoted returns the first component of a path that could be one of the names, or "".
func (s *Search) denoted(p []byte) string {
	p = joined().ReplaceAll(bytes.ReplaceAll(p, []byte{0}, nil), nil)
	p = plain(p)
	if tag := tagged().Find(p); tag != nil {
		return "the tag " + strings.TrimSpace(string(tag))
	}
	p = reference().ReplaceAll(p, []byte{ref})
	if found := s.first(p, true); found != "" { // parsers have joined it
		return found
	}
	top := true // the component may be the first of its path
	for len(p) > 0 {
		n := bytes.IndexFunc(p, func(c rune) bool { return c < 0x80 && strings.IndexByte("/ \t\r\n\v\f\"',;:=()<>|&`", byte(c)) >= 0 })
		if n < 0 {
			n = len(p)
		}
		part, end := p[:n], byte(0)
		if p = p[n:]; len(p) > 0 {
			end, p = p[0], p[1:]
		}
		if top && len(part) > 0 {
			for _, name := range s.Names {
				if couldBe(part, strings.ToLower(name), end) {
					return string(bytes.ReplaceAll(part, []byte{ref}, []byte("${}")))
				}
			}
		}
		top = end != '/' || top && onlyMarks(part)
	}
	return ""
}

// onlyMarks reports whether a component may leave the path where it is: ., .., nothing, or what
// may become those.
func onlyMarks(part []byte) bool {
	return !bytes.ContainsFunc(part, func(c rune) bool { return isNamePart(byte(min(c, 0x80))) && c != '.' })
}

// couldBe reports whether a component could become a name, which is in lower case. end is the text
// after it.
func couldBe(part []byte, name string, end byte) bool {
	if string(bytes.TrimRight(part, ".")) == name { // to Windows
		return true
	}
	if stem, number, short := bytes.Cut(part, []byte("~")); short && len(number) > 0 && '0' <= number[0] && number[0] <= '9' {
		bare := strings.ReplaceAll(name, ".", "")
		return len(stem) == 0 || !isNamePart(stem[0]) || stem[0] == bare[0] // a short name of Windows
	}
	var lit []string // the text between the marks
	marks, refs, globs, begin := 0, 0, 0, 0
	for i, c := range part {
		if isNamePart(c) {
			continue
		}
		lit, begin = append(lit, string(part[begin:i])), i+1
		switch marks++; {
		case c == ref:
			refs++
		case strings.IndexByte("*?[{", c) >= 0:
			globs++
		}
	}
	lit = append(lit, string(part[begin:]))
	alone := strings.Join(lit, "") == ""
	switch {
	case marks == 0:
		return false
	case alone && globs > 0: // a bullet or a product, unless it is part of a path or a value
		return end == '/' || end == '"' || end == '\'' || len(part) == 1 && end == 0
	case alone && refs < 2: // the other value is looked at by itself
		return false
	}
	rest, ok := strings.CutPrefix(name, lit[0])
	last := lit[len(lit)-1]
	if !ok || !strings.HasSuffix(rest, last) {
		return false
	}
	rest = strings.TrimSuffix(rest, last)
	for _, l := range lit[1 : len(lit)-1] {
		_, behind, ok := strings.Cut(rest, l)
		if !ok {
			return false
		}
		rest = behind
	}
	return true
}
