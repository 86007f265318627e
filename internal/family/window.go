package family

import (
	"github.com/anamnesis-go/anamnesis/limits"
)

// window puts the size of the attention window.
func (s *settings) window(otherwise int64) {
	n, ok := s.int("attention.sliding_window")
	if !ok {
		n = otherwise
	}
	if n == 0 {
		s.put("sliding_window", "null")
		return
	}
	s.putInt("sliding_window", n)
}

// layerTypes puts layer_types: as the file states, or full attention in one layer of each interval.
func (s *settings) layerTypes(every int64) {
	list, stated := s.perLayerBools("attention.sliding_window_pattern", s.layers())
	s.putPerLayer("layer_types", func(l int64) string {
		if isSet(list, l) || !stated && (l+1)%every != 0 {
			return "sliding_attention"
		}
		return "full_attention"
	})
}

// hasWindow reports whether some layers of the model have an attention window.
func (s *settings) hasWindow(arch string) bool {
	n, _ := number(s.keys[arch+".attention.sliding_window"])
	return n > 0
}

// windowKeys adds the size of the attention window and the layers that have one: by their types, or
// all but one of each interval.
func windowKeys(k *keys, otherwise int64) {
	if !k.c.get("sliding_window").There {
		return
	}
	k.u32("attention.sliding_window", "sliding_window")
	list, err := limits.Make[bool](k.b, int(k.c.layers()))
	if err != nil && k.err == nil {
		k.err = err
	}
	kinds := k.c.get("layer_types")
	every := otherwise
	if n, ok := k.c.get("sliding_window_pattern").Int(); ok {
		every = n
	}
	switch {
	case kinds.There && len(kinds.List()) != len(list):
		k.fail("layer_types", kinds, "a list with the type of each layer")
		return
	case !kinds.There && every < 1:
		k.fail("sliding_window_pattern", k.c.get("sliding_window_pattern"), "a number of layers")
		return
	}
	for i := range list {
		if kinds.There {
			list[i] = kinds.List()[i].String() == "sliding_attention"
		} else {
			list[i] = (int64(i)+1)%every != 0
		}
	}
	k.putArch("attention.sliding_window_pattern", list)
}
