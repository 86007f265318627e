package write

import (
	"fmt"

	"github.com/anamnesis-go/anamnesis/cli/internal/jsonout"
	"github.com/anamnesis-go/anamnesis/cli/internal/run"
	"github.com/anamnesis-go/anamnesis/cli/internal/term"
	"github.com/anamnesis-go/anamnesis/convert"
	"github.com/anamnesis-go/anamnesis/parser/safetensors"
	"github.com/anamnesis-go/anamnesis/quant"
)

// checkLoads withdraws what is known of libraries that load folders, where one file is written: its
// numbers are quantized, or decoded, and no config.json says so.
func (c *conversion) checkLoads() {
	s := c.opts.Sink
	if c.folder || s != nil && s.Name() != safetensors.Format || c.plan.Quantized == nil && !quant.Any(c.model) {
		return
	}
	for i := range c.plan.Loads {
		if l := &c.plan.Loads[i]; l.Verdict == convert.LoadTried || l.Verdict == convert.LoadRead {
			l.Verdict, l.Why = convert.LoadUnknown, "one file has no config.json that says how its numbers are stored; --config-from DIR writes a folder with one"
		}
	}
}

// printLoads prints a line for each library that could load the result: whether it does, and
// how that is known.
func printLoads(s *run.Run, p *convert.Plan) {
	for i := range p.Loads {
		s.Out.Fact("", "Loads", loadText(&p.Loads[i], p.ModelType))
	}
}

// loadText says what is known of one library.
func loadText(l *convert.Loading, modelType string) string {
	name := l.Library
	if l.Version != "" {
		name += " " + l.Version
	}
	switch l.Verdict {
	case convert.LoadTried:
		if l.Why != "" {
			return fmt.Sprintf("%s, with model_type %q (%s)", name, term.Tidy(modelType, 64), l.Why)
		}
		return fmt.Sprintf("%s, tried with model_type %q in this format", name, term.Tidy(modelType, 64))
	case convert.LoadRead:
		return name + ", by its sources (not run)"
	case convert.LoadFails:
		return fmt.Sprintf("not %s: %s", name, l.Why)
	}
	return fmt.Sprintf("unknown of %s: %s", name, l.Why)
}

// jsonLoads writes what printLoads prints.
func jsonLoads(o *jsonout.Object, list []convert.Loading) {
	if len(list) == 0 {
		return
	}
	o.List("loads", func(add func(func(*jsonout.Object))) {
		for i := range list {
			l := &list[i]
			add(func(o *jsonout.Object) {
				o.Field("loader", l.Library)
				if l.Version != "" {
					o.Field("version", l.Version)
				}
				o.Field("verdict", l.Verdict.String())
				if l.Why != "" {
					o.Text("why", l.Why)
				}
			})
		}
	})
}
