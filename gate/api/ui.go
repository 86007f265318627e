package api

import (
	"bytes"
	"context"
	_ "embed" // the page's script
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strconv"

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

// pageProfile bounds the memory of one report.
const pageProfile = "upload"

// serveUI serves the page, which sends a file or a folder to this service and shows the answer in the
// view of package page.
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

// isFromPage reports whether the page sent the request.
func (a *API) isFromPage(r *http.Request) bool {
	return a.o.UI && (r.Method == http.MethodPut || r.Method == http.MethodPost) && r.URL.Query().Get("format") == "page"
}

// servePageReport answers with the report about an accepted upload. Pages are built one at a time and
// sent from a file, so that a client that does not read delays no other.
func (a *API) servePageReport(w http.ResponseWriter, r *http.Request, u *host.Upload, signed json.RawMessage) {
	text, err := u.Scratch()
	if err == nil {
		defer text.Close()
		err = a.writeReport(r.Context(), text, u, signed)
	}
	switch busy, is := errors.AsType[*host.Busy](err); {
	case err == nil:
	case is:
		handler.WriteProblem(w, &handler.Problem{Type: "about:blank", Title: "Busy", Status: http.StatusServiceUnavailable, Detail: busy.Error()})
		return
	case r.Context().Err() != nil:
		panic(http.ErrAbortHandler) // an answer without a report would say yes
	default:
		handler.WriteProblem(w, &handler.Problem{Type: "about:blank", Title: "Internal error", Status: http.StatusInternalServerError})
		return
	}
	from := text.Reader()
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Content-Length", strconv.FormatInt(from.Size(), 10))
	// An error means that the client has left, or does not read.
	_, _ = io.Copy(w, from)
}

// writeReport writes the report about an upload. If child processes judge, no file is opened in
// this one, and the report holds only the verdict.
func (a *API) writeReport(ctx context.Context, w io.Writer, u *host.Upload, signed json.RawMessage) error {
	select {
	case a.reports <- struct{}{}:
		defer func() { <-a.reports }()
	case <-ctx.Done():
		return ctx.Err()
	}
	p, _ := limits.Profile(pageProfile)
	b := p.Budget(ctx)
	defer b.Close()
	var m tensor.Model
	if a.o.Judge == nil {
		// A model with too much to list is shown without its tensors.
		if found, err := modelOf(b, u); err == nil {
			m = found
			defer m.Close()
		}
	}
	report, err := page.New(b, u.Name, u.Size, m, u.Verdict)
	if err != nil {
		report, err = page.New(nil, u.Name, u.Size, nil, u.Verdict)
	}
	if err != nil {
		return err
	}
	report.Receipt = signed
	return report.WriteJSON(w)
}

// modelOf opens the model of an upload; of a folder, the only one in it.
func modelOf(b *limits.Budget, u *host.Upload) (tensor.Model, error) {
	files := u.Files()
	if len(files) == 0 {
		return parser.Decode(b, u.Reader(), u.Size)
	}
	var f gate.Folder
	for i := range files {
		if err := b.Step(1); err != nil {
			return nil, err
		}
		if err := f.Add(files[i].File, files[i].Reader()); err != nil {
			return nil, err
		}
	}
	return parser.OpenFS(b, &f, ".")
}

// servePageRefusal answers with the report about a refused file.
func (a *API) servePageRefusal(w http.ResponseWriter, r *http.Request, p *handler.Problem) {
	v := p.Verdict
	b := limits.Policy{}.Budget(context.WithoutCancel(r.Context()))
	defer b.Close()
	report, err := page.New(b, v.Name, v.Size, nil, v)
	if err != nil {
		report = page.Refused(v.Name, v.Size, err)
	}
	report.Receipt = p.Receipt
	writeJSON(w, report)
}
