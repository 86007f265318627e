package folder

import (
	"io/fs"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/anamnesis-go/anamnesis/internal/wire"
)

// The longest name of a file, and the most folders around it.
const (
	maxName  = 4096
	maxDepth = 64
)

// CheckName rejects a name that is not one file below a folder, on every system and for every
// client: a tool that stores the files under their names would have a file that was not
// examined here.
func CheckName(name string) error {
	if len(name) > maxName || !fs.ValidPath(name) || name == "." || strings.Count(name, "/") > maxDepth || !IsPlain(name) || hasDrive(name) {
		return wire.ErrForbidden.WithRule("file.path-escape").Errorf("%s is not a name of a file", wire.Quote(name))
	}
	return nil
}

// hasDrive reports whether Windows would take a name for a path on a drive.
func hasDrive(name string) bool {
	return len(name) > 1 && name[1] == ':' && (name[0]|0x20 >= 'a' && name[0]|0x20 <= 'z')
}

// IsPlain reports whether s is UTF-8 without control characters and backslashes. Clients
// differ in what they make of those.
func IsPlain(s string) bool {
	return utf8.ValidString(s) && !strings.ContainsRune(s, '\\') && !strings.ContainsFunc(s, unicode.IsControl)
}

// Names are the names of files that become one folder, the same on systems that ignore case
// and on those that do not. The zero value has none.
type Names struct {
	files   map[string]bool   // by their names without case
	folders map[string]string // the spelling of each, by the same
	several []string          // those of both that have other spellings, without case
}

// Add adds a name. The error is about a name that [CheckStored] rejects, that another file has,
// that spells a folder in another way, or that could be another one in Unicode's normalisations.
func (n *Names) Add(name string) error {
	if err := CheckStored(name); err != nil {
		return err
	}
	return n.add(name)
}

// AddListed is [Names.Add] for the listing of a source whose clients write the files under their
// names: it takes names that a system refuses to store, and none that it stores as another one.
func (n *Names) AddListed(name string) error {
	if err := checkListed(name); err != nil {
		return err
	}
	return n.add(name)
}

func (n *Names) add(name string) error {
	if n.files == nil {
		n.files, n.folders = map[string]bool{}, map[string]string{}
	}
	key := withoutCase(name)
	if _, is := n.folders[key]; is {
		return wire.ErrMismatch.Errorf("%s is a file and a folder", wire.Quote(name))
	}
	if n.files[key] {
		return wire.ErrDuplicate.Errorf("two files are called %s (letters compared without case)", wire.Quote(name))
	}
	for i, c := range name {
		if c != '/' {
			continue
		}
		at := withoutCase(name[:i])
		if n.files[at] {
			return wire.ErrMismatch.Errorf("%s is a file and a folder", wire.Quote(name[:i]))
		}
		if was, is := n.folders[at]; is && was != name[:i] {
			return wire.ErrDuplicate.Errorf("a folder is called %s and %s", wire.Quote(was), wire.Quote(name[:i]))
		}
		if _, is := n.folders[at]; !is {
			if err := n.distinct(at); err != nil {
				return err
			}
		}
		n.folders[at] = name[:i]
	}
	if err := n.distinct(key); err != nil {
		return err
	}
	n.files[key] = true
	return nil
}

// maxSeveral is the most names with characters of several spellings: each is compared with all.
const maxSeveral = 256

// distinct rejects a path without case that could be the same as another one.
func (n *Names) distinct(key string) error {
	for _, other := range n.several {
		if mayBeOne(key, other) {
			return twins(key, other)
		}
	}
	if !hasSpellings(key) {
		return nil
	}
	if n.several = append(n.several, key); len(n.several) > maxSeveral {
		return wire.ErrUnsupported.Errorf("more than %d names have characters that Unicode spells in several ways", maxSeveral)
	}
	for other := range n.files {
		if mayBeOne(key, other) {
			return twins(key, other)
		}
	}
	for other := range n.folders {
		if other != key && mayBeOne(key, other) {
			return twins(key, other)
		}
	}
	return nil
}

func twins(a, b string) error {
	a, b = min(a, b), max(a, b)
	return wire.ErrDuplicate.Errorf("%s and %s could be one name where Unicode's characters are normalised", wire.Quote(a), wire.Quote(b))
}

// withoutCase maps all letters that systems may take for the same to one of them.
func withoutCase(s string) string {
	return strings.Map(fold, s)
}

func fold(r rune) rune {
	low := r
	for f := unicode.SimpleFold(r); f != r; f = unicode.SimpleFold(f) {
		low = min(low, f)
	}
	return low
}
