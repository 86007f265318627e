package parser

import (
	"bytes"
	"slices"
	"strings"
)

// hasMembers returns a matcher for objects that have a member for each argument; "a|b"
// means either.
func hasMembers(all ...string) func(*head) fit {
	var names [][]string
	for _, any := range all {
		names = append(names, strings.Split(any, "|"))
	}
	return whole(func(h *head) bool {
		p := trimText(h.p)
		if len(p) == 0 || p[0] != '{' {
			return false
		}
		for _, any := range names {
			if !slices.ContainsFunc(any, func(name string) bool { return hasMember(p, name) }) {
				return false
			}
		}
		return isJSON(h) // which looks at each character
	})
}

// hasMember reports whether the outermost object has a member called name, in the part of
// the text that is there. Escapes are not resolved.
func hasMember(p []byte, name string) bool {
	if !quotes(p, name) { // most texts do not have it anywhere
		return false
	}
	depth, open := 0, -1 // offset at which the current text began
	for i := 0; i < len(p); i++ {
		switch c := p[i]; {
		case open >= 0 && c == '\\':
			i++
		case c != '"' && open >= 0:
		case c == '"' && open < 0:
			open = i + 1
		case c == '"':
			rest := bytes.TrimLeft(p[i+1:], " \t\r\n")
			if depth == 1 && string(p[open:i]) == name && len(rest) > 0 && rest[0] == ':' {
				return true
			}
			open = -1
		case c == '{' || c == '[':
			depth++
		case c == '}' || c == ']':
			depth--
		}
	}
	return false
}

// quotes reports whether a text has a name between quotes.
func quotes(p []byte, name string) bool {
	for {
		i := bytes.Index(p, []byte(name))
		if i < 0 {
			return false
		}
		end := i + len(name)
		if i > 0 && p[i-1] == '"' && end < len(p) && p[end] == '"' {
			return true
		}
		p = p[i+1:]
	}
}

// isModules matches the list of modules that sentence-transformers keeps.
func isModules(h *head) bool {
	p := trimText(h.p)
	if !isJSON(h) || p[0] != '[' {
		return false
	}
	p = bytes.TrimLeft(p[1:], " \t\r\n")
	return !slices.ContainsFunc([]string{"idx", "path", "type"}, func(name string) bool { return !hasMember(p, name) })
}
