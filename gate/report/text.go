package report

import (
	"bufio"
	"encoding/xml"
	"strings"
)

// junit writes the XML that test runners read: a test case for each file.
type junit struct{}

func (junit) begin(w *bufio.Writer, _ string) {
	w.WriteString(xml.Header + "<testsuites name=\"gate\">\n<testsuite name=\"gate\">\n")
}

func (junit) file(w *bufio.Writer, f *file) {
	w.WriteString(`<testcase classname="gate" name="` + escaped(f.path) + `">`)
	if f.harmless != "" {
		w.WriteString(`<skipped message="` + escaped(f.harmless) + `"/>`)
	}
	for i := range f.reasons {
		if r := &f.reasons[i]; r.level == "error" {
			w.WriteString(`<failure type="` + escaped(r.rule) + `" message="` + escaped(r.sentence()) + `"/>`)
			break // one failure per test case
		}
	}
	var rest strings.Builder
	for i := range f.reasons {
		r := &f.reasons[i]
		rest.WriteString(r.level + " " + r.rule + ": " + r.sentence() + "\n")
	}
	if rest.Len() > 0 {
		w.WriteString("<system-out>" + escaped(rest.String()) + "</system-out>")
	}
	w.WriteString("</testcase>\n")
}

func (junit) end(w *bufio.Writer) { w.WriteString("</testsuite>\n</testsuites>\n") }

func escaped(s string) string {
	var out strings.Builder
	if xml.EscapeText(&out, []byte(s)) != nil {
		return ""
	}
	return out.String()
}

// markdown writes a table: a row for each reason, and for each file without one.
type markdown struct{}

func (markdown) begin(w *bufio.Writer, _ string) {
	w.WriteString("| file | verdict | rule | what |\n|---|---|---|---|\n")
}

func (markdown) file(w *bufio.Writer, f *file) {
	if f.harmless != "" {
		return
	}
	if len(f.reasons) == 0 {
		w.WriteString("| " + cell(f.path) + " | " + f.class + " | | |\n")
	}
	for i := range f.reasons {
		r := &f.reasons[i]
		verdict := f.class
		if r.level != "error" {
			verdict = r.level
		}
		w.WriteString("| " + cell(f.path) + " | " + verdict + " | `" + r.rule + "` | " + cell(r.sentence()) + " |\n")
	}
}

func (markdown) end(*bufio.Writer) {}

// cell escapes s so that no renderer takes it for markup.
func cell(s string) string {
	var out strings.Builder
	for _, r := range s {
		switch {
		case r == '\n' || r == '\r':
			out.WriteByte(' ')
		case r < ' ':
		case strings.ContainsRune("\\`*_{}[]<>()#+!|~&@:", r):
			out.WriteByte('\\')
			out.WriteRune(r)
		default:
			out.WriteRune(r)
		}
	}
	return out.String()
}

// github is workflow commands, which a runner of GitHub shows beside the files.
type github struct{}

func (github) begin(*bufio.Writer, string) {}

func (github) file(w *bufio.Writer, f *file) {
	for i := range f.reasons {
		r := &f.reasons[i]
		kind := map[string]string{"error": "error", "warning": "warning"}[r.level]
		if kind == "" {
			kind = "notice"
		}
		w.WriteString("::" + kind + " file=" + property(f.path) + ",line=1,title=" + property("amn: "+r.rule) + "::" + data(r.sentence()) + "\n")
	}
}

func (github) end(*bufio.Writer) {}

// data and property escape as the runner's documentation says.
func data(s string) string {
	return strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A").Replace(s)
}

func property(s string) string {
	return strings.NewReplacer(":", "%3A", ",", "%2C").Replace(data(s))
}
