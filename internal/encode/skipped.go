package encode

import (
	"errors"
	"slices"
	"strings"

	"github.com/anamnesis-go/anamnesis/internal/loaders"
	"github.com/anamnesis-go/anamnesis/internal/transformers"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
)

// Skipped lists patterns for the modules that are left alone. A pattern is the shortest
// suffix of a module's name that matches no quantized one, since modules may have another
// prefix in memory than in the file. Whole names are listed as well, for older versions
// that look for those.
func (e *Linear) Skipped() ([]string, error) {
	q, err := e.newModuleSet()
	if err != nil {
		return nil, err
	}
	var out []string
	add := func(pattern string) {
		if err == nil {
			out, err = limits.Append(e.Budget, out, pattern)
		}
	}
	headed := false
	for i := range e.Kept {
		k := &e.Kept[i]
		module := strings.TrimSuffix(k.Name, ".weight")
		if at := strings.Index("."+module, ".experts."); at >= 0 && k.Reason == transformers.Expert {
			add(PlainPattern((module + ".")[:at+len("experts")]))
			continue
		}
		if k.Reason == transformers.Rearranged {
			return nil, wire.ErrUnsupported.Errorf("%s of a model of type %s: %s, which it does not do for a quantized model", wire.Quote(k.Name), wire.Quote(e.Type), k.Why)
		}
		headed = headed || k.Reason == transformers.Head
		if k.Reason == transformers.Head && strings.HasSuffix("."+module, ".embed_out") && !q.means("lm_head") {
			add("lm_head") // its name in memory in transformers 5
		}
		if module == "cls" && e.Type == "ultrabert" && !q.means("head.decoder") {
			add("head.decoder") // the same
		}
		replaced := k.Reason != transformers.Embedding && k.Reason != transformers.Other // unless listed
		switch {
		case !q.means(module):
			add(q.shortest(module, 1))
			if replaced {
				add(PlainPattern(module))
				e.addInModel(module, &q, add)
			}
		case replaced:
			return nil, wire.ErrUnsupported.Errorf("%s is left alone (%s), but the only name by which transformers can leave it out matches others too: choose it (%s), or exclude all with that ending (%s)", wire.Quote(k.Name), k.Why, wire.OptionInclude, wire.OptionExclude)
		}
	}
	if !headed { // it shares the embedding's numbers and is not in the file
		for _, head := range append([]string{"proj_out"}, transformers.Heads...) {
			if !q.means(head) {
				add(head)
			}
		}
	}
	if e.Rule.Table != nil {
		e.Rule.Table.Absent(e.Rule.HasTensor, func(module string) {
			if !q.means(module) {
				add(module)
			}
		})
	}
	parts, bad := e.partPatterns(&q)
	out = append(out, parts...)
	slices.Sort(out)
	return slices.Compact(out), errors.Join(err, bad)
}

// addInModel adds the name that transformers gives a module, if it is another one.
func (e *Linear) addInModel(module string, q *moduleSet, add func(string)) {
	if names := e.Spellings(module); len(names) > 1 && !q.means(names[1]) {
		add(PlainPattern(names[1]))
	}
}

// partPatterns returns what matches the modules that transformers makes of in_proj_weight, and
// nothing that is quantized.
func (e *Linear) partPatterns(q *moduleSet) (out []string, err error) {
	for _, module := range e.splits {
		for _, spelled := range e.Spellings(module) {
			if out, err = limits.Append(e.Budget, out, q.shortest(spelled, 2)); err != nil {
				return nil, err
			}
		}
	}
	return out, nil
}

// PlainPattern returns a regular expression for a name, since transformers takes names as
// patterns.
func PlainPattern(name string) string {
	if !strings.ContainsAny(name, `\^$*+?{}[]|()`) {
		return name
	}
	var p strings.Builder
	for _, r := range name {
		if strings.ContainsRune(`\^$*+?{}[]|()`, r) {
			p.WriteByte('\\')
		}
		p.WriteRune(r)
	}
	return p.String()
}

// A moduleSet finds the quantized modules that a pattern matches.
type moduleSet struct {
	names    []string // sorted
	reversed []string // each reversed, sorted
}

func (e *Linear) newModuleSet() (s moduleSet, err error) {
	b, weights := e.Budget, e.Weights
	if s.names, err = limits.Make[string](b, len(weights)); err != nil {
		return s, err
	}
	if s.reversed, err = limits.Make[string](b, len(weights)); err != nil {
		return s, err
	}
	for i := range weights {
		s.names[i] = strings.TrimSuffix(weights[i].Name, ".weight")
		if err := b.Hold(int64(len(s.names[i]))); err != nil {
			return s, err
		}
		s.reversed[i] = backwards(s.names[i])
	}
	slices.Sort(s.names)
	slices.Sort(s.reversed)
	return s, nil
}

func backwards(s string) string {
	p := []byte(s)
	slices.Reverse(p)
	return string(p)
}

// means reports whether transformers would leave a quantized module alone for the
// pattern: one whose name ends with it, or begins with it and a dot.
func (s *moduleSet) means(pattern string) bool {
	begins := func(list []string, prefix string) bool {
		at, _ := slices.BinarySearch(list, prefix)
		return at < len(list) && strings.HasPrefix(list[at], prefix)
	}
	return begins(s.reversed, backwards(pattern)) || begins(s.names, pattern+".")
}

// shortest returns the shortest suffix of a name, in whole parts and of at least the given number,
// that matches no quantized module, or else the name itself.
func (s *moduleSet) shortest(module string, least int) string {
	for at := len(module); at > 0; least-- {
		at = strings.LastIndexByte(module[:at], '.')
		if end := module[at+1:]; least <= 1 && end != "" && PlainPattern(end) == end && !s.means(end) {
			return end
		}
	}
	return PlainPattern(module)
}

// Spellings returns the names of a module: that in the file, and that in transformers, which
// compares it with lists in config.json.
func (e *Linear) Spellings(module string) []string {
	if len(e.classes) > 0 {
		if other, _ := loaders.InModel(e.Type, e.classes[0], module); other != module {
			return []string{module, other}
		}
	}
	return []string{module}
}

// KnownNames reports whether the names that transformers gives the modules of the class are
// known, where they differ from those of the file.
func (e *Linear) KnownNames() bool {
	if len(e.classes) == 0 {
		return false
	}
	_, known := loaders.InModel(e.Type, e.classes[0], "")
	return known
}

// KeptUnderAnotherName returns why transformers would look for codes of a matrix that is left alone:
// it compares its names with the list of what is left alone, and which those are is not known of
// the class. It is "" if there is no such matrix.
func (e *Linear) KeptUnderAnotherName() string {
	if !transformers.Renames(e.Type) || e.KnownNames() {
		return ""
	}
	kept := slices.IndexFunc(e.Kept, func(k KeptMatrix) bool { return k.Reason == transformers.None || k.Reason == transformers.Excluded })
	if kept < 0 {
		return ""
	}
	return "it gives modules other names than the file, and looks for codes of " + strings.TrimSuffix(e.Kept[kept].Name, ".weight") + ", which is left alone"
}

// Ignored lists the linear modules that are left alone by name; the group targets all
// others of that class. Experts are one pattern.
func (e *Linear) Ignored() ([]string, error) {
	var out []string
	headed, experts := false, false
	some := slices.ContainsFunc(e.Weights, func(w QuantizedWeight) bool { return expertsEnd(w.Name) > 0 })
	for i := range e.Kept {
		k := &e.Kept[i]
		headed = headed || k.Reason == transformers.Head
		name := strings.TrimSuffix(k.Name, ".weight")
		switch {
		case k.Reason == transformers.Embedding:
			continue
		case k.Reason == transformers.Expert && some: // by its name: others are quantized
		case k.Reason == transformers.Expert && experts:
			continue
		case k.Reason == transformers.Expert:
			experts, name = true, `re:.*\.experts\..*`
		}
		for _, spelled := range e.Spellings(name) {
			var err error
			if out, err = limits.Append(e.Budget, out, spelled); err != nil {
				return nil, err
			}
		}
	}
	if !headed { // it shares the embedding's numbers, and is in no file
		out = append(out, "lm_head")
	}
	var err error
	if e.Rule.Table != nil { // the same under other names, such as Whisper's proj_out
		e.Rule.Table.Absent(e.Rule.HasTensor, func(module string) {
			if err == nil {
				out, err = limits.Append(e.Budget, out, module)
			}
		})
	}
	q, bad := e.newModuleSet()
	parts, alsoBad := e.partPatterns(&q)
	for _, end := range parts {
		out = append(out, "re:.*"+strings.ReplaceAll(end, ".", `\.`)+"$")
	}
	slices.Sort(out)
	return slices.Compact(out), errors.Join(err, bad, alsoBad)
}
