package quant

import (
	"regexp"
	"slices"
	"strings"

	"github.com/anamnesis-go/anamnesis/internal/wire"
)

// maxPattern bounds a pattern of module names. A counted repetition could make
// a short one cost megabytes, and no configuration needs it.
const maxPattern = 1 << 10

// patternCost is what a compiled pattern takes per byte of its text, at most.
const patternCost = 2 << 10

// pattern compiles a pattern of a configuration once. Go's expressions take
// time linear in the text, whatever the pattern.
func (s *set) pattern(text string) (*regexp.Regexp, error) {
	if re, ok := s.patterns[text]; ok {
		return re, nil
	}
	if len(text) > maxPattern || strings.Contains(text, "{") {
		return nil, wire.ErrUnsupported.With("pattern %s of %d bytes in %s", wire.Quote(text), len(text), s.config.file)
	}
	if err := s.b.Hold(int64(len(text)+1) * patternCost); err != nil {
		return nil, err
	}
	re, err := regexp.Compile(text)
	if err != nil {
		return nil, wire.ErrUnsupported.With("pattern %s in %s", wire.Quote(text), s.config.file)
	}
	if s.patterns == nil {
		s.patterns = map[string]*regexp.Regexp{}
	}
	s.patterns[text] = re
	return re, nil
}

// place finds where a pattern of the configuration first matches a name, or -1.
func (s *set) place(pattern, name string) (int, error) {
	re, err := s.pattern(pattern)
	if err != nil {
		return 0, err
	}
	if err := s.b.Step(int64(len(name) + len(pattern))); err != nil {
		return 0, err
	}
	if at := re.FindStringIndex(name); at != nil {
		return at[0], nil
	}
	return -1, nil
}

// own is the object in which the configuration gives one module properties of
// its own, or nil: GPTQModel's "dynamic", AutoRound's "extra_config", MLX's
// entries by name. The first that matches decides.
func (s *set) own(stem string) (*object, error) {
	q := s.config.quant
	if o := q.at("extra_config", stem); o != nil {
		return o, nil
	}
	for _, p := range q.at("extra_config").names() {
		if !strings.ContainsAny(p, `*^$+?[(|\`) {
			continue // a name, and not this one
		}
		if at, err := s.place("^(?:"+p+")$", stem); err != nil || at == 0 {
			return q.at("extra_config", p), err
		}
	}
	for _, p := range q.at("dynamic").names() {
		text, negative := strings.CutPrefix(p, "-:")
		text = strings.TrimPrefix(text, "+:")
		at, err := s.place("^(?:"+text+")", stem)
		if err != nil {
			return nil, err
		}
		if at != 0 {
			continue
		}
		if negative {
			return nil, wire.ErrMismatch.With("%s says by %s that it is not quantized", s.config.file, wire.Quote(p))
		}
		return q.at("dynamic", p), nil
	}
	return q.at(stem), nil
}

// whole is an integer property of a module: its own, else the model's.
func (s *set) whole(stem, key string) (n int64, ok bool, err error) {
	own, err := s.own(stem)
	if err != nil {
		return 0, false, err
	}
	v := first(own.get(key), s.config.quant.get(key))
	if n, ok = wholeOf(v); !ok && v != nil {
		return 0, false, wire.ErrMismatch.With("%s says of %s what is no whole number: %s", s.config.file, wire.Quote(stem), wire.Quote(key))
	}
	return n, ok, nil
}

// excluded reports a module that the configuration leaves out.
func (s *set) excluded(name string) (bool, error) {
	for _, key := range []string{"modules_to_not_convert", "ignored_layers", "ignore", "exclude_modules", "exclude"} {
		for _, v := range s.config.quant.list(key) {
			module, _ := v.(string)
			if pattern, ok := strings.CutPrefix(module, "re:"); ok {
				if at, err := s.place("^(?:"+pattern+")", name); err != nil || at == 0 {
					return err == nil, err
				}
				continue
			}
			if glob(module, name) {
				return true, nil
			}
		}
	}
	return false, nil
}

// glob reports that a name has the pieces of a module's name in their order:
// stars stand for anything, and what follows the last piece does not matter.
func glob(module, name string) bool {
	pieces := slices.DeleteFunc(strings.Split(module, "*"), func(p string) bool { return p == "" })
	for _, p := range pieces {
		_, rest, ok := strings.Cut(name, p)
		if !ok {
			return false
		}
		name = rest
	}
	return len(pieces) > 0
}
