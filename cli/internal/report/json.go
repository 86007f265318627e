package report

import (
	"bufio"
	"iter"

	"github.com/anamnesis-go/anamnesis/cli/internal/fault"
	"github.com/anamnesis-go/anamnesis/cli/internal/jsonout"
	"github.com/anamnesis-go/anamnesis/cli/internal/run"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// PrintJSON prints a report in one line, as cli/schema describes it.
func PrintJSON(s *run.Run, schema string, r *Report, list iter.Seq[tensor.Info]) error {
	Write(s.Out.Writer, schema, r, list)
	return nil
}

func Write(w *bufio.Writer, schema string, r *Report, list iter.Seq[tensor.Info]) {
	jsonout.Write(w, func(o *jsonout.Object) {
		o.Field("schema", schema)
		o.Text("path", r.Path)
		o.Field("format", r.Format())
		o.Field("class", r.Class().String())
		o.Field("exit", r.Class().ExitCode())
		if r.Err != nil {
			o.Object("error", func(o *jsonout.Object) { fault.JSON(o, r.Err) })
		} else {
			jsonModel(o, r, list)
		}
		if r.usage != nil {
			jsonUsage(o, r.usage)
		}
		if r.Verdict != nil {
			if r.Verdict.Err != nil {
				o.Field("rules", RulesOf(r.Verdict))
			}
			JSONExceptions(o, r.Verdict)
		}
	})
	w.WriteByte('\n')
}

// jsonModel writes the fields of an accepted model.
func jsonModel(o *jsonout.Object, r *Report, list iter.Seq[tensor.Info]) {
	o.Field("bodies", r.Bodies())
	o.Object("totals", func(o *jsonout.Object) { JSONGroup(o, &r.Total) })
	if s, ok := r.Model.(Sharded); ok && len(s.FileNames()) > 0 {
		o.List("files", func(add func(func(*jsonout.Object))) {
			for _, name := range s.FileNames() {
				add(func(o *jsonout.Object) { o.Text("path", name) })
			}
		})
	}
	o.List("metadata", func(add func(func(*jsonout.Object))) {
		for key, value := range r.Model.Meta() {
			add(func(o *jsonout.Object) {
				o.Text("key", key)
				o.Value("value", value)
			})
		}
	})
	o.List("tensors", func(add func(func(*jsonout.Object))) {
		for i := range list {
			add(func(o *jsonout.Object) { jsonTensor(o, r.Model, &i) })
		}
	})
	o.List("groups", func(add func(func(*jsonout.Object))) {
		for _, g := range r.groups {
			add(func(o *jsonout.Object) {
				o.Text("dtype", g.Type)
				JSONGroup(o, &g)
			})
		}
	})
	JSONPlan(o, r.planned)
	jsonMemory(o, r)
	o.List("findings", func(add func(func(*jsonout.Object))) {
		for _, f := range r.Model.Findings() {
			add(func(o *jsonout.Object) { JSONFinding(o, &f) })
		}
	})
}

func JSONGroup(o *jsonout.Object, g *Group) {
	o.Number("tensors", g.Tensors)
	o.Number("elements", g.Elements)
	o.Number("bytes", g.Bytes)
}

func jsonTensor(o *jsonout.Object, m tensor.Model, i *tensor.Info) {
	o.Text("name", i.Name)
	o.Text("dtype", i.TypeName())
	if i.Stored != "" && i.Stored != i.TypeName() {
		o.Text("stored", i.Stored)
	}
	o.Numbers("shape", i.Shape)
	if i.Strides != nil {
		o.Numbers("strides", i.Strides)
		o.Number("first", i.Offset)
	}
	o.Number("bytes", i.Bytes())
	o.Number("offset", i.Span.Off)
	o.Number("length", i.Span.Len)
	if i.Order == tensor.Big {
		o.Field("order", i.Order.String())
	}
	if i.Storage != "" {
		o.Text("storage", i.Storage)
	}
	if i.Part != 0 {
		o.Number("part", int64(i.Part))
	}
	if _, ok := m.At(*i); !ok {
		o.Field("inflated", true)
	}
}

func JSONFinding(o *jsonout.Object, f *tensor.Finding) {
	o.Field("code", f.Code)
	o.Field("severity", f.Severity.String())
	o.Field("where", f.Where)
	if f.Off >= 0 {
		o.Number("offset", f.Off)
	}
	o.Field("text", f.Text)
}

func jsonUsage(o *jsonout.Object, usage []limits.AxisUsage) {
	o.List("usage", func(add func(func(*jsonout.Object))) {
		for _, u := range usage {
			add(func(o *jsonout.Object) {
				o.Field("axis", u.Axis.String())
				o.Field("flag", fault.AxisFlag(u.Axis))
				o.Number("used", u.Used)
				o.Number("peak", u.Peak)
				o.Number("limit", u.Limit)
			})
		}
	})
}
