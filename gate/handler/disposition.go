package handler

import (
	"strings"
	"unicode/utf8"
)

// dispositionNames reads the Content-Disposition of a part of a form, or of a body, of a kind:
//
//	kind *( ";" ( "name" | "filename" ) "=" ( token | DQUOTE text DQUOTE ) )
//
// each parameter once. isFile says that there is a filename. Readers of forms differ in what they
// make of anything else, so nothing else is ok: of single quotes, which PHP takes off, of a
// backslash, which some take for the beginning of an escape, of a name with a star (RFC 7578, 4.2,
// forbids it), of other letters' case, of a second parameter of the same name.
func dispositionNames(s, kind string) (name, file string, isFile, ok bool) {
	rest, ok := strings.CutPrefix(s, kind)
	for ok && rest != "" {
		var key, value string
		if rest, ok = strings.CutPrefix(strings.TrimLeft(rest, " \t"), ";"); !ok {
			break
		}
		if key, rest, ok = strings.Cut(strings.TrimLeft(rest, " \t"), "="); !ok {
			break
		}
		value, rest, ok = cutValue(rest)
		switch {
		case key == "name" && name == "":
			name = value
		case key == "filename" && !isFile:
			file, isFile = value, true
		default:
			ok = false
		}
	}
	if !ok || !isOneName(name) || !isOneName(file) {
		return "", "", false, false
	}
	return name, file, isFile, true
}

// cutValue cuts the value of a parameter off.
func cutValue(s string) (value, rest string, ok bool) {
	if quoted, is := strings.CutPrefix(s, `"`); is {
		return strings.Cut(quoted, `"`)
	}
	rest = strings.TrimLeft(s, "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ-._~+")
	value = s[:len(s)-len(rest)]
	return value, rest, value != ""
}

// isOneName reports whether all readers of forms see the same name in a value. None ends within
// it, takes marks off its ends or puts another character in the place of some.
func isOneName(s string) bool {
	return utf8.ValidString(s) && !strings.ContainsAny(s, `\;<>`) && !strings.Contains(s, "=?") && strings.Trim(s, "' \t") == s
}

// charsetOf returns the charset of a Content-Type from the text and the parameters of that, "" if
// it has none. It is ok only if every reader decodes the same letters as the gate: a text in UTF-7,
// or in another charset of Python, would have content that was not judged.
func charsetOf(kind string, params map[string]string) (charset string, ok bool) {
	charset, is := params["charset"]
	charset = strings.ToLower(charset)
	if n := strings.Count(strings.ToLower(kind), "charset"); !is {
		return "", n == 0
	} else if n != 1 {
		return "", false
	}
	return charset, charset == "utf-8" || charset == ascii
}

const ascii = "us-ascii"

func isASCII(s string) bool {
	return strings.IndexFunc(s, func(c rune) bool { return c >= utf8.RuneSelf }) < 0
}
