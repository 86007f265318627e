package gate

import (
	"fmt"
	"path"
	"slices"
	"strings"
)

// match is path.Match, but a malformed pattern matches nothing.
func match(pattern, name string) bool {
	ok, err := path.Match(pattern, name)
	return ok && err == nil
}

// literalLen returns how many bytes of a pattern stand for themselves, from its beginning.
func literalLen(pattern string) int {
	if i := strings.IndexAny(pattern, `*?[\`); i >= 0 {
		return i
	}
	return len(pattern)
}

// maxGlob bounds the length of a path pattern, and with it the work of matching.
const maxGlob = 256

// matchPath matches a pattern of a policy with the path of a file below its folder. A
// pattern without a slash is matched with the last part, any other with the whole path; a
// part ** stands for any number of parts.
func matchPath(pattern, name string) bool {
	if !strings.Contains(pattern, "/") {
		return match(pattern, path.Base(name))
	}
	parts := strings.Split(name, "/")
	// fits[i] reports that the pattern parts handled so far match the first i parts of
	// the name.
	fits := make([]bool, len(parts)+1)
	fits[0] = true
	for one := range strings.SplitSeq(pattern, "/") {
		next := make([]bool, len(fits))
		for i := range fits {
			switch {
			case one == "**":
				next[i] = fits[i] || i > 0 && next[i-1]
			case i > 0:
				next[i] = fits[i-1] && match(one, parts[i-1])
			}
		}
		fits = next
	}
	return fits[len(parts)]
}

// Exclude makes a [Gate.Exclude] of patterns like those of policies: a file is left out if
// a pattern matches it or a folder that contains it.
func Exclude(patterns ...string) (func(name string) bool, error) {
	for _, p := range patterns {
		if _, err := path.Match(p, ""); err != nil || p == "" || len(p) > maxGlob {
			return nil, fmt.Errorf("%q is not a pattern of paths", p)
		}
	}
	return func(name string) bool {
		for ; name != "." && name != "/"; name = path.Dir(name) {
			if slices.ContainsFunc(patterns, func(p string) bool { return matchPath(p, name) }) {
				return true
			}
		}
		return false
	}, nil
}
