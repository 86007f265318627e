package strictjson

import (
	"hash/maphash"
	"strings"
	"unicode/utf8"

	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
)

// few is the number of member names that are compared one by one; larger objects hash them.
const few = 8

// names is the duplicate check of one object. It keeps the position of each name in the text, not
// the name: 10 to 20 bytes each. The hash is seeded, so that no choice of names makes it slow.
type names struct {
	hint    int
	count   int
	escaped bool // a name was written with escapes
	first   [few]uint32
	tags    []uint8  // part of the hash of the name in the slot, 0 for a free slot
	slots   []uint32 // position of the name's quote
}

// tag returns the part of a hash that is kept in tags.
func tag(hash uint64) uint8 { return uint8(hash>>56) | 1 }

// add records the name whose quote is at pos and that ends before d.pos, or refuses a duplicate.
func (n *names) add(d *Decoder, pos int, name string) error {
	n.escaped = n.escaped || d.pos-pos != len(name)+2
	if n.tags == nil && n.count < few {
		for _, p := range n.first[:n.count] {
			if n.same(d, p, name) {
				return duplicate(name)
			}
		}
		n.first[n.count] = uint32(pos)
		n.count++
		return nil
	}
	if (n.count+1)*2 > len(n.tags) {
		if err := n.grow(d); err != nil {
			return err
		}
	}
	hash := maphash.String(d.seed, name)
	mask, t := uint64(len(n.tags)-1), tag(hash)
	i := hash & mask
	for ; n.tags[i] != 0; i = (i + 1) & mask {
		if n.tags[i] == t && n.same(d, n.slots[i], name) {
			return duplicate(name)
		}
	}
	n.tags[i], n.slots[i] = t, uint32(pos)
	n.count++
	return nil
}

func duplicate(name string) error {
	return wire.ErrDuplicate.WithRule("json.member-twice").Errorf("member %s", wire.Quote(name))
}

func (n *names) grow(d *Decoder) error {
	size := 4 * few
	for size <= 2*n.count || size < 2*min(n.hint, len(d.text.Body)) {
		size *= 2
	}
	tags, err := limits.Make[uint8](d.b, size)
	if err != nil {
		return err
	}
	slots, err := limits.Make[uint32](d.b, size)
	if err != nil {
		return err
	}
	old := *n
	n.tags, n.slots = tags, slots
	if old.tags == nil {
		for _, pos := range old.first[:n.count] {
			n.put(d.hash(int(pos)), pos)
		}
	}
	for i, t := range old.tags {
		if t != 0 {
			n.put(d.hash(int(old.slots[i])), old.slots[i])
		}
	}
	return nil
}

func (n *names) put(hash uint64, pos uint32) {
	mask := uint64(len(n.tags) - 1)
	i := hash & mask
	for n.tags[i] != 0 {
		i = (i + 1) & mask
	}
	n.tags[i], n.slots[i] = tag(hash), pos
}

// same reports whether the string whose quote is at pos decodes to name.
func (n *names) same(d *Decoder, pos uint32, name string) bool {
	if n.escaped {
		return d.reads(int(pos), name)
	}
	s := d.text.Body[pos+1:]
	return s[len(name)] == '"' && s[:len(name)] == name
}

// reads reports whether the string whose quote is at pos decodes to name.
func (d *Decoder) reads(pos int, name string) bool {
	s := d.text.Body[pos+1:]
	for {
		i := common(s, name)
		s, name = s[i:], name[i:]
		if s[0] != '\\' {
			return s[0] == '"' && name == ""
		}
		r, n := unescape(s)
		var rune8 [utf8.UTFMax]byte
		enc := rune8[:utf8.EncodeRune(rune8[:], r)]
		if !strings.HasPrefix(name, string(enc)) {
			return false
		}
		s, name = s[n:], name[len(enc):]
	}
}

// common returns the length of the common prefix of name and s, the rest of a string in the text,
// up to a quote or backslash in s.
func common(s, name string) int {
	i := 0
	for i < len(name) && s[i] == name[i] && s[i] != '"' && s[i] != '\\' {
		i++
	}
	return i
}

// hash returns the hash of the string whose quote is at pos, after escapes are resolved.
func (d *Decoder) hash(pos int) uint64 {
	s := d.text.Body[pos+1:]
	i := strings.IndexAny(s, `"\`)
	if s[i] == '"' {
		return maphash.String(d.seed, s[:i])
	}
	var h maphash.Hash
	h.SetSeed(d.seed)
	for ; s[i] != '"'; i = strings.IndexAny(s, `"\`) {
		h.WriteString(s[:i])
		r, n := unescape(s[i:])
		var rune8 [utf8.UTFMax]byte
		h.Write(rune8[:utf8.EncodeRune(rune8[:], r)])
		s = s[i+n:]
	}
	h.WriteString(s[:i])
	return h.Sum64()
}
