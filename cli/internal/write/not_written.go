package write

import (
	"github.com/anamnesis-go/anamnesis/cli/internal/jsonout"
	"github.com/anamnesis-go/anamnesis/cli/internal/report"
	"github.com/anamnesis-go/anamnesis/cli/internal/run"
	"github.com/anamnesis-go/anamnesis/cli/internal/term"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// printNotWritten prints which values of a checkpoint are not written.
func printNotWritten(s *run.Run, m tensor.Model) {
	if text := report.OtherValues(m); text != "" {
		s.Out.CutFact("", "Values", "not written, since they are not tensors: "+text)
	}
	list := report.NotUnderstood(m)
	if len(list) == 0 {
		return
	}
	s.Out.Fact("", "Skipped", term.Plural(int64(len(list)), "thing")+" of the pickle; nothing was run")
	for _, text := range report.FirstFew(list) {
		s.Out.Line("  %s", text)
	}
}

// jsonNotWritten is printNotWritten for JSON.
func jsonNotWritten(o *jsonout.Object, m tensor.Model) {
	if m.Format() == "pth" {
		n := int64(0)
		for range m.Meta() {
			n++
		}
		o.Number("values", n)
	}
	if list := report.NotUnderstood(m); len(list) > 0 {
		o.List("not_understood", func(add func(func(*jsonout.Object))) {
			for _, text := range list {
				add(func(o *jsonout.Object) { o.Field("text", text) })
			}
		})
	}
}
