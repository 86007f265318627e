//go:build !page

// The page in the browser makes no statements about folders: without this search its parser
// is smaller by what unescapes addresses and XML.

package folder

import (
	"bufio"
	"bytes"
	"errors"
	"html"
	"io"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"
	"unicode/utf8"
)

// A Value is a whole value or key of a structured text that is an absolute path or has a
// component "..".
type Value struct {
	Member string // the key that it belongs to, or "" for none
	Text   string
	Path   string // the text with slashes, without the scheme of a file and with the home for ~
}

// maxValue bounds a value: a system opens no longer path.
const maxValue = 64 << 10

// prose are endings of texts that have no values, or that run code, which is judged by itself.
var prose = map[string]bool{
	".txt": true, ".rst": true, ".html": true, ".htm": true, ".py": true, ".ipynb": true, ".sh": true, ".js": true, ".ts": true, ".c": true, ".h": true, ".cpp": true,
	".cc": true, ".cu": true, ".cuh": true, ".rs": true, ".go": true, ".java": true, ".jinja": true, ".jinja2": true, ".j2": true, ".css": true, ".svg": true, ".csv": true, ".tsv": true, ".log": true,
}

// Values calls visit for the values and keys of a text that could lead out of a folder, and
// ends with its first error. JSON is read as JSON. Any other text, and a text that is no
// JSON, is read by lines, as YAML, TOML, XML, INI or a Modelfile. It reads nothing of prose.
func Values(name string, open func() (io.ReadCloser, error), visit func(Value) error) error {
	base := strings.ToLower(path.Base(name))
	if silent(name) {
		return nil
	}
	each := func(read func(*values, *bufio.Reader) error, in func(io.Reader) (io.Reader, bool)) error {
		f, err := open()
		if err != nil {
			return err
		}
		defer f.Close()
		r, ok := in(f)
		if !ok {
			return nil
		}
		return read(&values{visit: visit, modelfile: strings.Contains(base, "modelfile")}, bufio.NewReaderSize(r, maxValue))
	}
	json, isJSON := false, false
	if err := each(func(v *values, in *bufio.Reader) (err error) {
		isJSON, err = v.json(in)
		return err
	}, func(r io.Reader) (io.Reader, bool) {
		in := bufio.NewReaderSize(r, pieceLen)
		head, err := in.Peek(pieceLen)
		if err != nil && err != io.EOF || isTensors(head) || !isText(head) {
			return nil, false
		}
		begin := bytes.TrimLeft(head, "\xef\xbb\xbf\xff\xfe\x00 \t\r\n")
		json = len(begin) > 0 && (begin[0] == '{' || begin[0] == '[' || begin[0] == '"')
		return in, json
	}); err != nil || isJSON {
		return err
	}
	if prose[path.Ext(base)] && !json {
		return nil
	}
	return each((*values).lines, func(r io.Reader) (io.Reader, bool) {
		in := bufio.NewReaderSize(r, pieceLen)
		head, err := in.Peek(pieceLen)
		if err != nil && err != io.EOF || isTensors(head) || !isText(head) {
			return nil, false
		}
		if path.Ext(base) == ".md" {
			return bytes.NewReader(front(head)), true
		}
		return in, true
	})
}

type values struct {
	visit     func(Value) error
	all       func(key, text string) // instead of visit, for every value
	modelfile bool
	key       string
}

// found judges one value.
func (v *values) found(text string) error {
	if v.all != nil {
		v.all(v.key, text)
		return nil
	}
	to := strings.TrimSpace(strings.ReplaceAll(text, "\x00", ""))
	if to == "" || len(to) > maxValue || strings.ContainsAny(to, "\n\r") {
		return nil
	}
	if len(to) > 5 && strings.EqualFold(to[:5], "file:") {
		to = to[5:]
		if plain, err := url.PathUnescape(to); err == nil {
			to = plain
		}
		if rest, ok := strings.CutPrefix(to, "//"); ok {
			to = strings.TrimPrefix(rest, "localhost")
		}
	}
	to = strings.ReplaceAll(to, "\\", "/")
	if to == "~" || strings.HasPrefix(to, "~/") {
		if home, err := os.UserHomeDir(); err == nil {
			to = filepath.ToSlash(home) + to[1:]
		}
	}
	switch {
	case strings.Trim(to, "/") == "":
		return nil // a separator
	case !IsAbs(to) && !goesUp(to):
		return nil
	}
	return v.visit(Value{v.key, text, to})
}

// IsAbs reports whether a path with slashes is absolute on this system or another one.
func IsAbs(to string) bool {
	return strings.HasPrefix(to, "/") || filepath.IsAbs(filepath.FromSlash(to))
}

func goesUp(to string) bool {
	return to == ".." || strings.HasPrefix(to, "../") || strings.HasSuffix(to, "/..") || strings.Contains(to, "/../")
}

// json reads JSON and reports whether it is some: nothing but strings, numbers, words and
// marks. The rest of what JSON requires makes no string another one.
func (v *values) json(in *bufio.Reader) (is bool, err error) {
	is = true
	var text, word []byte
	for quoted := false; ; {
		c, err := in.ReadByte()
		if err == io.EOF {
			return is && !quoted && isWord(word), nil
		}
		switch {
		case err != nil:
			return false, err
		case c == 0: // UTF-16
		case !quoted && c == '"':
			is = is && isWord(word)
			quoted, text, word = true, text[:0], word[:0]
		case !quoted && strings.IndexByte(" \t\r\n{}[],:", c) >= 0:
			is = is && isWord(word)
			word = word[:0]
		case !quoted:
			word = append(word[:min(len(word), 100)], c)
		case c == '"':
			quoted = false
			key, number, err := follows(in)
			if err != nil {
				return false, err
			}
			plain := unescape(text)
			if !number { // the key of a number is a word of a vocabulary
				if err := v.found(plain); err != nil {
					return false, err
				}
			}
			if key {
				v.key = plain
			}
		default:
			is = is && c >= ' '
			if len(text) < maxValue {
				text = append(text, c)
			}
			if c != '\\' {
				continue
			}
			for c = 0; c == 0; { // UTF-16
				if c, err = in.ReadByte(); err != nil {
					break
				}
			}
			if err != nil {
				continue
			}
			is = is && strings.IndexByte("\"\\/bfnrtu", c) >= 0
			if len(text) < maxValue {
				text = append(text, c)
			}
		}
	}
}

// isWord reports whether text outside of strings is a number or a word of JSON.
func isWord(word []byte) bool {
	// A byte order mark may precede it, in UTF-16 as bytes that are not UTF-8.
	mark := func(r rune) bool { return r == '-' || r == '\ufeff' || r == utf8.RuneError }
	switch strings.TrimLeftFunc(string(word), mark) {
	case "", "true", "false", "null", "NaN", "Infinity":
		return true
	}
	return isNumber(string(word))
}

func isNumber(text string) bool {
	_, err := strconv.ParseFloat(text, 64)
	return err == nil || errors.Is(err, strconv.ErrRange)
}

// follows reports whether a string is a key, and whether its value is a number.
func follows(in *bufio.Reader) (key, number bool, err error) {
	for {
		c, err := in.ReadByte()
		switch {
		case err == io.EOF:
			return key, false, nil
		case err != nil:
			return false, false, err
		case c == ':' && !key:
			key = true
		case c != 0 && strings.IndexByte(" \t\r\n", c) < 0:
			return key, key && (c == '-' || '0' <= c && c <= '9'), in.UnreadByte()
		}
	}
}

// unescape returns a text without the escapes of JSON and YAML.
func unescape(p []byte) string {
	if bytes.IndexByte(p, '\\') < 0 {
		return string(p)
	}
	out := make([]byte, 0, len(p))
	for len(p) > 0 {
		if p[0] != '\\' || len(p) < 2 {
			out, p = append(out, p[0]), p[1:]
			continue
		}
		switch p[1] {
		case 'n', 'r':
			out, p = append(out, '\n'), p[2:]
			continue
		case '\\', '/', '"', '\'':
			out, p = append(out, p[1]), p[2:]
			continue
		}
		c, n := escaped(p)
		out, p = utf8.AppendRune(out, c), p[max(n, 1):]
	}
	return string(out)
}

// lines reads other texts. A line that is longer than the buffer is read in pieces.
func (v *values) lines(in *bufio.Reader) error {
	for {
		p, err := in.ReadSlice('\n')
		if err != nil && err != io.EOF && err != bufio.ErrBufferFull {
			return err
		}
		if err := v.line(string(bytes.ReplaceAll(p, []byte{0}, nil))); err != nil {
			return err
		}
		if err == io.EOF {
			return nil
		}
	}
}

// instructions begin the lines of a Modelfile that name files.
var instructions = map[string]bool{"from": true, "adapter": true, "draft": true}

func (v *values) line(text string) error {
	for _, mark := range []string{"\xff\xfe", "\xfe\xff"} { // of byte order
		text = strings.TrimPrefix(text, mark)
	}
	text = strings.Trim(text, " \t\r\n\ufeff\ufffe")
	if strings.HasPrefix(text, "#") {
		return nil
	}
	v.key = ""
	if word, rest, ok := strings.Cut(strings.ReplaceAll(text, "\t", " "), " "); ok && (v.modelfile || instructions[strings.ToLower(word)]) {
		v.key = word
		if err := v.found(strings.Trim(strings.TrimSpace(rest), `"'`)); err != nil {
			return err
		}
	}
	for text != "" {
		i := strings.IndexAny(text, "\"'")
		if i < 0 {
			return v.unquoted(text)
		}
		end := i + 1
		for end < len(text) && text[end] != text[i] {
			if text[end] == '\\' && text[i] == '"' {
				end++
			}
			end++
		}
		if end >= len(text) { // it goes on in the next line, or is an apostrophe
			if err := v.unquoted(text[:i]); err != nil {
				return err
			}
			text = text[i+1:]
			continue
		}
		if err := v.unquoted(text[:i]); err != nil {
			return err
		}
		plain := text[i+1 : end]
		if text[i] == '"' {
			plain = unescape([]byte(plain))
		}
		text = text[end+1:]
		behind, isKey := strings.CutPrefix(strings.TrimLeft(text, " \t"), ":")
		if number, _, _ := strings.Cut(strings.TrimSpace(behind), ","); isKey && isNumber(strings.TrimRight(number, " ]}")) {
			continue // a word of a vocabulary
		}
		if err := v.found(html.UnescapeString(plain)); err != nil {
			return err
		}
		if isKey {
			v.key = plain
		}
	}
	return nil
}

// unquoted judges the part of a line outside of quotes: keys and values between marks.
func (v *values) unquoted(text string) error {
	if i := strings.Index(text, " #"); i >= 0 {
		text = text[:i]
	}
	text = strings.ReplaceAll(text, "</", "<") // the end of an element
	if before, ok := strings.CutSuffix(strings.TrimSpace(text), "="); ok {
		before = strings.TrimSpace(before)
		defer func() { v.key = before[strings.LastIndexAny(before, " <\t")+1:] }()
	}
	for _, part := range strings.FieldsFunc(text, func(c rune) bool { return strings.ContainsRune(",[]{}<>=|\t", c) }) {
		for rest, more := part, true; more; {
			var one string
			if one, rest, more = strings.Cut(rest, ": "); !more {
				one = strings.TrimSuffix(strings.TrimSpace(one), ":")
			}
			for { // - of a list, ? of a key, tags and anchors
				one = strings.TrimSpace(one)
				word, behind, ok := strings.Cut(one, " ")
				if !ok || word != "-" && word != "?" && word[0] != '!' && word[0] != '&' {
					break
				}
				one = behind
			}
			if err := v.found(html.UnescapeString(one)); err != nil {
				return err
			}
			if more && one != "" {
				v.key = one
			}
		}
	}
	return nil
}
