package convert

import (
	"slices"
	"strings"

	"github.com/anamnesis-go/anamnesis/internal/jsontree"
	"github.com/anamnesis-go/anamnesis/internal/transformers"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
)

// config returns the quantization_config with the members of transformers'
// BitsAndBytesConfig. It lists every module that is left alone, because with a list
// transformers ignores its own rules.
func (e *bnbEncoder) config() ([]byte, error) {
	skip, err := e.skipped()
	if err != nil {
		return nil, err
	}
	four := e.o.Type != INT8
	kind, compute := e.o.Type.String(), e.compute
	if !four {
		kind = FP4.String() // the library's default
	}
	if compute == "" || !four {
		compute = "float32"
	}
	w := jsontree.NewText(e.b)
	member := func(name, value string) { w.Put("  \"", name, "\": ", value, ",\n") }
	truth := map[bool]string{false: "false", true: "true"}
	w.Put("{\n")
	member("_load_in_4bit", truth[four])
	member("_load_in_8bit", truth[!four])
	member("bnb_4bit_compute_dtype", `"`+compute+`"`)
	member("bnb_4bit_quant_storage", `"uint8"`)
	member("bnb_4bit_quant_type", `"`+kind+`"`)
	member("bnb_4bit_use_double_quant", truth[e.o.Nested])
	member("llm_int8_enable_fp32_cpu_offload", "false")
	member("llm_int8_has_fp16_weight", "false")
	w.Put("  \"llm_int8_skip_modules\": ")
	w.Names(skip)
	w.Put(",\n")
	member("llm_int8_threshold", "6.0")
	member("load_in_4bit", truth[four])
	member("load_in_8bit", truth[!four])
	w.Put("  \"quant_method\": \"bitsandbytes\"\n}")
	return w.Done()
}

// skipped lists patterns for the modules that are left alone. A pattern is the shortest
// suffix of a module's name that matches no quantized one, since modules may have another
// prefix in memory than in the file. Whole names are listed as well, for older versions
// that look for those.
func (e *linearEncoder) skipped() ([]string, error) {
	q, err := newModuleSet(e.b, e.Weights)
	if err != nil {
		return nil, err
	}
	var out []string
	add := func(pattern string) {
		if err == nil {
			out, err = limits.Append(e.b, out, pattern)
		}
	}
	headed := false
	for i := range e.Kept {
		k := &e.Kept[i]
		module := strings.TrimSuffix(k.Name, ".weight")
		if at := strings.Index("."+module, ".experts."); at >= 0 && k.reason == transformers.Expert {
			add(plainPattern((module + ".")[:at+len("experts")]))
			continue
		}
		if k.reason == transformers.Rearranged {
			return nil, wire.ErrUnsupported.Errorf("%s of a model of type %s: %s, which it does not do for a quantized model", wire.Quote(k.Name), wire.Quote(e.Type), k.Why)
		}
		headed = headed || k.reason == transformers.Head
		if k.reason == transformers.Head && strings.HasSuffix("."+module, ".embed_out") && !q.means("lm_head") {
			add("lm_head") // its name in memory in transformers 5
		}
		if module == "cls" && e.Type == "ultrabert" && !q.means("head.decoder") {
			add("head.decoder") // the same
		}
		replaced := k.reason != transformers.Embedding && k.reason != transformers.Other // unless listed
		switch {
		case !q.means(module):
			add(q.shortest(module))
			if replaced {
				add(plainPattern(module))
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
	if e.rule.Table != nil {
		e.rule.Table.Absent(e.rule.HasTensor, func(module string) {
			if !q.means(module) {
				add(module)
			}
		})
	}
	slices.Sort(out)
	return slices.Compact(out), err
}

// plainPattern returns a regular expression for a name, since transformers takes names as
// patterns.
func plainPattern(name string) string {
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

func newModuleSet(b *limits.Budget, weights []QuantizedWeight) (s moduleSet, err error) {
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

// shortest returns the shortest suffix of a name, in whole parts, that matches no
// quantized module, or else the name itself.
func (s *moduleSet) shortest(module string) string {
	for at := len(module); at > 0; {
		at = strings.LastIndexByte(module[:at], '.')
		if end := module[at+1:]; end != "" && plainPattern(end) == end && !s.means(end) {
			return end
		}
	}
	return plainPattern(module)
}
