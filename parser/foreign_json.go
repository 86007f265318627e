package parser

import (
	"bytes"
	"slices"
)

// hasMembers returns a matcher for objects that have a member for each argument; "a|b"
// means either.
func hasMembers(all ...string) func(*head) fit {
	return whole(func(h *head) bool {
		p := trimText(h.p)
		if !isJSON(h) || p[0] != '{' {
			return false
		}
		for _, any := range all {
			has := false
			for name := range bytes.SplitSeq([]byte(any), []byte("|")) {
				has = has || hasMember(p, name)
			}
			if !has {
				return false
			}
		}
		return true
	})
}

// hasMember reports whether the outermost object has a member called name, in the part of
// the text that is there. Escapes are not resolved.
func hasMember(p, name []byte) bool {
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
			if depth == 1 && bytes.Equal(p[open:i], name) && len(rest) > 0 && rest[0] == ':' {
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

// isModules matches the list of modules that sentence-transformers keeps.
func isModules(h *head) bool {
	p := trimText(h.p)
	if !isJSON(h) || p[0] != '[' {
		return false
	}
	p = bytes.TrimLeft(p[1:], " \t\r\n")
	return !slices.ContainsFunc([]string{"idx", "path", "type"}, func(name string) bool { return !hasMember(p, []byte(name)) })
}
