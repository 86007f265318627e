// Package report writes verdicts for people and for pipelines: SARIF 2.1.0,
// JUnit's XML, a page for people, a table in Markdown, annotations of GitHub's runners,
// GitLab's report of code quality, and the baseline that later runs are held against.
//
//	w, err := report.New("sarif", file, "1.2.0")
//	...
//	err = w.Add("models/a.pt", verdict)
//	...
//	err = w.Close()
//
// # Memory
//
// Each verdict is written as it comes and nothing of it is kept.
//
// # Not supported
//
// A Writer is for one goroutine.
package report

import (
	"bufio"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"strings"

	"github.com/anamnesis-go/anamnesis/gate"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// A format writes the parts of a report.
type format interface {
	begin(w *bufio.Writer, version string)
	file(w *bufio.Writer, f *file)
	end(w *bufio.Writer)
}

// formats in the order in which they are listed.
var formats = []struct {
	name string
	make func() format
}{
	{"sarif", func() format { return &sarif{} }},
	{"junit", func() format { return junit{} }},
	{"html", func() format { return &page{} }},
	{"markdown", func() format { return markdown{} }},
	{"github", func() format { return github{} }},
	{"gitlab", func() format { return &gitlab{} }},
	{"baseline", func() format { return &baseline{} }},
}

// Formats lists the names of the formats.
func Formats() (names []string) {
	for _, f := range formats {
		names = append(names, f.name)
	}
	return names
}

var (
	errNoWriter  = wire.ErrInternal.Errorf("there is no report, or it was ended")
	errNoVerdict = wire.ErrInternal.Errorf("there is no verdict about the file")
)

// A Writer writes one report.
type Writer struct {
	f format
	w *bufio.Writer
}

// New begins a report of the program with this version.
func New(name string, w io.Writer, version string) (*Writer, error) {
	if w == nil {
		return nil, errNoWriter
	}
	for _, f := range formats {
		if f.name == name {
			out := &Writer{f.make(), bufio.NewWriter(w)}
			out.f.begin(out.w, version)
			return out, nil
		}
	}
	return nil, wire.ErrUsage.Errorf("%s is not one of %s", wire.Quote(name), strings.Join(Formats(), ", "))
}

// Add writes the verdict about the file at path.
func (w *Writer) Add(path string, v *gate.Verdict) error {
	switch {
	case w == nil || w.f == nil:
		return errNoWriter
	case v == nil:
		return errNoVerdict
	}
	f := &file{known: known(v), path: wire.Clean(strings.ReplaceAll(path, `\`, "/"), 1024), class: v.Class().String(), harmless: v.Harmless}
	for _, r := range v.Refusals() {
		f.reasons = append(f.reasons, reason{r.Rule, "error", wire.Text(r.Where, 256), wire.Text(r.Text, wire.MaxMessage), r.Off})
	}
	for _, found := range v.Findings {
		level := "warning"
		if found.Severity == tensor.Note {
			level = "note"
		}
		f.reasons = append(f.reasons, reason{found.Code, level, wire.Text(found.Where, 256), wire.Text(found.Text, wire.MaxMessage), found.Off})
	}
	for _, r := range v.Ignored {
		f.reasons = append(f.reasons, reason{r.Rule, "ignored", wire.Text(r.Where, 256), wire.Text(r.Text, wire.MaxMessage), r.Off})
	}
	w.f.file(w.w, f)
	return w.w.Flush()
}

// Close ends the report.
func (w *Writer) Close() error {
	if w == nil || w.f == nil {
		return errNoWriter
	}
	w.f.end(w.w)
	w.f = nil
	return w.w.Flush()
}

// A file is one entry of a report.
type file struct {
	path, class string
	harmless    string
	reasons     []reason
	known       *gate.Known // its entry in a baseline, or nil
}

func known(v *gate.Verdict) *gate.Known {
	if k, ok := v.Known(); ok {
		return &k
	}
	return nil
}

// A reason is a refusal ("error"), a finding ("warning", "note"), or a refusal that the
// policy suppresses ("ignored").
type reason struct {
	rule, level string
	where, text string
	off         int64
}

// fingerprint identifies the reason in this run and in later ones.
func (r *reason) fingerprint(f *file) string {
	sum := sha256.Sum256([]byte(r.rule + "\x00" + f.path + "\x00" + r.place()))
	return hex.EncodeToString(sum[:16])
}

func (r *reason) place() string {
	text := r.where
	if r.off >= 0 {
		text = strings.TrimSpace(text + fmt.Sprintf(" at %#x", r.off))
	}
	return text
}

func (r *reason) sentence() string {
	if p := r.place(); p != "" {
		return p + ": " + r.text
	}
	return r.text
}
