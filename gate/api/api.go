package api

import (
	"bytes"
	"crypto/sha256"
	"crypto/subtle"
	_ "embed"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/anamnesis-go/anamnesis/gate"
	"github.com/anamnesis-go/anamnesis/gate/handler"
	"github.com/anamnesis-go/anamnesis/gate/host"
	"github.com/anamnesis-go/anamnesis/gate/receipt"
)

//go:embed openapi.json
var description []byte

// Options configure an API.
type Options struct {
	handler.Options

	// Tokens are accepted from clients; without any, everybody may ask.
	Tokens []string
	// Version of the program, for modelscan's form.
	Version string
	// Receipts, if set, signs each verdict that is answered.
	Receipts *receipt.Signer
	// UI answers GET / with a page that sends a file and shows the report about it.
	UI bool
}

// An API serves the requests.
type API struct {
	o        Options
	gate     *handler.Handler
	mux      *http.ServeMux
	exact    http.Handler // the mux, without redirects
	metrics  handler.Metrics
	tokens   atomic.Pointer[[][sha256.Size]byte]
	draining atomic.Bool
	reports  chan struct{} // of capacity 1: reports of the page are made one at a time
}

// New returns an API; close it when the server has stopped.
func New(o Options) (*API, error) {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	a := &API{o: o, mux: http.NewServeMux(), reports: make(chan struct{}, 1)}
	a.exact = handler.Exact(a.mux)
	a.setTokens(o.Tokens)
	observe := o.Observe
	o.Observe = func(e host.Event) {
		a.metrics.Observe(e)
		if observe != nil {
			observe(e)
		}
	}
	o.TenantOf = a.tenantOf
	o.NameOf = func(r *http.Request) string { return r.URL.Query().Get("name") }
	o.PromisedOf = func(r *http.Request) string { return r.URL.Query().Get("promised") }
	o.BesideOf = func(r *http.Request) bool { return r.URL.Query().Get("beside") == "true" }
	o.Answer = a.serveRefused
	var err error
	if a.gate, err = handler.New(http.HandlerFunc(a.serveAccepted), o.Options); err != nil {
		return nil, err
	}
	a.metrics.Load = a.gate.Host().Load
	a.mux.Handle("/v1/check", a.requireToken(a.checkQuery(a.gate)))
	a.mux.Handle("GET /v1/rules", a.requireToken(http.HandlerFunc(rules)))
	a.mux.Handle("GET /metrics", a.requireToken(&a.metrics))
	a.mux.Handle("GET /openapi.json", a.requireToken(serveText("application/json", description)))
	a.mux.Handle("GET /healthz", serveText("text/plain; charset=utf-8", []byte("ok\n")))
	a.mux.HandleFunc("GET /readyz", a.ready)
	if o.UI {
		if err := a.serveUI(); err != nil {
			return nil, err
		}
	}
	return a, nil
}

// Gate returns the handler that uploads go through, for others that share its host.
func (a *API) Gate() *handler.Handler {
	if !a.exists() {
		return nil
	}
	return a.gate
}

// exists is false of a nil API and of one that [New] did not make: they answer no request but
// with an error.
func (a *API) exists() bool { return a != nil && a.gate != nil }

// Metrics returns the counts.
func (a *API) Metrics() *handler.Metrics {
	if !a.exists() {
		return nil
	}
	return &a.metrics
}

// Drain makes /readyz fail, so that clients send no more files, and refuses files that
// arrive or wait. Those that are judged are finished.
func (a *API) Drain() {
	if !a.exists() {
		return
	}
	a.draining.Store(true)
	a.gate.Drain()
}

// Reload sets the gate and the tokens for requests that come later. An error changes
// nothing.
func (a *API) Reload(g gate.Gate, tokens []string) error {
	if err := a.Gate().Host().SetGate(g); err != nil {
		return err
	}
	a.setTokens(tokens)
	return nil
}

func (a *API) setTokens(tokens []string) {
	sums := make([][sha256.Size]byte, len(tokens))
	for i, t := range tokens {
		sums[i] = sha256.Sum256([]byte(t))
	}
	a.tokens.Store(&sums)
}

// Close waits for open uploads.
func (a *API) Close() { a.Gate().Close() }

// ServeHTTP implements [http.Handler].
func (a *API) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if !a.exists() {
		handler.WriteProblem(w, nil)
		return
	}
	w.Header().Set("X-Content-Type-Options", "nosniff")
	a.exact.ServeHTTP(newPacedWriter(w, a.gate.Options()), r)
}

// token returns the bearer token of a request, or "".
func token(r *http.Request) string {
	kind, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	if !strings.EqualFold(kind, "Bearer") {
		return ""
	}
	return token
}

// tenantOf returns the tenant of a request, in a form that may be logged: by its token, or
// by the client's address if no token is needed, since then a client could state any.
func (a *API) tenantOf(r *http.Request) string {
	if len(*a.tokens.Load()) == 0 {
		return host.AddressTenant(r.RemoteAddr)
	}
	sum := sha256.Sum256([]byte(token(r)))
	return hex.EncodeToString(sum[:6])
}

// requireToken checks the token of a request, in constant time.
func (a *API) requireToken(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		tokens := *a.tokens.Load()
		ok, given := len(tokens) == 0, sha256.Sum256([]byte(token(r)))
		for i := range tokens {
			if subtle.ConstantTimeCompare(tokens[i][:], given[:]) == 1 {
				ok = true
			}
		}
		if !ok {
			w.Header().Set("WWW-Authenticate", "Bearer")
			handler.WriteProblem(w, &handler.Problem{Type: "about:blank", Title: "Unauthorized", Status: http.StatusUnauthorized, Detail: "a token is needed"})
			return
		}
		next.ServeHTTP(w, r)
	})
}

// parameters are those of a check.
var parameters = []string{"name", "promised", "beside", "format", "nonce"}

// checkQuery rejects unknown and repeated query parameters: another reader of a repeated
// one may take the other value.
func (a *API) checkQuery(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		values, err := url.ParseQuery(r.URL.RawQuery)
		detail := ""
		switch {
		case err != nil:
			detail = "the parameters cannot be read"
		case values.Has("beside") && values.Get("beside") != "true" && values.Get("beside") != "false":
			detail = "beside is true, for a file of a folder that need not be a model, or false"
		case values.Has("format") && values.Get("format") != "modelscan" && !a.isFromPage(r):
			detail = "the answer has no such format: format is modelscan, or is left out"
		}
		if nonce := values.Get("nonce"); values.Has("nonce") {
			switch {
			case a.o.Receipts == nil:
				detail = "this service has no key to sign receipts with, and so does not answer a nonce"
			case !receipt.IsNonce(nonce):
				detail = fmt.Sprintf("a nonce has %d to %d letters, digits, and -._~", receipt.MinNonce, receipt.MaxNonce)
			}
		}
		for name, list := range values {
			if !slices.Contains(parameters, name) {
				detail = "a parameter is not known: there are " + strings.Join(parameters, ", ")
			} else if len(list) > 1 {
				detail = "a parameter appears twice"
			}
		}
		if detail != "" {
			handler.WriteProblem(w, &handler.Problem{Type: "about:blank", Title: http.StatusText(http.StatusBadRequest), Status: http.StatusBadRequest, Detail: detail})
			return
		}
		next.ServeHTTP(w, r)
	})
}

func serveText(kind string, text []byte) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { write(w, kind, text) })
}

func write(w http.ResponseWriter, kind string, text []byte) {
	w.Header().Set("Content-Type", kind)
	// An error means that the client has left.
	_, _ = w.Write(text)
}

func writeJSON(w http.ResponseWriter, v any) {
	text, err := json.Marshal(v)
	if err != nil {
		http.Error(w, "internal error", http.StatusInternalServerError)
		return
	}
	write(w, "application/json", append(text, '\n'))
}

// answer answers with the JSON that each of these writes in turn, and a newline. Its lists are
// not held in memory.
func answer(w http.ResponseWriter, pieces ...func(io.Writer) error) {
	err := handler.WriteAnswer(w, http.StatusOK, "application/json", func(to io.Writer) error {
		for _, piece := range append(pieces, text("\n")) {
			if err := piece(to); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		handler.WriteProblem(w, &handler.Problem{Type: "about:blank", Title: "Internal error", Status: http.StatusInternalServerError})
	}
}

// text is a piece of an answer.
func text(s string) func(io.Writer) error {
	return func(w io.Writer) error {
		_, err := io.WriteString(w, s)
		return err
	}
}

// withReceipt is a verdict with its receipt, if it has one.
func withReceipt(v *gate.Verdict, signed json.RawMessage) func(io.Writer) error {
	if signed == nil {
		return v.WriteJSON
	}
	return func(w io.Writer) error {
		last := &withoutLast{w: w}
		if err := v.WriteJSON(last); err != nil {
			return err
		}
		_, err := io.WriteString(w, `,"receipt":`+string(signed)+"}")
		return err
	}
}

// withoutLast passes on all bytes but the last, which is the brace that ends an object.
type withoutLast struct {
	w    io.Writer
	last []byte
}

func (o *withoutLast) Write(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	if _, err := o.w.Write(o.last); err != nil {
		return 0, err
	}
	o.last = append(o.last[:0], p[len(p)-1])
	_, err := o.w.Write(p[:len(p)-1])
	return len(p), err
}

func (a *API) ready(w http.ResponseWriter, _ *http.Request) {
	if a.draining.Load() || a.gate.Host().Ready() != nil {
		http.Error(w, "busy", http.StatusServiceUnavailable)
		return
	}
	write(w, "text/plain; charset=utf-8", []byte("ready\n"))
}

func rules(w http.ResponseWriter, _ *http.Request) {
	type rule struct {
		ID       string `json:"id"`
		Kind     string `json:"kind"`
		Severity string `json:"severity"`
		Title    string `json:"title"`
		Why      string `json:"why"`
		Advice   string `json:"advice"`
		Allow    string `json:"allow"`
		Policy   string `json:"policy"`
		Page     string `json:"page"`
	}
	list := []rule{}
	for _, r := range gate.Rules() {
		allow, member := r.Allow()
		list = append(list, rule{r.ID, r.Kind, r.Severity.String(), r.Title, r.Why, r.Advice, allow, member, r.Page()})
	}
	writeJSON(w, map[string]any{"schema": "amn.rules/1", "rules": list})
}

// serveAccepted answers with the verdict of a file, or of a folder, that has its acceptance.
func (a *API) serveAccepted(w http.ResponseWriter, r *http.Request) {
	list := handler.Uploads(r.Context())
	if len(list) != 1 || !handler.Acceptance(r.Context()).OK() {
		panic(http.ErrAbortHandler) // no file came through the gate
	}
	u := list[0]
	signed, err := a.sign(r, u.Verdict)
	if err != nil {
		handler.WriteProblem(w, &handler.Problem{Type: "about:blank", Title: "Internal error", Status: http.StatusInternalServerError})
		return
	}
	verdict := withReceipt(u.Verdict, signed)
	switch {
	case a.isFromPage(r):
		a.servePageReport(w, r, u, signed)
	case wantsModelscan(r):
		answer(w, a.modelscan(u.Verdict, signed))
	case r.Method == http.MethodPut:
		answer(w, verdict)
	case len(u.Files()) > 0:
		answer(w, text(`{"schema":"amn.check/1","folder":`), verdict, text("}"))
	default:
		answer(w, text(`{"schema":"amn.check/1","files":[`), verdict, text("]}"))
	}
}

// sign returns the receipt of a verdict, nil if the service signs none.
func (a *API) sign(r *http.Request, v *gate.Verdict) (json.RawMessage, error) {
	if a.o.Receipts == nil {
		return nil, nil
	}
	text, err := a.o.Receipts.Sign(v, r.URL.Query().Get("nonce"))
	return bytes.TrimSpace(text), err
}

// serveRefused answers with a problem, with the page's report, or in modelscan's form. The
// status is that of the problem whatever the form.
func (a *API) serveRefused(w http.ResponseWriter, r *http.Request, p *handler.Problem) {
	if p.Verdict == nil {
		handler.WriteProblem(w, p)
		return
	}
	signed, err := a.sign(r, p.Verdict)
	if err != nil { // it stays refused, and has no receipt
		a.o.Log.ErrorContext(r.Context(), "receipt not signed", "error", err.Error())
		signed = nil
	}
	switch p.Receipt = signed; {
	case a.isFromPage(r):
		a.servePageRefusal(w, r, p)
	case wantsModelscan(r):
		answer(w, a.modelscan(p.Verdict, signed))
	default:
		handler.WriteProblem(w, p)
	}
}
