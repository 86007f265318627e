//go:build !page

package folder

import (
	"bytes"
	"io"
	"path"
	"regexp"
	"strings"
)

// A kind of text is one whose parsers join in ways of their own.
type kind uint8

const (
	anyText kind = iota
	xmlText
	protoText // the text format of protobuf
)

// kindOf returns the kind of a text by its ending and its beginning.
func kindOf(ext string, p []byte) kind {
	switch ext {
	case ".pbtxt", ".textproto", ".prototxt", ".txtpb":
		return protoText
	}
	if bytes.HasPrefix(bytes.TrimLeft(p, "\xef\xbb\xbf\xff\xfe \t\r\n"), []byte("<")) {
		return xmlText
	}
	return anyText
}

// joints are what parsers of texts join across, so that a name need not stand in the text.
var joints = []struct {
	what string
	kind kind
	re   *regexp.Regexp
}{
	{"a line that goes on behind a backslash", anyText, regexp.MustCompile(`\\[ \t]*(?:[\r\n]|\x{85}|\x{2028}|\x{2029})`)},
	{"a value in Base64", anyText, regexp.MustCompile(`(?i)!binary|yaml\.org,2002:`)},
	{"a section of CDATA", xmlText, regexp.MustCompile(`<!\[CDATA\[`)},
	{"an entity of its own", xmlText, regexp.MustCompile(`<!ENTITY`)},
	{"a text that goes on behind a comment", xmlText, regexp.MustCompile(`[^\s>]<(?:!--|\?)|(?:--|\?)>[^\s<]`)},
	{"a text that goes on in the next one", protoText, regexp.MustCompile(`[^\s:]["'][ \t\r\n]*["']`)},
}

// Variables of OmegaConf, which may be in one another, and of Python's INI files.
const (
	plainPart = `[^\s"'/\\,\[\](){}:=<>$%]`
	variables = `(?:\$\{(?:[^{}\n]|\$\{[^{}\n]*\})*\}|%\([^()\n]*\)s)`
)

// A component of a path with variables, and a variable.
var (
	composed = regexp.MustCompile(plainPart + `*(?:` + variables + plainPart + `*)+`)
	variable = regexp.MustCompile(variables)
)

// Joint returns what in a text could put one of the names together from parts, where
// [Search.In] does not see it, or "". It knows how parsers of JSON, YAML, TOML, XML and INI join
// what they read, and how OmegaConf
// and INI files replace variables. Code is not looked
// at, and neither is what In takes for granted.
func (s *Search) Joint(name string, r io.Reader) (string, error) {
	ext := strings.ToLower(path.Ext(name))
	if len(s.Names) == 0 || silent(name) || prose[ext] {
		return "", nil
	}
	buf := make([]byte, pieceLen)
	held, k := 0, anyText
	for first := true; ; first = false {
		n, err := io.ReadFull(r, buf[held:])
		p := buf[:held+n]
		if first && (isTensors(p) || !isText(p)) {
			return "", nil
		}
		if ext == ".md" {
			p = front(p)
		}
		p = bytes.ReplaceAll(p, []byte{0}, nil) // UTF-16
		if first {
			k = kindOf(ext, p)
		}
		if found := s.joint(p, k); found != "" {
			return found, nil
		}
		switch {
		case err == io.EOF || err == io.ErrUnexpectedEOF || ext == ".md":
			return "", nil
		case err != nil:
			return "", err
		}
		held = copy(buf, buf[len(buf)-overlap:])
	}
}

func (s *Search) joint(p []byte, k kind) string {
	for _, j := range joints {
		if j.kind != anyText && j.kind != k {
			continue
		}
		if j.re.Match(p) {
			return j.what
		}
	}
	for _, c := range composed.FindAll(p, -1) {
		for _, name := range s.Names {
			if couldBe(c, strings.ToLower(name)) {
				return "the variables of " + string(c[:min(len(c), 64)])
			}
		}
	}
	return ""
}

// couldBe reports whether a component with variables could be a name. One that is a variable
// alone has the text of another value, which is looked at by itself.
func couldBe(c []byte, name string) bool {
	parts := variable.Split(strings.ToLower(string(c)), -1)
	first, last := parts[0], parts[len(parts)-1]
	if len(parts) == 2 && first == "" && last == "" {
		return false
	}
	rest, ok := strings.CutPrefix(name, first)
	if !ok || !strings.HasSuffix(rest, last) {
		return false
	}
	rest = strings.TrimSuffix(rest, last)
	for _, part := range parts[1 : len(parts)-1] {
		i := strings.Index(rest, part)
		if i < 0 {
			return false
		}
		rest = rest[i+len(part):]
	}
	return true
}
