package scheme

import (
	"regexp"
	"strings"

	"github.com/anamnesis-go/anamnesis/internal/config"
	"github.com/anamnesis-go/anamnesis/internal/jsontree"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
)

// maxPattern bounds the length of a pattern of module names. A counted repetition in a
// short pattern can cost megabytes.
const maxPattern = 1 << 10

// MaxMatched bounds the length of a name that is matched, because a match cannot be
// interrupted.
const MaxMatched = 16 << 10

// patternCost is the maximum size of a compiled pattern per byte of its text.
const patternCost = 2 << 10

// pattern compiles a pattern of a configuration, once. Matching takes time linear in the
// text, whatever the pattern.
func (s *Set) pattern(text string) (*regexp.Regexp, error) {
	if re, ok := s.patterns[text]; ok {
		return re, nil
	}
	if len(text) > maxPattern || strings.Contains(text, "{") {
		return nil, wire.ErrUnsupported.Errorf("pattern %s of %d bytes in %s", wire.Quote(text), len(text), s.Config.File)
	}
	if err := s.Budget.Hold(int64(len(text)+1) * patternCost); err != nil {
		return nil, err
	}
	re, err := regexp.Compile(text)
	if err != nil {
		return nil, wire.ErrUnsupported.Errorf("pattern %s in %s", wire.Quote(text), s.Config.File)
	}
	if s.patterns == nil {
		s.patterns = map[string]*regexp.Regexp{}
	}
	s.patterns[text] = re
	return re, nil
}

// Place returns the offset at which a pattern of the configuration first matches a name,
// or -1.
func (s *Set) Place(pattern, name string) (int, error) {
	re, err := s.pattern(pattern)
	if err != nil {
		return 0, err
	}
	if len(name) > MaxMatched {
		return 0, wire.ErrUnsupported.Errorf("a name of %d bytes beside patterns in %s", len(name), s.Config.File)
	}
	if err := s.Budget.Step(int64(len(name) + len(pattern))); err != nil {
		return 0, err
	}
	if at := re.FindStringIndex(name); at != nil {
		return at[0], nil
	}
	return -1, nil
}

// overrides are the patterns by which the configuration gives some modules properties of
// their own, in the order in which they are tried.
type overrides struct {
	extra   []string // AutoRound's "extra_config"
	dynamic []string // GPTQModel's "dynamic"
}

// readOverrides reads all entries, once.
func (s *Set) readOverrides() (o *overrides, err error) {
	if s.overrides != nil {
		return s.overrides, nil
	}
	o = &overrides{dynamic: s.Config.Quant.Within("dynamic").Names()}
	for _, p := range s.Config.Quant.Within("extra_config").Names() {
		if err := s.Budget.Step(int64(len(p) + 1)); err != nil {
			return nil, err
		}
		if !strings.ContainsAny(p, `*^$+?[(|\`) {
			continue // the name of a module
		}
		if o.extra, err = limits.Append(s.Budget, o.extra, p); err != nil {
			return nil, err
		}
	}
	s.overrides = o
	return o, nil
}

// Own returns the object in which the configuration gives a module properties of its own,
// or the zero Value: GPTQModel's "dynamic", AutoRound's "extra_config", MLX's entries by name. The
// first match decides.
func (s *Set) Own(stem string) (jsontree.Value, error) {
	q := s.Config.Quant
	if o := q.Within("extra_config", stem); o.There {
		return o, nil
	}
	over, err := s.readOverrides()
	if err != nil {
		return jsontree.Value{}, err
	}
	for _, p := range over.extra {
		if at, err := s.Place("^(?:"+p+")$", stem); err != nil || at == 0 {
			return q.Within("extra_config", p), err
		}
	}
	for _, p := range over.dynamic {
		text, negative := strings.CutPrefix(p, "-:")
		text = strings.TrimPrefix(text, "+:")
		at, err := s.Place("^(?:"+text+")", stem)
		if err != nil {
			return jsontree.Value{}, err
		}
		if at != 0 {
			continue
		}
		if negative {
			return jsontree.Value{}, wire.ErrMismatch.Errorf("%s says by %s that it is not quantized", s.Config.File, wire.Quote(p))
		}
		return q.Within("dynamic", p), nil
	}
	return q.Within(stem), nil
}

// Whole returns an integer property of a module: its own, else the model's.
func (s *Set) Whole(stem, key string) (n int64, ok bool, err error) {
	own, err := s.Own(stem)
	if err != nil {
		return 0, false, err
	}
	return s.Number(key, config.First(own.Get(key), s.Config.Quant.Get(key)))
}

// Number returns a value that must be an integer if it is present.
func (s *Set) Number(key string, v jsontree.Value) (n int64, ok bool, err error) {
	if n, ok = v.Int(); !ok && v.There {
		return 0, false, wire.ErrMismatch.Errorf("%s says %s %s, which is not written as a whole number", s.Config.File, wire.Quote(key), config.Quoted(v))
	}
	return n, ok, nil
}

// exclusions are the modules that the configuration does not quantize.
type exclusions struct {
	globs    *matcher
	patterns []string
}

// ExclusionKeys are the keys of lists of excluded modules.
var ExclusionKeys = [...]string{"modules_to_not_convert", "ignored_layers", "ignore", "exclude_modules", "exclude"}

// readExclusions reads the lists, once.
func (s *Set) readExclusions() (e *exclusions, err error) {
	if s.exclusions != nil {
		return s.exclusions, nil
	}
	e = &exclusions{}
	var globs []string
	for _, key := range ExclusionKeys {
		for _, v := range s.Config.Quant.Get(key).List() {
			if err := s.Budget.Step(1); err != nil {
				return nil, err
			}
			module := v.String()
			list := &globs
			pattern, ok := strings.CutPrefix(module, "re:")
			if ok {
				module, list = "^(?:"+pattern+")", &e.patterns
			}
			if *list, err = limits.Append(s.Budget, *list, module); err != nil {
				return nil, err
			}
		}
	}
	if e.globs, err = newMatcher(s.Budget, globs); err != nil {
		return nil, err
	}
	s.exclusions = e
	return e, nil
}

// Excluded reports whether the configuration does not quantize a module.
func (s *Set) Excluded(name string) (bool, error) {
	e, err := s.readExclusions()
	if err != nil {
		return false, err
	}
	if found, err := e.globs.match(name); err != nil || found {
		return found, err
	}
	for _, p := range e.patterns {
		if at, err := s.Place(p, name); err != nil || at == 0 {
			return err == nil, err
		}
	}
	return false, nil
}
