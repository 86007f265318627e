package cli

import (
	"github.com/anamnesis-go/anamnesis/gate"
	"github.com/anamnesis-go/anamnesis/parser/pth"
	"github.com/anamnesis-go/anamnesis/vm"
)

// json writes the result as cli/schema/scan.json describes it.
func (sc *scanner) json(o *jsonObject, rep *scanReport) {
	o.field("schema", "amn.scan/1")
	o.text("path", rep.path)
	if rep.Unlooked != "" {
		o.field("unlooked", tidy(rep.Unlooked, 512))
	}
	jsonExceptions(o, rep.Verdict)
	if rep.skipped != "" {
		o.field("skipped", tidy(rep.skipped, 512))
		return
	}
	o.field("format", rep.Format)
	o.field("class", rep.class().String())
	o.field("exit", rep.class().ExitCode())
	if rep.Err != nil {
		o.object("error", func(o *jsonObject) { jsonError(o, rep.Err) })
		o.field("rules", rep.rules())
	}
	o.number("size", rep.Size)
	if rep.SHA256 != "" {
		o.field("sha256", rep.SHA256)
	}
	o.field("bodies", rep.Bodies())
	if list := rep.Opens(); len(list) > 0 {
		o.field("opens", list)
	}
	o.object("totals", func(o *jsonObject) {
		jsonGroup(o, &group{Tensors: rep.Totals.Tensors, Elements: rep.Totals.Elements, Bytes: rep.Totals.Bytes})
	})
	if len(rep.Pickles) > 0 {
		safe, taken := rep.Safe(), rep.WeightsOnly()
		o.field("safe", safe.OK)
		o.field("weights_only", taken.OK)
		if taken.Unsure {
			o.field("weights_only_unsure", true)
		}
	}
	o.list("pickles", func(add func(func(*jsonObject))) {
		for _, p := range rep.Pickles {
			add(func(o *jsonObject) { sc.jsonPickle(o, p) })
		}
	})
	if rep.Contents != nil {
		o.list("contents", func(add func(func(*jsonObject))) {
			for i := range rep.Contents {
				add(func(o *jsonObject) { jsonContent(o, &rep.Contents[i]) })
			}
		})
	}
	o.list("findings", func(add func(func(*jsonObject))) {
		for _, f := range rep.Findings {
			add(func(o *jsonObject) { jsonFinding(o, &f) })
		}
	})
}

func jsonContent(o *jsonObject, c *gate.Content) {
	o.text("name", c.Name)
	o.number("size", c.Size)
	o.field("class", c.Class.String())
	for _, f := range []struct{ key, text string }{{"format", c.Format}, {"harmless", c.Harmless}, {"unlooked", c.Unlooked}} {
		if f.text != "" {
			o.field(f.key, tidy(f.text, 512))
		}
	}
}

// jsonExceptions writes what the policy allows and suppresses, and expired exceptions.
func jsonExceptions(o *jsonObject, rep *gate.Verdict) {
	if len(rep.Ignored) > 0 {
		o.list("ignored", func(add func(func(*jsonObject))) {
			for _, r := range rep.Ignored {
				add(func(o *jsonObject) {
					o.field("rule", r.Rule)
					if r.Exception != nil {
						o.text("reason", r.Exception.Reason)
						o.field("expires", r.Exception.Expires)
					}
				})
			}
		})
	}
	if len(rep.Expired) > 0 {
		o.list("expired", func(add func(func(*jsonObject))) {
			for _, e := range rep.Expired {
				add(func(o *jsonObject) {
					o.field("rule", e.Rule)
					o.text("reason", e.Reason)
					o.field("expires", e.Expires)
				})
			}
		})
	}
	if len(rep.Allowed) > 0 {
		o.list("allowed_globals", func(add func(func(*jsonObject))) {
			for _, name := range rep.Allowed {
				add(func(o *jsonObject) { o.text("name", name) })
			}
		})
	}
}

func (sc *scanner) jsonPickle(o *jsonObject, p pth.Pickle) {
	r := p.Report
	called, stored := callsOf(r)
	o.text("name", p.Name)
	o.number("offset", p.Off)
	o.number("length", r.Graph.End()-p.Off)
	o.number("protocol", int64(r.Graph.Protocol()))
	o.number("calls", called)
	o.number("persistent", stored)
	o.list("globals", func(add func(func(*jsonObject))) {
		for _, g := range r.Graph.Globals() {
			add(func(o *jsonObject) { jsonGlobal(o, g) })
		}
	})
	if sc.all {
		o.list("events", func(add func(func(*jsonObject))) {
			for e := range r.Events() {
				add(func(o *jsonObject) { jsonEvent(o, &e) })
			}
		})
	}
	o.object("safe", func(o *jsonObject) { jsonVerdict(o, &r.Safe) })
	o.object("weights_only", func(o *jsonObject) { jsonVerdict(o, &r.WeightsOnly) })
}

func jsonGlobal(o *jsonObject, g *vm.Global) {
	o.text("module", g.Module)
	o.text("name", g.Name)
	if g.Written != "" {
		o.text("written", g.Written)
	}
	o.field("status", g.Status.String())
	if g.Reason != "" {
		o.field("reason", g.Reason)
	}
	o.number("offset", g.Off)
	o.number("uses", int64(g.Uses))
}

func jsonEvent(o *jsonObject, e *vm.Event) {
	o.field("use", e.Use.String())
	o.field("op", e.Op)
	o.number("offset", e.Off)
	o.field("ok", e.OK)
	o.field("on", tidy(e.On.String(), 512))
	if e.Given {
		o.field("with", tidy(e.With.Shape(), 512))
	}
}

func jsonVerdict(o *jsonObject, v *vm.Verdict) {
	o.field("ok", v.OK)
	if v.Unsure {
		o.field("unsure", true)
	}
	o.field("by", v.By)
	o.list("reasons", func(add func(func(*jsonObject))) {
		for _, why := range v.Reasons {
			add(func(o *jsonObject) {
				o.field("code", why.Code)
				if why.Off >= 0 {
					o.number("offset", why.Off)
				}
				o.field("text", tidy(why.Text, 512))
			})
		}
	})
	if v.More > 0 {
		o.number("more", int64(v.More))
	}
}
