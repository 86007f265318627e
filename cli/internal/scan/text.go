package scan

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/anamnesis-go/anamnesis/cli/internal/fault"
	"github.com/anamnesis-go/anamnesis/cli/internal/jsonout"
	"github.com/anamnesis-go/anamnesis/cli/internal/report"
	"github.com/anamnesis-go/anamnesis/cli/internal/term"
	"github.com/anamnesis-go/anamnesis/gate"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/parser/pth"
	"github.com/anamnesis-go/anamnesis/vm"
)

// classWidth is the column at which the result of a file begins.
const classWidth = 12

// report counts and prints the result of one file. It returns only errors that end the
// command.
func (sc *scanner) report(ctx context.Context, rep *scanReport) error {
	defer rep.Close()
	s := sc.s
	if err, ok := errors.AsType[fault.Interrupted](rep.Err); ok {
		return err
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	switch {
	case rep.Excluded:
		sc.skipped++
		rep.skipped = "excluded"
	case rep.Harmless != "":
		sc.skipped++
		rep.skipped = rep.Harmless
	case rep.Unlooked != "" && rep.Accepted():
		sc.unlooked++
		rep.skipped = rep.Unlooked
	case rep.Unlooked != "":
		sc.unlooked++
		fallthrough
	default:
		sc.count[rep.class()]++
		if rep.BesideModel() {
			sc.texts++
		}
		s.Count.Note(rep.Err)
	}
	json := func(w *bufio.Writer) {
		jsonout.Write(w, func(o *jsonout.Object) { sc.json(o, rep) })
		w.WriteByte('\n')
	}
	if err := errors.Join(sc.reports.Add(rep.path, rep.Verdict, json), sc.evidence.add(rep)); err != nil {
		return err
	}
	switch {
	case sc.reports.Print:
	case s.JSON:
		json(s.Out.Writer)
	default:
		sc.text(rep)
	}
	return s.Out.Flush()
}

// text prints one line for a clean file of a folder, and details for any other file.
func (sc *scanner) text(rep *scanReport) {
	s := sc.s
	if rep.skipped != "" {
		if !s.Quiet {
			s.Out.Prose(classWidth, "%s%s: %s", term.Pad("skipped", classWidth), term.Path(rep.path), term.Tidy(rep.skipped, 512))
			sc.printExceptions(rep)
		}
		return
	}
	verdict := rep.class().String()
	detail := rep.given || sc.all || rep.Err != nil || len(rep.Findings)+len(rep.Ignored)+len(rep.Expired) > 0
	s.Out.Paint = term.ClassColour(rep.class())
	if !detail {
		s.Out.Prose(classWidth, "%s%s: %s", term.Pad(verdict, classWidth), term.Path(rep.path), rep.contentText())
		return
	}
	s.Out.Prose(classWidth, "%s%s", term.Pad(verdict, classWidth), term.Path(rep.path))
	if rep.Err != nil {
		sc.detail("%s", term.Tidy(fault.Message(rep.path, rep.Err), wire.MaxMessage))
		if hint := fault.Hint(rep.Err, &s.Policy.Limits); hint != "" {
			sc.detail("%s", hint)
		}
		if rules := rep.rules(); rep.class() != wire.Internal {
			rule, _ := gate.RuleOf(rules[0])
			sc.detail("rule %s: %s", strings.Join(rules, ", "), rule.Advice)
		}
	}
	sc.detail("looked at: %s", rep.contentText())
	sc.contents(rep)
	for _, p := range rep.Pickles {
		if clean := p.Report.Safe.OK && len(p.Report.Graph.Globals()) == 0; !clean || sc.all || len(rep.Pickles) == 1 {
			sc.pickle(rep, p)
		}
	}
	if len(rep.Pickles) > 0 {
		safe, taken := rep.Safe(), rep.WeightsOnly()
		sc.detail("safe: %s; %s: %s", yesNo(safe.OK), taken.By, weightsOnlyText(&taken))
	}
	sc.printExceptions(rep)
	for severity, text := range report.FewOf(rep.Findings) {
		s.Out.Paint = term.SeverityColours[severity]
		sc.detail("%s: %s", severity, text)
	}
}

// contents prints the refused contents of an archive; with --all, every content.
func (sc *scanner) contents(rep *scanReport) {
	for _, c := range rep.Contents {
		if c.Class == wire.OK && !sc.all {
			continue
		}
		what := c.Format
		for _, text := range []string{c.Harmless, c.Unlooked} {
			if what == "" {
				what = text
			}
		}
		sc.detail("  %s %s: %s, %s", term.Pad(c.Class.String(), classWidth-1), wire.Clean(c.Name, 256), term.Tidy(what, 256), term.Bytes(c.Size))
	}
}

// printExceptions prints the exceptions that applied or have expired.
func (sc *scanner) printExceptions(rep *scanReport) {
	for _, line := range report.ExceptionLines(rep.Verdict) {
		sc.detail("%s", line)
	}
}

func (sc *scanner) detail(format string, args ...any) {
	sc.s.Out.Prose(classWidth+4, "%s%s", term.Pad("", classWidth), fmt.Sprintf(format, args...))
}

// contentText describes the examined content of the file.
func (rep *scanReport) contentText() string {
	if rep.Format == "" {
		return term.Bytes(rep.Size)
	}
	text := report.TitleOf(rep.Format)
	if rep.Contents != nil {
		text += ", " + term.Plural(int64(len(rep.Contents)), "content")
	}
	if !isPlain(rep.Format) && rep.Err == nil {
		text += ", " + term.Plural(rep.Totals.Tensors, "tensor") + " of " + term.Bytes(rep.Totals.Bytes)
	}
	if n := len(rep.Pickles); n > 0 && !isPlain(rep.Format) {
		text += ", " + term.Plural(int64(n), "pickle")
	}
	switch {
	case isPlain(rep.Format):
		text += ", " + term.Bytes(rep.Size)
	default:
		text += ", data " + report.DataWords(rep.Bodies())
	}
	return text
}

// pickle prints the globals of one pickle, and the reasons against it.
func (sc *scanner) pickle(rep *scanReport, p pth.Pickle) {
	r := p.Report
	called, stored := callsOf(r)
	globals := r.Graph.Globals()
	sc.detail("%s: %s, %s, %s", wire.Clean(p.Name, 256), term.Plural(int64(len(globals)), "global"), term.Plural(called, "call"), term.Plural(stored, "storage"))
	for _, g := range globals {
		switch {
		case slices.Contains(rep.Allowed, wire.Clean(g.String(), 256)):
			sc.detail("  %#-8x %s %s: allowed by the policy", g.Off, term.Pad("named", 9), wire.Clean(g.String(), 256))
		case g.Status != vm.Allowed || sc.all:
			sc.detail("  %#-8x %s %s", g.Off, term.Pad(g.Status.String(), 9), globalText(g))
		}
	}
	for _, why := range r.Safe.Reasons {
		if why.Code != "global" && !(rep.Accepted() && len(rep.Allowed) > 0) {
			sc.detail("  %s %s", offText(why.Off), term.Tidy(why.Text, 512))
		}
	}
	if r.Safe.More > 0 {
		sc.detail("  and %s more", term.Plural(int64(r.Safe.More), "reason"))
	}
	if sc.all {
		for e := range r.Events() {
			if e.Use != vm.UseGlobal {
				text := eventText(&e)
				if rep.Accepted() { // the refused events are those that the policy allows
					text = strings.ReplaceAll(text, " (refused)", " (allowed by the policy)")
				}
				sc.detail("  %#-8x %s %s", e.Off, term.Pad(e.Use.String(), 10), term.Tidy(text, 512))
			}
		}
	}
}

// globalText returns a global and the reason why it is refused.
func globalText(g *vm.Global) string {
	text := wire.Clean(g.String(), 256)
	if g.Written != "" {
		text += " (written " + wire.Quote(g.Written) + ")"
	}
	switch {
	case g.Status == vm.Dangerous:
		text += ": " + g.Reason
	case g.Status == vm.Unknown:
		text += ": unknown, so it is refused"
	}
	return text
}

func eventText(e *vm.Event) string {
	text := e.On.String()
	switch {
	case e.Use == vm.UsePersistent:
		text = e.With.String()
	case e.Given:
		text += " " + e.With.Shape()
	}
	if !e.OK {
		text += " (refused)"
	}
	return text
}

// weightsOnlyText returns "yes", or "no" or "unsure" with the first reason.
func weightsOnlyText(v *vm.Verdict) string {
	text := gate.Taken(v)
	if !v.OK && len(v.Reasons) > 0 {
		text += ", " + term.Tidy(v.Reasons[0].Text, 256)
	}
	return text
}

func offText(off int64) string {
	if off < 0 {
		return term.Pad("", 8)
	}
	return fmt.Sprintf("%#-8x", off)
}

func yesNo(ok bool) string {
	if ok {
		return "yes"
	}
	return "no"
}
