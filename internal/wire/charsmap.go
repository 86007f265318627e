package wire

import (
	"encoding/binary"
	"unicode/utf8"

	"github.com/anamnesis-go/anamnesis/limits"
)

// MaxCharsMap is far larger than any SentencePiece map of characters: that of Unicode's
// normalization has 240 KB.
const MaxCharsMap = 4 << 20

// The parts of a unit of Darts: a node is found by its letter at an offset from the one before it.
const (
	unitLeaf  = 1 << 8
	unitValue = 1 << 31
	lastByte  = 0xff
)

// CharsMap says why a reader would leave a SentencePiece map of characters for some text, "" if none
// does. A map is the size of a trie, its units of four bytes, and texts that end with zero bytes. The
// readers look for a unit at any letter of any node, and for a text at the value of any leaf, most of
// them without a look at the size.
func CharsMap(b *limits.Budget, p []byte) (why string, err error) {
	if len(p) == 0 {
		return "", nil // no map does nothing
	}
	if !HoldsTable(p, uint64(len(p))) {
		return "it is shorter than it states", nil
	}
	size := binary.LittleEndian.Uint32(p)
	m := charsMap{units: p[4 : 4+size], texts: p[4+size:]}
	switch {
	case size%4 != 0 || size == 0:
		return "its units are not whole", nil
	case m.texts[len(m.texts)-1] != 0:
		return "its last text does not end", nil
	case !utf8.Valid(m.texts):
		return "its texts are not UTF-8", nil
	}
	if m.seen, err = limits.Make[byte](b, (len(m.units)/4+7)/8); err != nil {
		return "", err
	}
	defer b.Drop(int64(len(m.seen)))
	return m.walk(b)
}

// A charsMap is a trie and its texts.
type charsMap struct {
	units, texts []byte
	seen         []byte // a bit for each unit that is the base of a node
	bases        []uint32
}

func (m *charsMap) unit(i uint32) uint32 { return binary.LittleEndian.Uint32(m.units[4*int(i):]) }

// offsetOf is how far from a node its letters are.
func offsetOf(unit uint32) uint32 { return (unit >> 10) << ((unit & (1 << 9)) >> 6) }

// walk looks at every letter of every node that a text can lead to.
func (m *charsMap) walk(b *limits.Budget) (why string, err error) {
	steps := b.Steps()
	lists := b.Holding()
	defer lists.Close()
	if why, err = m.base(lists, offsetOf(m.unit(0)), false); why != "" || err != nil {
		return why, err
	}
	for len(m.bases) > 0 {
		base := m.bases[len(m.bases)-1]
		m.bases = m.bases[:len(m.bases)-1]
		if err := steps.Step(); err != nil {
			return "", err
		}
		for c := uint32(1); c <= lastByte; c++ { // a zero byte ends a text
			at := base ^ c
			unit := m.unit(at)
			if unit&(unitValue|lastByte) != c {
				continue
			}
			if why, err = m.base(lists, at^offsetOf(unit), unit&unitLeaf != 0); why != "" || err != nil {
				return why, err
			}
		}
	}
	return "", nil
}

// base notes where the letters of a node begin. Of a leaf it checks the value, which has the same place.
func (m *charsMap) base(b *limits.Budget, at uint32, leaf bool) (string, error) {
	if int64(at|lastByte) >= int64(len(m.units)/4) {
		return "a node of it leads out of its table", nil
	}
	if leaf {
		text := int64(m.unit(at) &^ unitValue)
		if text >= int64(len(m.texts)) || !utf8.RuneStart(m.texts[text]) {
			return "a text of it begins where there is none", nil
		}
	}
	if m.seen[at/8]&(1<<(at%8)) != 0 {
		return "", nil
	}
	m.seen[at/8] |= 1 << (at % 8)
	var err error
	m.bases, err = limits.Append(b, m.bases, at)
	return "", err
}
