package api

import (
	"encoding/json"
	"fmt"
	"io"
	"iter"
	"net/http"
	"strings"

	"github.com/anamnesis-go/anamnesis/gate"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/vm"
)

// wantsModelscan reports whether the client wants the answer in modelscan's form.
func wantsModelscan(r *http.Request) bool {
	return r.URL.Query().Get("format") == "modelscan" || strings.Contains(r.Header.Get("Accept"), "application/vnd.modelscan+json")
}

// The names of these fields are those that modelscan 0.8.8 prints.
type (
	msSummary struct {
		BySeverity map[string]int `json:"total_issues_by_severity"`
		Total      int            `json:"total_issues"`
		Input      string         `json:"input_path"`
		Version    string         `json:"modelscan_version"`
		Scanned    msScanned      `json:"scanned"`
	}
	msScanned struct {
		Total int      `json:"total_scanned"`
		Files []string `json:"scanned_files"`
	}
	msIssue struct {
		Description string `json:"description"`
		Operator    string `json:"operator,omitempty"`
		Module      string `json:"module,omitempty"`
		Source      string `json:"source"`
		Scanner     string `json:"scanner"`
		Severity    string `json:"severity"`
	}
)

// modelscan writes the report that modelscan would print about a file or a folder, without the
// time, so that the same files give the same text. Receipts are not modelscan's.
func (a *API) modelscan(v *gate.Verdict, signed json.RawMessage) func(io.Writer) error {
	name := wire.Whole(v.Name)
	s := msSummary{BySeverity: map[string]int{"LOW": 0, "MEDIUM": 0, "HIGH": 0, "CRITICAL": 0}, Input: name, Version: "anamnesis " + a.o.Version}
	for _, f := range v.Files() {
		s.Scanned.Files = append(s.Scanned.Files, wire.Whole(f.Name))
	}
	if s.Scanned.Files == nil {
		s.Scanned.Files = []string{name}
	}
	s.Scanned.Total = len(s.Scanned.Files)
	for i := range issues(v, name) {
		s.BySeverity[i.Severity]++
		s.Total++
	}
	return func(w io.Writer) error {
		head, err := json.Marshal(s)
		if err != nil {
			return err
		}
		if _, err := fmt.Fprintf(w, `{"summary":%s,"issues":[`, head); err != nil {
			return err
		}
		first := true
		for i := range issues(v, name) {
			text, err := json.Marshal(i)
			if err != nil {
				return err
			}
			if !first {
				text = append([]byte(","), text...)
			}
			first = false
			if _, err := w.Write(text); err != nil {
				return err
			}
		}
		end := `],"errors":[]`
		if signed != nil {
			end += `,"receipts":[` + string(signed) + `]`
		}
		_, err = io.WriteString(w, end+"}")
		return err
	}
}

// issues are the refusals of a file, or the findings of one that is accepted.
func issues(v *gate.Verdict, name string) iter.Seq[msIssue] {
	return func(yield func(msIssue) bool) {
		named := globals(v)
		for _, why := range v.Refusals() {
			i := msIssue{Description: wire.Text(why.Text, wire.MaxMessage), Source: name, Scanner: "anamnesis." + why.Rule, Severity: "HIGH"}
			switch why.Class {
			case wire.Forbidden:
				i.Severity = "CRITICAL"
			case wire.Limit:
				i.Severity = "MEDIUM"
			}
			if v.Format == gate.FolderFormat && why.Where != "" { // it begins with the name of the file
				i.Source = wire.Text(why.Where, 1024)
			}
			if g := named[place{why.Where, why.Off}]; g != nil {
				i.Module, i.Operator = wire.Clean(g.Module, 256), wire.Clean(g.Name, 256)
			}
			if !yield(i) {
				return
			}
		}
		for _, f := range v.Findings {
			if v.Accepted() && !yield(msIssue{Description: wire.Text(f.Text, wire.MaxMessage), Source: name, Scanner: "anamnesis." + f.Code, Severity: "LOW"}) {
				return
			}
		}
	}
}

// A place is where a pickle names a global.
type place struct {
	pickle string
	off    int64
}

// globals returns the globals that the pickles of a file name, by place, since modelscan
// reports module and operator.
func globals(v *gate.Verdict) map[place]*vm.Global {
	out := map[place]*vm.Global{}
	for _, p := range v.Pickles {
		for e := range p.Report.Events() {
			if e.Use == vm.UseGlobal && !e.OK {
				out[place{p.Name, e.Off}] = e.On.Global()
			}
		}
	}
	return out
}
