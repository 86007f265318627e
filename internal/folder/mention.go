package folder

import (
	"bytes"
	"io"
	"path"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// A Search looks for names of files in the files that could name them.
type Search struct {
	// Names are what is looked for: files and folders at the top of a folder.
	Names []string
	// Inside are the entries of those that are folders. In a file that is not a text, only
	// a folder's name with that of an entry is enough: four bytes are somewhere by chance.
	Inside map[string][]string
}

// silent reports whether the libraries that read a file of this name open no file that it
// names: vocabularies, the notes of git, and licences.
func silent(name string) bool {
	switch strings.ToLower(path.Base(name)) {
	case "tokenizer.json", "vocab.json", "vocab.txt", "vocab.bpe", "merges.txt", "dict.txt", "bpe.codes", "added_tokens.json", "special_tokens_map.json",
		"license", "license.txt", "notice", "notice.txt", ".gitattributes", ".gitignore", ".gitmodules":
		return true
	}
	return false
}

// front returns the part of a Markdown text that libraries read, which is the YAML between
// lines of three hyphens at its beginning.
func front(p []byte) []byte {
	if !bytes.HasPrefix(p, []byte("---")) {
		return nil
	}
	if end := bytes.Index(p[3:], []byte("\n---")); end >= 0 {
		return p[:3+end]
	}
	return p
}

const (
	pieceLen = 256 << 10
	// overlap is longer than a name that is looked for, however it is escaped.
	overlap = 8 << 10
)

// tensors are the beginnings of formats that hold tensors and name no file. Their loaders
// are those of this program; what else is in them a scan refuses.
var tensors = []string{"GGUF", "\x93NUMPY", "PK\x03\x04"}

// In returns the first of the names that a file called name mentions as a path, or "". It
// reads escapes of JSON, YAML, XML and addresses, ignores case, and takes a backslash for a
// slash. It does not see names that a program puts together.
func (s *Search) In(name string, r io.Reader) (string, error) {
	if len(s.Names) == 0 || silent(name) {
		return "", nil
	}
	buf := make([]byte, pieceLen)
	held, text := 0, false
	for first := true; ; first = false {
		n, err := io.ReadFull(r, buf[held:])
		p := buf[:held+n]
		if strings.EqualFold(path.Ext(name), ".md") {
			return s.find(front(p), true), nil
		}
		if first {
			if isTensors(p) {
				return "", nil
			}
			text = isText(p)
		}
		if found := s.find(p, text); found != "" {
			return found, nil
		}
		switch {
		case err == io.EOF || err == io.ErrUnexpectedEOF:
			return "", nil
		case err != nil:
			return "", err
		}
		held = copy(buf, p[len(p)-overlap:])
	}
}

// isTensors reports whether a file has a format that holds tensors. A safetensors file
// begins with the length of its JSON.
func isTensors(p []byte) bool {
	for _, magic := range tensors {
		if bytes.HasPrefix(p, []byte(magic)) {
			return true
		}
	}
	return len(p) > 9 && p[8] == '{' && p[6] == 0 && p[7] == 0
}

// isText reports whether the beginning of a file is UTF-8, or UTF-16 with a mark.
func isText(p []byte) bool {
	if bytes.HasPrefix(p, []byte("\xff\xfe")) || bytes.HasPrefix(p, []byte("\xfe\xff")) {
		return true
	}
	p = bytes.ReplaceAll(p[:min(len(p), 64<<10)], []byte{0}, nil)
	for range utf8.UTFMax { // the last letter may be cut
		if utf8.Valid(p) {
			return true
		}
		p = p[:max(0, len(p)-1)]
	}
	return false
}

func (s *Search) find(p []byte, text bool) string {
	if !text { // has no escapes
		return s.first(lower(p), false)
	}
	once := plain(p)
	if found := s.first(once, true); found != "" || bytes.IndexByte(once, '%') < 0 && !bytes.Contains(once, []byte("&#")) {
		return found
	}
	return s.first(plain(once), true) // an escape may be escaped
}

// first returns the first of the names that a plain text mentions.
func (s *Search) first(p []byte, text bool) string {
	for _, name := range s.Names {
		if s.mentions(p, name, text) {
			return name
		}
	}
	return ""
}

func lowerOf(c byte) byte {
	if 'A' <= c && c <= 'Z' {
		c += 'a' - 'A'
	}
	return c
}

// lower returns a copy with ASCII letters in lower case.
func lower(p []byte) []byte {
	out := make([]byte, len(p))
	for i, c := range p {
		out[i] = lowerOf(c)
	}
	return out
}

// mentions reports whether a plain text contains a name by itself or at the end of a path.
// In a file that is not a text, what is beside a name may be a length, so any place counts.
func (s *Search) mentions(p []byte, name string, text bool) bool {
	low := []byte(strings.ToLower(name))
	for at := 0; ; {
		i := bytes.Index(p[at:], low)
		if i < 0 {
			return false
		}
		at += i + len(low)
		if text {
			if before := at - len(low) - 1; (before < 0 || !isNamePart(p[before])) && (at == len(p) || !isNamePart(p[at])) {
				return true
			}
			continue
		}
		inside, folder := s.Inside[name]
		if !folder {
			return true
		}
		rest, ok := bytes.CutPrefix(p[at:], []byte("/"))
		if ok && slices.ContainsFunc(inside, func(entry string) bool { return bytes.HasPrefix(rest, []byte(strings.ToLower(entry))) }) {
			return true
		}
	}
}

// isNamePart reports whether a byte continues a name.
func isNamePart(c byte) bool {
	return 'a' <= c && c <= 'z' || '0' <= c && c <= '9' || c == '_' || c == '-' || c == '.' || c >= 0x80
}

// plain returns text in lower case, without escapes, with single slashes, and without the
// letters that have no width.
func plain(p []byte) []byte {
	out := make([]byte, 0, len(p))
	add := func(c rune) {
		switch {
		case c == 0 || c >= 0x80 && isUnseen(c): // systems leave it out
		case c == '/' && len(out) > 0 && out[len(out)-1] == '/':
		case c < 0x80:
			out = append(out, lowerOf(byte(c)))
		default: // ſ and the sign of Kelvin are letters of ASCII without case
			if c = fold(c); c < 0x80 {
				out = append(out, lowerOf(byte(c)))
			} else {
				out = append(out, 0x80)
			}
		}
	}
	for len(p) > 0 {
		c, n := escaped(p)
		if n == 0 {
			if c, n = utf8.DecodeRune(p); c == utf8.RuneError && n == 1 {
				c = ' ' // no letter, so no part of a name
			}
		}
		add(c)
		p = p[n:]
	}
	return out
}

// escaped reads the escape at the beginning of p, and returns how long it is, or 0.
func escaped(p []byte) (rune, int) {
	number := func(from, n, base int) (rune, int) {
		if len(p) < from+n {
			return 0, 0
		}
		v, err := strconv.ParseUint(string(p[from:from+n]), base, 32)
		if err != nil {
			return 0, 0
		}
		return rune(v), from + n
	}
	switch {
	case len(p) < 2:
	case p[0] == '%':
		return number(1, 2, 16)
	case p[0] == '&' && p[1] == '#':
		end := bytes.IndexByte(p[:min(len(p), 16)], ';')
		switch {
		case end < 3:
		case p[2] == 'x' || p[2] == 'X':
			return semicolon(number(3, end-3, 16))
		default:
			return semicolon(number(2, end-2, 10))
		}
	case p[0] == '\\':
		c, n := rune(0), 0
		switch p[1] {
		case 'u':
			c, n = number(2, 4, 16)
		case 'U':
			c, n = number(2, 8, 16)
		case 'x':
			c, n = number(2, 2, 16)
		case '0', '1', '2', '3':
			c, n = number(1, 3, 8)
		case 'n', 't', 'r', 'b', 'f', '"', '\'':
			c, n = ' ', 2
		case '/', '\\':
			c, n = '/', 2
		}
		if n == 0 {
			return '/', 1
		}
		return c, n
	}
	return 0, 0
}

func semicolon(c rune, n int) (rune, int) {
	if n == 0 {
		return 0, 0
	}
	return c, n + 1
}
