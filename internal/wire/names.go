package wire

import (
	"hash/maphash"

	"github.com/anamnesis-go/anamnesis/limits"
)

// A NameSet finds duplicate names without holding them: it keeps the index of
// each name in the caller's own list. It costs 4 to 8 bytes a name, charged,
// and a hostile choice of names cannot make it slow, because the hash is seeded.
type NameSet struct {
	b     *limits.Budget
	seed  maphash.Seed
	slots []uint32 // index+1 into the caller's list, 0 for free
	count int
	name  func(i int) string
}

// maxHint bounds what a set is made for at once; it grows as names come.
const maxHint = 1 << 20

// NewNameSet makes a set over the names that name(i) returns; hint is the
// expected count.
func NewNameSet(b *limits.Budget, hint int, name func(i int) string) (*NameSet, error) {
	size := 16
	for size/2 < min(hint, maxHint) {
		size *= 2
	}
	slots, err := limits.Make[uint32](b, size)
	if err != nil {
		return nil, err
	}
	return &NameSet{b: b, seed: maphash.MakeSeed(), slots: slots, name: name}, nil
}

// Find returns the index of a name that was added.
func (s *NameSet) Find(name string) (int, bool) {
	i := s.slot(name)
	if s.slots[i] == 0 {
		return 0, false
	}
	return int(s.slots[i]) - 1, true
}

// Add adds the name with index i, whose name(i) must already answer. If the
// name is there, Add returns the earlier index and false.
func (s *NameSet) Add(i int) (earlier int, added bool, err error) {
	if (s.count+1)*2 > len(s.slots) {
		if err := s.grow(); err != nil {
			return 0, false, err
		}
	}
	at := s.slot(s.name(i))
	if s.slots[at] != 0 {
		return int(s.slots[at]) - 1, false, nil
	}
	s.slots[at] = uint32(i) + 1
	s.count++
	return i, true, nil
}

func (s *NameSet) slot(name string) uint64 {
	mask := uint64(len(s.slots) - 1)
	i := maphash.String(s.seed, name) & mask
	for s.slots[i] != 0 && s.name(int(s.slots[i])-1) != name {
		i = (i + 1) & mask
	}
	return i
}

func (s *NameSet) grow() error {
	slots, err := limits.Make[uint32](s.b, 2*len(s.slots))
	if err != nil {
		return err
	}
	old := s.slots
	s.slots = slots
	for _, v := range old {
		if v != 0 {
			s.slots[s.slot(s.name(int(v)-1))] = v
		}
	}
	return nil
}
