package tensor

import (
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/anamnesis-go/anamnesis/internal/wire"
)

// MaxShards bounds the files of one model: each costs an open file, and the
// largest published models have a few hundred.
const MaxShards = 4096

// A ShardName is the name of one file of a set, such as model-00002-of-00007.safetensors.
type ShardName struct {
	Prefix string // "model"
	Total  string // "00007", as it is written
	Ext    string // ".safetensors"
	Number int    // 2
	Count  int    // 7
}

// ParseShardName reads the file name of a shard: PREFIX-NUMBER-of-COUNT.EXT. The
// digits may differ in number, as in model-00001-of-000163.
func ParseShardName(name string) (s ShardName, ok bool) {
	dot := strings.LastIndexByte(name, '.')
	if dot < 0 {
		return s, false
	}
	stem := name[:dot]
	s.Ext = name[dot:]
	at := strings.LastIndex(stem, "-of-")
	if at < 0 {
		return s, false
	}
	s.Total = stem[at+len("-of-"):]
	dash := strings.LastIndexByte(stem[:at], '-')
	if dash <= 0 {
		return s, false
	}
	s.Prefix = stem[:dash]
	var first, second bool
	s.Number, first = ordinal(stem[dash+1 : at])
	s.Count, second = ordinal(s.Total)
	return s, first && second && s.Number <= s.Count
}

// ordinal parses four to nine digits that are not all zero. Fewer digits are part of
// other names, as in best-1-of-3.
func ordinal(digits string) (int, bool) {
	if len(digits) < 4 || len(digits) > 9 {
		return 0, false
	}
	for i := range len(digits) {
		if digits[i]-'0' > 9 {
			return 0, false
		}
	}
	n, err := strconv.Atoi(digits)
	return n, err == nil && n > 0
}

// SameSet reports whether two shards belong to one model.
func (s ShardName) SameSet(t ShardName) bool {
	return s.Prefix == t.Prefix && s.Total == t.Total && s.Ext == t.Ext
}

// SortShards sorts the files of one set by number, or says which file is missing,
// duplicated, or of another set.
func SortShards(format string, names []string) ([]string, error) {
	fail := func(err error) ([]string, error) { return nil, wire.At(format, "", wire.NoOffset, err) }
	if len(names) == 0 {
		return fail(wire.ErrMissing.WithRule("shards.missing").Errorf("no shards"))
	}
	first, _ := ParseShardName(path.Base(names[0]))
	if first.Count > MaxShards {
		return fail(wire.ErrUnsupported.WithRule("shards.many").Errorf("%d shards, at most %d are read", first.Count, MaxShards))
	}
	place := func(name string) int {
		s, _ := ParseShardName(path.Base(name))
		return s.Number
	}
	for _, name := range names {
		if s, ok := ParseShardName(path.Base(name)); !ok || !s.SameSet(first) {
			return fail(wire.ErrMismatch.WithRule("shards.other-set").Errorf("%s is not a shard of the set of %s", wire.Quote(name), wire.Quote(names[0])))
		}
	}
	sorted := slices.SortedFunc(slices.Values(names), func(a, b string) int { return place(a) - place(b) })
	next := 1
	for i, name := range sorted {
		n := place(name)
		if n < next {
			return fail(wire.ErrDuplicate.WithRule("shards.number-twice").Errorf("%s and %s are both shard %d", wire.Quote(sorted[i-1]), wire.Quote(name), n))
		}
		if n > next {
			break
		}
		next++
	}
	if next <= first.Count {
		return fail(wire.ErrMissing.WithRule("shards.missing").Errorf("shard %d of %d beside %s", next, first.Count, wire.Quote(names[0])))
	}
	return sorted, nil
}
