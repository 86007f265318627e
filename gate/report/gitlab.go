package report

import "bufio"

// gitlab is the report of code quality that GitLab shows in a merge request
// (artifacts:reports:codequality).
type gitlab struct{ wrote bool }

type gitlabIssue struct {
	Description string         `json:"description"`
	Check       string         `json:"check_name"`
	Fingerprint string         `json:"fingerprint"`
	Severity    string         `json:"severity"`
	Location    gitlabLocation `json:"location"`
}

type gitlabLocation struct {
	Path  string      `json:"path"`
	Lines gitlabLines `json:"lines"`
}

type gitlabLines struct {
	Begin int `json:"begin"`
}

func (*gitlab) begin(w *bufio.Writer, _ string) { w.WriteString("[") }

func (g *gitlab) file(w *bufio.Writer, f *file) {
	for i := range f.reasons {
		r := &f.reasons[i]
		severity := map[string]string{"error": "critical", "warning": "major", "note": "info"}[r.level]
		if severity == "" {
			continue // suppressed by the policy
		}
		if g.wrote {
			w.WriteString(",")
		}
		g.wrote = true
		w.WriteString("\n")
		w.Write(encoded(gitlabIssue{r.sentence(), r.rule, r.fingerprint(f), severity, gitlabLocation{f.path, gitlabLines{1}}}))
	}
}

func (*gitlab) end(w *bufio.Writer) { w.WriteString("\n]\n") }
