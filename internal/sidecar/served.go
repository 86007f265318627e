package sidecar

import (
	_ "embed"
	"path"
	"strings"
	"sync"
)

//go:embed served.txt
var servedTable string

// A sink is what a library does with what a member names.
type sink struct{ who, does string }

// served has what servers do with members of the text with which they are started, by the names of the
// members. crosscheck/sinks/served.py makes the table of the sources of these libraries.
var served = sync.OnceValue(func() map[string]sink {
	out := map[string]sink{}
	for line := range strings.Lines(servedTable) {
		if part := strings.Split(strings.TrimSpace(line), "\t"); len(part) == 3 {
			out[part[0]] = sink{part[2], part[1]}
		}
	}
	return out
})

// servedBy returns what a server does with a member. Options of commands have hyphens in their names, and
// those of an object its name and a point before them.
func servedBy(key string) (sink, bool) {
	key = key[strings.LastIndexByte(key, '.')+1:]
	s, is := served()[strings.ReplaceAll(strings.ToLower(key), "-", "_")]
	return s, is
}

// namesCode reports whether a text is the name of a class or a function in a module, as a.b and a:b, a
// file of code, or an alias of YAML, which may be any of these.
func namesCode(text string) bool {
	text = strings.TrimSpace(text)
	module, object, entry := strings.Cut(text, ":")
	return strings.HasPrefix(text, "*") || isDottedName(text) != "" || entry && isNames(module) && isNames(object) || codeEndings[path.Ext(text)] != ""
}

// trustKeys are the names with which a library or a server runs the code of a repository.
var trustKeys = [...]string{"trust_remote_code", "trust-remote-code"}

// trustsIn reports whether a line of INI or TOML gives such a key a value that is not false: its
// own value, or one in a table or an object within the line.
func trustsIn(line string) bool {
	for _, name := range trustKeys {
		for rest := line; ; {
			before, after, found := strings.Cut(rest, name)
			if !found {
				break
			}
			rest = after
			value := strings.TrimLeft(after, "\"' \t")
			if before != "" && inName(before[len(before)-1]) || value == "" || value[0] != '=' && value[0] != ':' {
				continue
			}
			value = strings.TrimLeft(value[1:], " \t") // a text is true, whatever it says
			if end := strings.IndexAny(value, " \t,}];#\r\n"); end >= 0 {
				value = value[:end]
			}
			if !isFalse(strings.ToLower(value)) {
				return true
			}
		}
	}
	return false
}
