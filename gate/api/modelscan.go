package api

import (
	"encoding/json"
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
	msReport struct {
		Summary msSummary `json:"summary"`
		Issues  []msIssue `json:"issues"`
		Errors  []msError `json:"errors"`
		// Receipts is not modelscan's.
		Receipts []json.RawMessage `json:"receipts,omitempty"`
	}
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
	msError struct {
		Category    string `json:"category"`
		Description string `json:"description"`
		Source      string `json:"source"`
	}
)

// modelscan returns the report that modelscan would print about the files, without the
// time, so that the same files give the same text.
func (a *API) modelscan(signed []json.RawMessage, list ...*gate.Verdict) *msReport {
	out := &msReport{Issues: []msIssue{}, Errors: []msError{}}
	for _, text := range signed {
		if text != nil {
			out.Receipts = append(out.Receipts, text)
		}
	}
	s := &out.Summary
	s.BySeverity = map[string]int{"LOW": 0, "MEDIUM": 0, "HIGH": 0, "CRITICAL": 0}
	s.Version, s.Scanned.Files = "anamnesis "+a.o.Version, []string{}
	for _, v := range list {
		name := wire.Clean(v.Name, 1024)
		s.Scanned.Total++
		s.Scanned.Files = append(s.Scanned.Files, name)
		if s.Input == "" {
			s.Input = name
		}
		named := globals(v)
		for _, why := range v.Refusals() {
			severity := "CRITICAL"
			switch why.Class {
			case wire.Forbidden:
			case wire.Limit:
				severity = "MEDIUM"
			default:
				severity = "HIGH"
			}
			i := out.add(name, severity, "anamnesis."+why.Rule, why.Text)
			if g := named[place{why.Where, why.Off}]; g != nil {
				i.Module, i.Operator = wire.Clean(g.Module, 256), wire.Clean(g.Name, 256)
			}
		}
		for _, f := range v.Findings {
			if v.Accepted() {
				out.add(name, "LOW", "anamnesis."+f.Code, f.Text)
			}
		}
	}
	return out
}

func (r *msReport) add(source, severity, scanner, text string) *msIssue {
	r.Summary.BySeverity[severity]++
	r.Summary.Total++
	r.Issues = append(r.Issues, msIssue{Description: wire.Text(text, wire.MaxMessage), Source: source, Scanner: scanner, Severity: severity})
	return &r.Issues[len(r.Issues)-1]
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
