package api

import (
	"bytes"
	"context"
	_ "embed" // the page's script
	"net/http"

	"github.com/anamnesis-go/anamnesis/gate"
	"github.com/anamnesis-go/anamnesis/gate/handler"
	"github.com/anamnesis-go/anamnesis/gate/host"
	"github.com/anamnesis-go/anamnesis/gate/page"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

//go:embed ui.js
var uiScript string

// pageProfile bounds what one report takes; one is made at a time.
const pageProfile = "upload"

// serveUI answers with the page: it holds no report, asks this service about a file,
// and shows what it says in the view of package page.
func (a *API) serveUI() error {
	var text bytes.Buffer
	if err := page.WriteWith(&text, nil, page.Part{Script: uiScript, Policy: []string{"connect-src 'self'"}}); err != nil {
		return err
	}
	a.mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Security-Policy", "frame-ancestors 'none'")
		w.Header().Set("Referrer-Policy", "no-referrer")
		w.Header().Set("Cache-Control", "no-store")
		write(w, "text/html; charset=utf-8", text.Bytes())
	})
	return nil
}

// forPage reports a request of the page.
func (a *API) forPage(r *http.Request) bool {
	return a.o.UI && r.Method == http.MethodPut && r.URL.Query().Get("format") == "page"
}

// shown answers with the report of a file that was accepted: where children judge, no
// file is opened here, and the report is the verdict alone.
func (a *API) shown(w http.ResponseWriter, r *http.Request, u *host.Upload) {
	select {
	case a.reports <- struct{}{}:
		defer func() { <-a.reports }()
	case <-r.Context().Done():
		return
	}
	p, _ := limits.Profile(pageProfile)
	b := p.Budget(r.Context())
	defer b.Close()
	var m tensor.Model
	if a.o.Judge == nil {
		// What is too large to list is shown without its tensors.
		if found, err := parser.Decode(b, u.Reader(), u.Size); err == nil {
			m = found
			defer m.Close()
		}
	}
	report, err := page.New(b, u.Name, u.Size, m, u.Verdict)
	if err != nil {
		report, err = page.New(nil, u.Name, u.Size, nil, u.Verdict)
	}
	if err != nil {
		handler.WriteProblem(w, &handler.Problem{Type: "about:blank", Title: "Internal error", Status: http.StatusInternalServerError})
		return
	}
	writeJSON(w, report)
}

// shownRefused answers with the report of one that was refused.
func (a *API) shownRefused(w http.ResponseWriter, r *http.Request, v *gate.Verdict) {
	b := limits.Policy{}.Budget(context.WithoutCancel(r.Context()))
	defer b.Close()
	report, err := page.New(b, v.Name, v.Size, nil, v)
	if err != nil {
		report = page.Refused(v.Name, v.Size, err)
	}
	writeJSON(w, report)
}
