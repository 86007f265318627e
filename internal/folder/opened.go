package folder

import (
	"strings"
	"unicode"
)

// Opened returns the name of the file that some system opens for a component of a path, in lower
// case. A file that is judged by its name is judged by this one: it is handler.py for
// "HANDLER.PY. " on Windows, for "handler.py::$DATA" on NTFS, and for one with a character of no
// width on HFS+, and .git for git~1. No name becomes less by it: the letters, digits and dots of
// ASCII stay, but dots at the end and the name of a stream.
//
// Rules: git 2.54, path.c (is_ntfs_dotgit, is_ntfs_dot_generic) and utf8.c (next_hfs_char); and
// Microsoft's "Naming Files, Paths, and Namespaces".
func Opened(part string) string {
	part = withoutStream(strings.ToLower(strings.Map(func(r rune) rune {
		switch {
		case r < 0x80:
			return r
		case isUnseen(r):
			return -1
		case r == '\u017f': // which becomes s in upper case
			return 's'
		case r == '\u2024', r == '\ufe52', r == '\uff0e':
			return '.'
		}
		return r
	}, part)))
	if bare := strings.TrimRightFunc(part, func(r rune) bool { return r == '.' || unicode.IsSpace(r) }); bare != "" {
		part = bare
	}
	if stem, number, ok := strings.Cut(part, "~"); ok && len(number) == 1 && number[0] >= '0' && number[0] <= '9' && shortNames[stem] != "" {
		return shortNames[stem]
	}
	return part
}

// shortNames are the names of git's files that NTFS shortens, by what it leaves of them before a
// tilde and a digit: six letters, or two and a hash.
var shortNames = map[string]string{"git": ".git", "gitmod": ".gitmodules", "gi7eba": ".gitmodules", "gitcon": ".gitconfig", "lfscon": ".lfsconfig"}

// withoutStream returns the name of the file of which NTFS takes a name for a stream with a type,
// as in config.json::$DATA and .git::$INDEX_ALLOCATION.
func withoutStream(part string) string {
	at := strings.LastIndex(part, ":$")
	if at < 0 || strings.ContainsFunc(part[at+2:], func(r rune) bool { return r != '_' && !unicode.IsLetter(r) && !unicode.IsDigit(r) }) {
		return part
	}
	if file, _, _ := strings.Cut(part, ":"); file != "" {
		return file
	}
	return part
}
