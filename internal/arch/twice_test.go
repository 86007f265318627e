package arch

import (
	"regexp"
	"strings"
	"testing"
)

// thin are lines that say nothing by themselves: brackets, comments, a name of a list, an
// error that is passed on.
var thin = regexp.MustCompile(`^(\W*|\w+,?|//.*|if err != nil \{|if err := .*; err != nil \{|return (nil, |false, |0, |"", )*(err|nil)|\} else \{|default:|defer \w+\.Close\(\)|(t|b)\.Helper\(\)|(t|b|log)\.Fatal\(err\))$`)

// Of two copies only one gets changed. Six consecutive lines of substance appear in only one place,
// tests included; generated code, and examples, which are read by themselves, do not count.
func TestNoSixLinesAreDuplicated(t *testing.T) {
	const most = 6
	type place struct {
		file string
		line int
	}
	first := map[string]place{}
	for _, s := range sources(t) {
		if s.generated() || table(s) || s.in("examples") {
			continue
		}
		var run []string
		var at []int
		imports, last := false, place{}
		for n, line := range strings.Split(string(s.text), "\n") {
			line = strings.TrimSpace(line)
			switch {
			case line == "import (":
				imports = true
			case imports:
				imports = line != ")"
			case thin.MatchString(line) || strings.HasPrefix(line, "package ") || strings.HasPrefix(line, "import "):
			default:
				run, at = append(run, line), append(at, n+1)
				if len(run) < most {
					continue
				}
				text := strings.Join(run[len(run)-most:], "\n")
				here := place{s.path, at[len(at)-most]}
				other, twice := first[text]
				if !twice {
					first[text] = here
					continue
				}
				if last != (place{other.file, other.line - 1}) { // once for each run
					t.Errorf("%s:%d: six lines stand at %s:%d too", here.file, here.line, other.file, other.line)
				}
				last = other
			}
		}
	}
	if len(first) < 10000 {
		t.Errorf("only %d places were looked at", len(first))
	}
}
