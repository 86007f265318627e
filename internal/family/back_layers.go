package family

import (
	"cmp"
	"iter"
	"strings"

	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
)

// Keys with a value for each layer.

// truths is an array of booleans in a GGUF file.
type truths interface {
	Len() int64
	Bools(*limits.Budget) iter.Seq2[bool, error]
}

// perLayerInts returns a number for each layer: the elements of a list, or one number for
// all.
func (s *settings) perLayerInts(key string, layers int64) (list []int64, there bool) {
	v, there := s.key(key)
	if !there || s.err != nil {
		return nil, false
	}
	full := s.row.arch + "." + key
	if list, s.err = limits.Make[int64](s.b, int(layers)); s.err != nil {
		return nil, false
	}
	a, isList := v.(array)
	if !isList {
		n, _ := s.int(key)
		for i := range list {
			list[i] = n
		}
		return list, s.err == nil
	}
	if a.Len() != layers {
		s.fail(full, "it has %d numbers, for %d layers", a.Len(), layers)
		return nil, false
	}
	i := 0
	for n, err := range a.Ints(s.b) {
		if s.err = cmp.Or(s.err, err); s.err == nil && (n < 0 || n > 1<<32-1) {
			s.fail(full, "one of its values is not an unsigned 32-bit integer")
		}
		if s.err != nil {
			return nil, false
		}
		list[i] = n
		i++
	}
	return list, true
}

// perLayerBools returns a boolean for each layer.
func (s *settings) perLayerBools(key string, layers int64) (list []bool, there bool) {
	v, there := s.key(key)
	if !there || s.err != nil {
		return nil, false
	}
	a, isList := v.(truths)
	if !isList || a.Len() != layers {
		s.fail(s.row.arch+"."+key, "it is not a list of booleans, one for each of %d layers", layers)
		return nil, false
	}
	if list, s.err = limits.Make[bool](s.b, int(layers)); s.err != nil {
		return nil, false
	}
	i := 0
	for on, err := range a.Bools(s.b) {
		if s.err = cmp.Or(s.err, err); err != nil {
			return nil, false
		}
		list[i] = on
		i++
	}
	return list, true
}

// sharedValue reads a list whose nonzero elements are equal. It returns which layers have
// a nonzero element, and sets the key to the shared value.
func (s *settings) sharedValue(key string) (has []bool) {
	layers := s.layers()
	list, there := s.perLayerInts(key, layers)
	if !there {
		return nil
	}
	if has, s.err = limits.Make[bool](s.b, int(layers)); s.err != nil {
		return nil
	}
	shared := int64(0)
	for i, n := range list {
		has[i] = n > 0
		if n > 0 && shared > 0 && n != shared {
			s.fail(s.row.arch+"."+key, "it has %d and %d, but config.json has one member for both", shared, n)
		}
		shared = max(shared, n)
	}
	s.keys[s.row.arch+"."+key] = uint32(shared)
	return has
}

// putPerLayer puts a list of texts, one for each layer.
func (s *settings) putPerLayer(member string, of func(layer int64) string) {
	text := strings.Builder{}
	for l := range s.layers() {
		if l > 0 {
			text.WriteString(", ")
		}
		text.WriteString(`"` + of(l) + `"`)
	}
	s.put(member, "["+text.String()+"]")
}

// biased puts a member that says whether the named modules have a bias. Of those that
// exist, all or none must have one.
func (s *settings) biased(member string, names ...string) {
	all, n := 0, 0
	for l := range s.layers() {
		for _, name := range names {
			full := "blk." + itoa(l) + "." + name
			if s.tensors[full+".weight"] == nil {
				continue
			}
			all++
			if s.tensors[full+".bias"] != nil {
				n++
			}
		}
	}
	if n != 0 && n != all && s.err == nil {
		s.err = wire.At("gguf", "", wire.NoOffset, wire.ErrMismatch.Errorf("%d of %d modules (%s) have a bias", n, all, strings.Join(names, ", ")))
	}
	s.put(member, boolText(n > 0))
}

// headCounts returns the number of heads of each layer.
func (s *settings) headCounts(key string) []int64 {
	v, _ := s.key(key)
	list, ok := v.(array)
	if !ok || list.Len() != s.layers() {
		s.fail(s.row.arch+"."+key, "it is not a list with a number for each layer")
		return nil
	}
	out, err := limits.Make[int64](s.b, int(list.Len()))
	if err != nil {
		s.err = cmp.Or(s.err, err)
		return nil
	}
	i := 0
	for n, err := range list.Ints(s.b) {
		if err != nil {
			s.err = cmp.Or(s.err, err)
			return nil
		}
		if n < 0 || n > 1<<16 || i >= len(out) {
			s.fail(s.row.arch+"."+key, "one of its values is not a number of heads")
			return nil
		}
		out[i], i = n, i+1
	}
	return out
}
