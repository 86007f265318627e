package sidecar

import "strings"

// A tomlQuoting follows the quotes of TOML over lines.
type tomlQuoting struct {
	open string // the quotes that end the text at hand, which lines may break, or ""
}

// scan goes past a line, and returns where its comment begins, or its length. A quote that is not
// closed on its line is not TOML, and is taken to extend to the end of the text.
func (q *tomlQuoting) scan(line string) int {
	for i := 0; i < len(line); {
		rest := line[i:]
		switch {
		case q.open != "" && q.open[0] == '"' && rest[0] == '\\':
			i += 2
		case q.open != "" && strings.HasPrefix(rest, q.open):
			i += len(q.open)
			for len(q.open) == 3 && i < len(line) && line[i] == q.open[0] { // of up to five the last three end it
				i++
			}
			q.open = ""
		case q.open != "":
			i++
		case strings.HasPrefix(rest, `"""`), strings.HasPrefix(rest, "'''"):
			q.open = rest[:3]
			i += 3
		case rest[0] == '"', rest[0] == '\'':
			q.open = rest[:1]
			i++
		case rest[0] == '#':
			return i
		default:
			i++
		}
	}
	q.open = strings.Clone(q.open)
	return len(line)
}

// isKeyOf reports whether a line has a name by itself before an equals sign or a colon.
func isKeyOf(line, name string) bool {
	for {
		before, after, found := strings.Cut(line, name)
		if !found {
			return false
		}
		bare := strings.TrimLeft(after, "\"' \t")
		if (before == "" || !inName(before[len(before)-1])) && bare != "" && (bare[0] == '=' || bare[0] == ':') {
			return true
		}
		line = after
	}
}
