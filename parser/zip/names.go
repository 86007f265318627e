package zip

import (
	"hash/maphash"
	"strings"
	"unicode/utf8"

	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
)

// checkName refuses names that a file system or another reader could take for something
// else.
func checkName(name string, flags uint16) error {
	if name == "" {
		return wire.ErrText.WithRule("zip.name-empty").Errorf("empty name")
	}
	ascii := true
	for i := range len(name) {
		switch c := name[i]; {
		case c < ' ' || c == 0x7f:
			return wire.ErrText.WithRule("zip.name-control").Errorf("control character %#02x in a name", c)
		case c == '\\':
			return wire.ErrText.WithRule("zip.name-backslash").Errorf("backslash in a name")
		case c >= utf8.RuneSelf:
			ascii = false
		}
	}
	if !ascii {
		if err := checkRunes(name, flags); err != nil {
			return err
		}
	}
	return checkPath(name)
}

func checkRunes(name string, flags uint16) error {
	if flags&flagUTF8 == 0 {
		return wire.ErrText.WithRule("zip.name-encoding").Errorf("name is not ASCII and not marked as UTF-8")
	}
	for i := 0; i < len(name); {
		r, n := utf8.DecodeRuneInString(name[i:])
		if r == utf8.RuneError && n == 1 {
			return wire.ErrText.WithRule("zip.name-encoding").Errorf("name is not UTF-8")
		}
		if r < 0xa0 && r >= 0x80 {
			return wire.ErrText.WithRule("zip.name-control").Errorf("control character %#02x in a name", r)
		}
		i += n
	}
	return nil
}

func checkPath(name string) error {
	if name[0] == '/' || len(name) >= 3 && name[1] == ':' && name[2] == '/' {
		return wire.ErrText.WithRule("zip.path-escape").Errorf("absolute path")
	}
	if name == ".." || strings.HasPrefix(name, "../") || strings.HasSuffix(name, "/..") || strings.Contains(name, "/../") {
		return wire.ErrText.WithRule("zip.path-escape").Errorf("path leaves its folder")
	}
	return nil
}

// duplicates refuses two members of the same name, ignoring case unless the options allow
// names that differ in case. Then it notes the first such pair.
func (d *decoder) duplicates(m []Member) error {
	size := 16
	for size < 2*len(m) {
		size *= 2
	}
	slots, err := limits.Make[uint32](d.b, size)
	if err != nil {
		return err
	}
	i, j, err := d.pair(m, slots, !d.opts.ExactCase)
	if err != nil {
		return err
	}
	if i >= 0 {
		cause := wire.ErrDuplicate.WithRule("zip.name-twice")
		if m[i].Name != m[j].Name {
			cause = wire.ErrDuplicate.WithRule("zip.case-twin")
		}
		return d.c.FailAt(d.where(i), m[i].HeaderOff, cause.Errorf("same name as %s", d.where(j)))
	}
	if d.opts.ExactCase {
		clear(slots)
		d.out.Twin, _, err = d.pair(m, slots, true)
	}
	return err
}

// pair returns the first member with the name of an earlier one, and that one, or -1.
// Slots hold indices plus one. The hash is seeded so that chosen names cannot make the
// search slow.
func (d *decoder) pair(m []Member, slots []uint32, folded bool) (later, earlier int, err error) {
	seed, mask := maphash.MakeSeed(), uint64(len(slots)-1)
	for i := range m {
		if err := d.steps.Step(); err != nil {
			return 0, 0, err
		}
		at := nameHash(seed, m[i].Name, folded) & mask
		for ; slots[at] != 0; at = (at + 1) & mask {
			j := int(slots[at]) - 1
			if m[i].Name == m[j].Name || folded && foldedEqual(m[i].Name, m[j].Name) {
				return i, j, nil
			}
		}
		slots[at] = uint32(i) + 1
	}
	return -1, -1, nil
}

// nameHash hashes a name, with ASCII letters in lower case if folded.
func nameHash(seed maphash.Seed, name string, folded bool) uint64 {
	if !folded {
		return maphash.String(seed, name)
	}
	var h maphash.Hash
	var buf [64]byte
	h.SetSeed(seed)
	for len(name) > 0 {
		n := copy(buf[:], name)
		for i := range n {
			buf[i] = fold(buf[i])
		}
		h.Write(buf[:n])
		name = name[n:]
	}
	return h.Sum64()
}

func foldedEqual(a, b string) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range len(a) {
		if fold(a[i]) != fold(b[i]) {
			return false
		}
	}
	return true
}

// fold converts an ASCII letter to lower case, as PyTorch's reader does.
func fold(c byte) byte {
	if 'A' <= c && c <= 'Z' {
		return c + 'a' - 'A'
	}
	return c
}

// isDir reports whether a name is that of a folder.
func isDir(name string) bool { return strings.HasSuffix(name, "/") }
