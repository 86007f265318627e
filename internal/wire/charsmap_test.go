package wire_test

import (
	"encoding/binary"
	"testing"

	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/limits/limitstest"
)

// table is a map of one block of units and texts.
func table(units map[int]uint32, texts string) []byte {
	p := binary.LittleEndian.AppendUint32(nil, 1024)
	for i := range 256 {
		p = binary.LittleEndian.AppendUint32(p, units[i])
	}
	return append(p, texts...)
}

// leaf is the unit of a letter at its place, with its text at another place.
func leaf(c, at uint32) uint32 { return (c^at)<<10 | 1<<8 | c }

func TestNoTextLeadsOutOfAMapOfCharacters(t *testing.T) {
	const value = 1 << 31
	for what, c := range map[string]struct {
		p   []byte
		why string
	}{
		"none":                     {nil, ""},
		"an empty trie":            {table(nil, "\x00"), ""},
		"a letter":                 {table(map[int]uint32{'a': leaf('a', 128), 128: value | 2}, "x\x00y\x00"), ""},
		"a node of itself":         {table(map[int]uint32{'a': 'a'<<10 | 'a'}, "\x00"), ""},
		"a text behind all":        {table(map[int]uint32{'a': leaf('a', 128), 128: value | 4}, "x\x00y\x00"), "a text of it begins where there is none"},
		"half a letter":            {table(map[int]uint32{'a': leaf('a', 128), 128: value | 1}, "é\x00"), "a text of it begins where there is none"},
		"the root leads out":       {table(map[int]uint32{0: 256 << 10}, "\x00"), "a node of it leads out of its table"},
		"a letter leads out":       {table(map[int]uint32{'a': 1<<9 | 4<<10 | 'a'}, "\x00"), "a node of it leads out of its table"},
		"no letter leads there":    {table(map[int]uint32{'a': 1<<9 | 4<<10 | 'b'}, "\x00"), ""},
		"a trie without a block":   {append([]byte{4, 0, 0, 0, 0, 0, 0, 0}, 0), "a node of it leads out of its table"},
		"units that are not whole": {append([]byte{5, 0, 0, 0, 0, 0, 0, 0, 0}, 0), "its units are not whole"},
		"no units":                 {[]byte{0, 0, 0, 0, 0}, "its units are not whole"},
		"no texts":                 {table(nil, ""), "it is shorter than it states"},
		"a text without an end":    {table(nil, "x"), "its last text does not end"},
		"texts of other bytes":     {table(nil, "\xff\x00"), "its texts are not UTF-8"},
	} {
		b := limits.Policy{}.Budget(t.Context())
		if why, err := wire.CharsMap(b, c.p); why != c.why || err != nil {
			t.Errorf("%s: %q, %v", what, why, err)
		}
		b.Close()
	}
}

// Each node that a text can lead to costs a step.
func TestNodesOfAMapOfCharactersCostSteps(t *testing.T) {
	sum := int64(0)
	limitstest.Watch(t, func(axis string, n int64) {
		if axis == "steps" {
			sum += n
		}
	})
	cost := func(units map[int]uint32) int64 {
		b := limits.Policy{}.Budget(t.Context())
		defer b.Close()
		sum = 0
		if why, err := wire.CharsMap(b, table(units, "\x00")); why != "" || err != nil {
			t.Fatal(why, err)
		}
		return sum
	}
	node := func(c, base uint32) uint32 { return (c^base)<<10 | c }
	none := cost(nil)
	if one, two := cost(map[int]uint32{'a': node('a', 128)}), cost(map[int]uint32{'a': node('a', 128), 'b': node('b', 64)}); one != none+1 || two != none+2 {
		t.Errorf("%d steps without a letter, %d with one, %d with two", none, one, two)
	}
}
