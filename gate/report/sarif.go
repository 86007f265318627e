package report

import (
	"bufio"
	"encoding/json"
	"net/url"
	"strconv"

	"github.com/anamnesis-go/anamnesis/gate"
)

// sarif writes SARIF 2.1.0. Refusals are results of level error. Places are byte regions,
// and line 1 for GitHub, which requires a line.
type sarif struct {
	wrote   bool
	version string
	occur   map[string]bool // the rules of results
}

// A sarifRule has what GitHub requires: three texts, and a severity by which it sorts
// security results (7 and more is high).
type sarifRule struct {
	ID         string          `json:"id"`
	Short      sarifText       `json:"shortDescription"`
	Full       sarifText       `json:"fullDescription"`
	Help       sarifText       `json:"help"`
	HelpURI    string          `json:"helpUri"`
	Properties sarifProperties `json:"properties"`
}

type sarifProperties struct {
	Tags     []string `json:"tags"`
	Severity string   `json:"security-severity"`
}

type sarifText struct {
	Text string `json:"text"`
}

type sarifResult struct {
	RuleID       string            `json:"ruleId"`
	Level        string            `json:"level"`
	Message      sarifText         `json:"message"`
	Locations    []sarifLocation   `json:"locations"`
	Fingerprints map[string]string `json:"partialFingerprints"`
	Suppressions []sarifSuppressed `json:"suppressions,omitempty"`
}

type sarifSuppressed struct {
	Kind string `json:"kind"`
}

type sarifLocation struct {
	Physical struct {
		Artifact struct {
			URI string `json:"uri"`
		} `json:"artifactLocation"`
		Region sarifRegion `json:"region"`
	} `json:"physicalLocation"`
}

type sarifRegion struct {
	StartLine  int    `json:"startLine"`
	ByteOffset *int64 `json:"byteOffset,omitempty"`
	ByteLength *int64 `json:"byteLength,omitempty"`
}

// repository is the prefix of the pages about rules.
const repository = "https://github.com/anamnesis-go/anamnesis/blob/main/"

func (s *sarif) begin(w *bufio.Writer, version string) {
	s.version, s.occur = version, map[string]bool{}
	w.WriteString(`{"$schema":"https://json.schemastore.org/sarif-2.1.0.json","version":"2.1.0","runs":[{"columnKind":"unicodeCodePoints","results":[`)
}

func (s *sarif) file(w *bufio.Writer, f *file) {
	for i := range f.reasons {
		r := &f.reasons[i]
		if s.wrote {
			w.WriteString(",")
		}
		s.wrote = true
		w.WriteString("\n")
		s.occur[r.rule] = true
		w.Write(encoded(r.sarif(f)))
	}
}

func (r *reason) sarif(f *file) sarifResult {
	out := sarifResult{RuleID: r.rule, Level: r.level, Message: sarifText{r.sentence()}, Locations: make([]sarifLocation, 1),
		Fingerprints: map[string]string{"amnReason/v1": r.fingerprint(f)}}
	if r.level == "ignored" {
		out.Level, out.Suppressions = "error", []sarifSuppressed{{"external"}}
	}
	at := &out.Locations[0].Physical
	at.Artifact.URI = (&url.URL{Path: f.path}).EscapedPath()
	at.Region.StartLine = 1
	if one := int64(1); r.off >= 0 {
		at.Region.ByteOffset, at.Region.ByteLength = &r.off, &one
	}
	return out
}

// end writes what the tool is, with the rules that occur: all of them are half a megabyte.
func (s *sarif) end(w *bufio.Writer) {
	rules := []sarifRule{}
	for _, r := range gate.Rules() {
		if !s.occur[r.ID] {
			continue
		}
		title, severity := sarifText{r.Title}, "7.5"
		if r.Kind == "finding" {
			severity = "4.0"
		}
		help := sarifText{r.Title + " " + r.Why + " " + r.Advice + " A policy may set it aside, with a reason and a last day."}
		rules = append(rules, sarifRule{r.ID, title, title, help, repository + r.Page(), sarifProperties{[]string{"security"}, severity}})
	}
	w.WriteString("\n" + `],"tool":{"driver":{"name":"amn","version":` + quoted(s.version) + `,"rules":`)
	w.Write(encoded(rules))
	w.WriteString("}}}]}\n")
}

// encoded returns the JSON of v, which can always be encoded.
func encoded(v any) []byte {
	p, err := json.Marshal(v)
	if err != nil {
		return []byte(strconv.Quote(err.Error()))
	}
	return p
}

func quoted(s string) string { return string(encoded(s)) }
