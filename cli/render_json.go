package cli

import (
	"bufio"
	"errors"
	"iter"

	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// printJSON prints a report in one line, as cli/schema describes it.
func (s *session) printJSON(schema string, r *report, list iter.Seq[tensor.Info]) error {
	writeJSON(s.out.Writer, schema, r, list)
	return nil
}

func writeJSON(w *bufio.Writer, schema string, r *report, list iter.Seq[tensor.Info]) {
	object(w, func(o *jsonObject) {
		o.field("schema", schema)
		o.text("path", r.path)
		o.field("format", r.format())
		o.field("class", r.class().String())
		o.field("exit", r.class().ExitCode())
		if r.err != nil {
			o.object("error", func(o *jsonObject) { jsonError(o, r.err) })
		} else {
			jsonModel(o, r, list)
		}
		if r.usage != nil {
			jsonUsage(o, r.usage)
		}
		if r.verdict != nil {
			if r.verdict.Err != nil {
				o.field("rules", rulesOf(r.verdict))
			}
			jsonExceptions(o, r.verdict)
		}
	})
	w.WriteByte('\n')
}

// jsonError writes an error; fields that do not apply are left out.
func jsonError(o *jsonObject, err error) {
	if e, ok := locate(err); ok {
		o.field("where", e.Where)
		if e.Off >= 0 {
			o.number("offset", e.Off)
		}
	}
	if e, ok := errors.AsType[*limits.Error](err); ok {
		jsonLimit(o, e.Axis.String(), e.Want, e.Left, axisFlag(e.Axis))
	}
	if e, ok := errors.AsType[*spoolError](err); ok {
		jsonLimit(o, "spool", e.limit+1, e.limit, "--max-spool")
	}
	o.field("message", tidy(errorText(err), wire.MaxMessage))
}

func jsonLimit(o *jsonObject, axis string, want, left int64, flag string) {
	o.field("axis", axis)
	o.number("want", want)
	o.number("left", left)
	o.field("flag", flag)
}

// jsonModel writes the fields of an accepted model.
func jsonModel(o *jsonObject, r *report, list iter.Seq[tensor.Info]) {
	o.field("bodies", r.bodies())
	o.object("totals", func(o *jsonObject) { jsonGroup(o, &r.total) })
	if s, ok := r.model.(sharded); ok && len(s.FileNames()) > 0 {
		o.list("files", func(add func(func(*jsonObject))) {
			for _, name := range s.FileNames() {
				add(func(o *jsonObject) { o.text("path", name) })
			}
		})
	}
	o.list("metadata", func(add func(func(*jsonObject))) {
		for key, value := range r.model.Meta() {
			add(func(o *jsonObject) {
				o.text("key", key)
				o.value("value", value)
			})
		}
	})
	o.list("tensors", func(add func(func(*jsonObject))) {
		for i := range list {
			add(func(o *jsonObject) { jsonTensor(o, r.model, &i) })
		}
	})
	o.list("groups", func(add func(func(*jsonObject))) {
		for _, g := range r.groups {
			add(func(o *jsonObject) {
				o.text("dtype", g.Type)
				jsonGroup(o, &g)
			})
		}
	})
	jsonPlan(o, r.planned)
	jsonMemory(o, r)
	o.list("findings", func(add func(func(*jsonObject))) {
		for _, f := range r.model.Findings() {
			add(func(o *jsonObject) { jsonFinding(o, &f) })
		}
	})
}

func jsonGroup(o *jsonObject, g *group) {
	o.number("tensors", g.Tensors)
	o.number("elements", g.Elements)
	o.number("bytes", g.Bytes)
}

func jsonTensor(o *jsonObject, m tensor.Model, i *tensor.Info) {
	o.text("name", i.Name)
	o.text("dtype", i.TypeName())
	if i.Stored != "" && i.Stored != i.TypeName() {
		o.text("stored", i.Stored)
	}
	o.numbers("shape", i.Shape)
	if i.Strides != nil {
		o.numbers("strides", i.Strides)
		o.number("first", i.Offset)
	}
	o.number("bytes", i.Bytes())
	o.number("offset", i.Span.Off)
	o.number("length", i.Span.Len)
	if i.Order == tensor.Big {
		o.field("order", i.Order.String())
	}
	if i.Storage != "" {
		o.text("storage", i.Storage)
	}
	if i.Part != 0 {
		o.number("part", int64(i.Part))
	}
	if _, ok := m.At(*i); !ok {
		o.field("inflated", true)
	}
}

func jsonFinding(o *jsonObject, f *tensor.Finding) {
	o.field("code", f.Code)
	o.field("severity", f.Severity.String())
	o.field("where", f.Where)
	if f.Off >= 0 {
		o.number("offset", f.Off)
	}
	o.field("text", f.Text)
}

func jsonUsage(o *jsonObject, usage []limits.AxisUsage) {
	o.list("usage", func(add func(func(*jsonObject))) {
		for _, u := range usage {
			add(func(o *jsonObject) {
				o.field("axis", u.Axis.String())
				o.field("flag", axisFlag(u.Axis))
				o.number("used", u.Used)
				o.number("peak", u.Peak)
				o.number("limit", u.Limit)
			})
		}
	})
}
