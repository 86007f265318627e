package scan

import (
	"encoding/hex"

	"github.com/anamnesis-go/anamnesis/cli/internal/fault"
	"github.com/anamnesis-go/anamnesis/cli/internal/jsonout"
	"github.com/anamnesis-go/anamnesis/cli/internal/report"
	"github.com/anamnesis-go/anamnesis/cli/internal/term"
	"github.com/anamnesis-go/anamnesis/gate"
	"github.com/anamnesis-go/anamnesis/parser/pth"
	"github.com/anamnesis-go/anamnesis/vm"
)

// json writes the result as cli/schema/scan.json describes it.
func (sc *scanner) json(o *jsonout.Object, rep *scanReport) {
	o.Field("schema", "amn.scan/1")
	o.Text("path", rep.path)
	if rep.Unlooked != "" {
		o.Field("unlooked", term.Tidy(rep.Unlooked, 512))
	}
	report.JSONExceptions(o, rep.Verdict)
	if rep.skipped != "" {
		o.Field("skipped", term.Tidy(rep.skipped, 512))
		return
	}
	o.Field("format", rep.Format)
	o.Field("class", rep.class().String())
	o.Field("exit", rep.class().ExitCode())
	if rep.Err != nil {
		o.Object("error", func(o *jsonout.Object) { fault.JSON(o, rep.Err) })
		o.Field("rules", rep.rules())
	}
	o.Number("size", rep.Size)
	if rep.SHA256 != "" {
		o.Field("sha256", rep.SHA256)
	}
	o.Field("bodies", rep.Bodies())
	if list := rep.Opens(); len(list) > 0 {
		o.Field("opens", list)
	}
	o.Object("totals", func(o *jsonout.Object) {
		report.JSONGroup(o, &report.Group{Tensors: rep.Totals.Tensors, Elements: rep.Totals.Elements, Bytes: rep.Totals.Bytes})
	})
	if len(rep.Pickles) > 0 {
		safe, taken := rep.Safe(), rep.WeightsOnly()
		o.Field("safe", safe.OK)
		o.Field("weights_only", taken.OK)
		if taken.Unsure {
			o.Field("weights_only_unsure", true)
		}
	}
	o.List("pickles", func(add func(func(*jsonout.Object))) {
		for _, p := range rep.Pickles {
			add(func(o *jsonout.Object) { sc.jsonPickle(o, p) })
		}
	})
	if rep.Contents != nil {
		o.List("contents", func(add func(func(*jsonout.Object))) {
			for i := range rep.Contents {
				add(func(o *jsonout.Object) { jsonContent(o, &rep.Contents[i]) })
			}
		})
	}
	o.List("findings", func(add func(func(*jsonout.Object))) {
		for _, f := range rep.Findings {
			add(func(o *jsonout.Object) { report.JSONFinding(o, &f) })
		}
	})
}

func jsonContent(o *jsonout.Object, c *gate.Content) {
	o.Text("name", c.Name)
	o.Number("size", c.Size)
	o.Field("class", c.Class.String())
	for _, f := range []struct{ key, text string }{{"format", c.Format}, {"harmless", c.Harmless}, {"unlooked", c.Unlooked}} {
		if f.text != "" {
			o.Field(f.key, term.Tidy(f.text, 512))
		}
	}
}

func (sc *scanner) jsonPickle(o *jsonout.Object, p pth.Pickle) {
	r := p.Report
	called, stored := callsOf(r)
	o.Text("name", p.Name)
	o.Number("offset", p.Off)
	o.Number("length", r.Graph.End()-p.Off)
	o.Number("protocol", int64(r.Graph.Protocol()))
	o.Number("calls", called)
	o.Number("persistent", stored)
	o.List("globals", func(add func(func(*jsonout.Object))) {
		for _, g := range r.Graph.Globals() {
			add(func(o *jsonout.Object) { jsonGlobal(o, g) })
		}
	})
	if len(sc.gate.Policy.Classes) > 0 {
		o.List("sets", func(add func(func(*jsonout.Object))) {
			for s, versions := range sc.gate.Policy.SetUses(r) {
				add(func(o *jsonout.Object) { jsonSet(o, s, versions) })
			}
		})
	}
	if sc.unread {
		parts, sum := r.Graph.Unread()
		o.Text("read_sha256", hex.EncodeToString(sum[:]))
		o.List("unread", func(add func(func(*jsonout.Object))) {
			for _, part := range parts {
				add(func(o *jsonout.Object) {
					o.Number("offset", part[0])
					o.Number("length", part[1])
				})
			}
		})
	}
	if sc.all {
		o.List("events", func(add func(func(*jsonout.Object))) {
			for e := range r.Events() {
				add(func(o *jsonout.Object) { jsonEvent(o, &e) })
			}
		})
	}
	o.Object("safe", func(o *jsonout.Object) { jsonVerdict(o, &r.Safe) })
	o.Object("weights_only", func(o *jsonout.Object) { jsonVerdict(o, &r.WeightsOnly) })
}

func jsonGlobal(o *jsonout.Object, g *vm.Global) {
	o.Text("module", g.Module)
	o.Text("name", g.Name)
	if g.Written != "" {
		o.Text("written", g.Written)
	}
	o.Field("status", g.Status.String())
	if g.Reason != "" {
		o.Field("reason", g.Reason)
	}
	o.Number("offset", g.Off)
	o.Number("uses", int64(g.Uses))
}

func jsonSet(o *jsonout.Object, s *vm.ClassSet, versions []string) {
	o.Field("name", s.Name)
	o.Field("library", s.Libraries[0].Name)
	o.Field("module", s.Module())
	o.Field("versions", versions)
}

func jsonEvent(o *jsonout.Object, e *vm.Event) {
	o.Field("use", e.Use.String())
	o.Field("op", e.Op)
	o.Number("offset", e.Off)
	o.Field("ok", e.OK)
	o.Field("on", term.Tidy(e.On.String(), 512))
	if e.Given {
		o.Field("with", term.Tidy(e.With.Shape(), 512))
	}
}

func jsonVerdict(o *jsonout.Object, v *vm.Verdict) {
	o.Field("ok", v.OK)
	if v.Unsure {
		o.Field("unsure", true)
	}
	o.Field("by", v.By)
	o.List("reasons", func(add func(func(*jsonout.Object))) {
		for _, why := range v.Reasons {
			add(func(o *jsonout.Object) {
				o.Field("code", why.Code)
				if why.Off >= 0 {
					o.Number("offset", why.Off)
				}
				o.Field("text", term.Tidy(why.Text, 512))
			})
		}
	})
	if v.More > 0 {
		o.Number("more", int64(v.More))
	}
}
