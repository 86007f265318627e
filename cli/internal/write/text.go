package write

import (
	"bufio"
	"errors"
	"fmt"
	"time"

	"github.com/anamnesis-go/anamnesis/cli/internal/fault"
	"github.com/anamnesis-go/anamnesis/cli/internal/jsonout"
	"github.com/anamnesis-go/anamnesis/cli/internal/report"
	"github.com/anamnesis-go/anamnesis/cli/internal/run"
	"github.com/anamnesis-go/anamnesis/cli/internal/term"
	"github.com/anamnesis-go/anamnesis/convert"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
	"github.com/anamnesis-go/anamnesis/quant"
)

// planOf sums up the weights that are decoded.
func (c *conversion) planOf() *report.Plan {
	p := &report.Plan{Target: c.opts.Quant.Target}
	var decoded []*quant.Weight
	for _, w := range c.plan.Weights {
		if w.Scheme != "" { // the others are tensors that are cast
			decoded = append(decoded, w)
		}
	}
	p.Group(append(decoded, c.plan.Read...))
	return p
}

// maxSpecial is how many weights with NaN or infinities, and how many files, are listed.
const maxSpecial = 10

// printWritten prints what was written, or would be.
func printWritten(s *run.Run, c *conversion) {
	p := c.planOf()
	s.Out.Fact("", "Source", report.ViewOf(c.model).Title)
	if text := report.ChoiceText(c.model); text != "" {
		s.Out.Fact("", "Chosen", term.Tidy(text, wire.MaxMessage))
	}
	if p.Total.Weights > 0 {
		s.Out.Fact("", "Dequantized", fmt.Sprintf("%s, %s -> %s (%v)", term.Plural(p.Total.Weights, "weight"),
			term.Bytes(p.Total.Stored), term.Bytes(p.Total.Decoded), p.Target))
		report.PrintSchemes(s, p)
	}
	if n := c.plan.Cast; n.Tensors > 0 {
		s.Out.Fact("", "Cast", fmt.Sprintf("%s -> %s (%v)", term.Plural(int64(n.Tensors), "tensor"), term.Bytes(n.Bytes), castName(c, p)))
	}
	printEdited(s, c.edited)
	if c.merged != nil {
		printMerged(s, c.merged, c.plan)
	} else if n := c.plan.Copied; n.Tensors > 0 {
		s.Out.Fact("", "Passthrough", fmt.Sprintf("%s, %s", term.Plural(int64(n.Tensors), "tensor"), term.Bytes(n.Bytes)))
	}
	printRenamed(s, c)
	printNotWritten(s, c.model)
	report.PrintLeftOut(s, c.plan.LeftOut)
	report.PrintIgnored(s, c.plan.Ignored)
	if p.Total.Weights > 0 {
		s.Out.Fact("", "Recovered", fmt.Sprintf("~%s of precision", term.Bytes(max(0, p.Total.Decoded-p.Total.Stored))))
	}
	printQuantized(s, c)
	if c.opts.Sink != nil && c.opts.Sink.Name() == "npz" && c.plan.Stores(tensor.BF16) {
		s.Out.Fact("", "Note", "NumPy has no BF16: it is stored as V2, which amn and a.view(ml_dtypes.bfloat16) read")
	}
	printSpecial(s, c.result)
	printBeside(s, c.result)
	printResumed(s, c)
	label, note := "Output", ""
	switch {
	case c.err != nil:
		label = "Would fail"
	case c.result == nil:
		label = "Would write"
	}
	if c.replaces {
		note = ", replacing what is there"
	}
	s.Out.Fact("", label, fmt.Sprintf("%s (%s)%s", c.targetText(), term.Bytes(c.plan.Size), note))
	if c.result != nil && c.took >= time.Second {
		sync := fmt.Sprintf("%s of it for syncing to disk", c.result.Synced.Round(100*time.Millisecond))
		if c.flags.NoSync {
			sync = "not synced"
		}
		s.Out.Fact("", "Took", fmt.Sprintf("%s, %s/s, %s, %s", c.took.Round(100*time.Millisecond),
			term.Bytes(int64(float64(c.plan.Size)/c.took.Seconds())), term.Plural(int64(c.result.Workers), "worker"), sync))
	}
	if c.result != nil && c.flags.NoSync {
		s.Out.Fact("", "Not synced", "the output may be lost if the machine crashes within the next minute")
	}
}

// targetText returns the target for people.
func (c *conversion) targetText() string {
	if c.pipe != nil {
		return "standard output"
	}
	return term.Path(c.conversionState.target)
}

// castName returns the type that tensors are cast to.
func castName(c *conversion, p *report.Plan) string {
	if c.opts.CastTo != tensor.Unknown {
		return c.opts.CastTo.String()
	}
	return p.Target.String()
}

// printSpecial prints the weights that have NaN or infinities.
func printSpecial(s *run.Run, r *convert.Result) {
	if r == nil || len(r.Special) == 0 {
		return
	}
	s.Out.Fact("", "No numbers", term.Plural(int64(len(r.Special)), "weight"))
	for i, x := range r.Special {
		if i == maxSpecial {
			s.Out.Line("  and %s", term.Plural(int64(len(r.Special)-i), "more weight"))
			break
		}
		s.Out.Line("  %s  %s overflowed, %s infinite, %s NaN", term.ShortName(x.Name), term.Count(x.Overflow), term.Count(x.Inf), term.Count(x.NaN))
	}
}

// printBeside prints how many files of a folder were copied, and which were not.
func printBeside(s *run.Run, r *convert.Result) {
	if r == nil || r.Beside == nil {
		return
	}
	if n := len(r.Beside.Copied); n > 0 {
		s.Out.Fact("", "Files", term.Plural(int64(n), "file")+" beside the weights")
	}
	for i, name := range r.Beside.Left {
		label := ""
		if i == 0 {
			label = "Not copied:"
		}
		if i == maxSpecial {
			s.Out.Line("%-*sand %d more", term.LabelWidth, label, len(r.Beside.Left)-i)
			break
		}
		s.Out.Line("%-*s%s", term.LabelWidth, label, term.Tidy(name, 80))
	}
}

// printWrittenJSON prints what printWritten prints, as cli/schema describes it.
func printWrittenJSON(s *run.Run, c *conversion) error {
	writeWrittenJSON(s.Out.Writer, c)
	return s.Out.Flush()
}

func writeWrittenJSON(out *bufio.Writer, c *conversion) {
	jsonout.Write(out, func(o *jsonout.Object) {
		o.Field("schema", c.schema)
		o.Text("path", c.path)
		r := report.Report{Model: c.model, Err: c.err}
		o.Field("format", r.Format())
		o.Field("class", r.Class().String())
		exit := r.Class().ExitCode()
		if stop, ok := errors.AsType[fault.Interrupted](c.err); ok {
			exit = stop.ExitCode()
		}
		o.Field("exit", exit)
		if c.err != nil {
			o.Object("error", func(o *jsonout.Object) { fault.JSON(o, c.err) })
		}
		if c.plan != nil && c.conversionState.target != "" {
			jsonWritten(o, c)
		}
	})
	out.WriteByte('\n') // the writer keeps the error
}

func jsonWritten(o *jsonout.Object, c *conversion) {
	p := c.planOf()
	o.Text("output", c.conversionState.target)
	o.Field("written", c.result != nil)
	if c.dryRun && c.err == nil {
		o.Field("replaces", c.replaces)
	}
	if text := report.ChoiceText(c.model); text != "" {
		o.Text("chosen", text)
	}
	jsonRenamed(o, c)
	jsonNotWritten(o, c.model)
	o.Number("bytes", c.plan.Size)
	o.Field("target", p.Target.String())
	o.Number("weights", p.Total.Weights)
	o.Number("stored", p.Total.Stored)
	o.Number("decoded", p.Total.Decoded)
	o.Number("cast", int64(c.plan.Cast.Tensors))
	o.Number("passthrough", int64(c.plan.Copied.Tensors))
	report.JSONLeftOut(o, c.plan.LeftOut)
	report.JSONIgnored(o, c.plan.Ignored)
	report.JSONSchemes(o, p)
	o.List("files", func(add func(func(*jsonout.Object))) {
		for _, f := range c.plan.Files {
			add(func(o *jsonout.Object) {
				if f.Name != "" {
					o.Text("path", f.Name)
				}
				o.Number("bytes", f.Size)
			})
		}
	})
	jsonLoads(o, c.plan.Loads)
	jsonQuantized(o, c)
	jsonMerged(o, c.merged)
	jsonEdited(o, c.edited)
	jsonUnfinished(o, c.err)
	jsonResumed(o, c.begun)
	if c.result == nil {
		return
	}
	jsonResumed(o, c.result.Resumed)
	o.Number("workers", int64(c.result.Workers))
	o.Float("seconds", c.took.Seconds(), 64)
	o.Float("sync_seconds", c.result.Synced.Seconds(), 64)
	o.List("special", func(add func(func(*jsonout.Object))) {
		for _, x := range c.result.Special {
			add(func(o *jsonout.Object) {
				o.Text("name", x.Name)
				o.Number("overflow", x.Overflow)
				o.Number("infinite", x.Inf)
				o.Number("nan", x.NaN)
			})
		}
	})
	if c.result.Beside != nil {
		jsonPaths(o, "copied", c.result.Beside.Copied)
		jsonPaths(o, "not_copied", c.result.Beside.Left)
	}
}

func jsonPaths(o *jsonout.Object, name string, list []string) {
	o.List(name, func(add func(func(*jsonout.Object))) {
		for _, text := range list {
			add(func(o *jsonout.Object) { o.Text("path", text) })
		}
	})
}
