package api

import (
	"bytes"
	_ "embed" // the parts of the pages
	"encoding/json"
	"errors"
	"html/template"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/anamnesis-go/anamnesis/hub/store"
	"github.com/anamnesis-go/anamnesis/internal/wire"
)

var (
	//go:embed page.css
	pageStyle []byte
	//go:embed page.html
	pageText string
)

// show is a text of a file or a tenant as a page has it: what cannot be seen, or turns text round,
// is an escape. Markup is escaped by the template.
func show(s string) string { return wire.Text(s, 300) }

var pages = template.Must(template.New("").Funcs(template.FuncMap{
	"show":  show,
	"short": func(s string) string { return wire.Text(s, 12) },
	"day": func(t time.Time) string {
		if t.UnixMilli() == 0 {
			return ""
		}
		return t.UTC().Format("2006-01-02 15:04")
	},
	"link": func(r store.Repo) string {
		return "/repo?" + url.Values{"tenant": {r.Tenant}, "name": {r.Repo}, "revision": {r.Revision}}.Encode()
	},
}).Parse(pageText))

// pagePolicy allows a page its style sheet and its forms, and nothing else.
const pagePolicy = "default-src 'none'; style-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"

// routePages adds the pages for people. A browser is asked for a token as a password, under any
// name; what is not asked for by a page of this server changes nothing.
func (s *Server) routePages() {
	s.page("GET /{$}", Read, s.overview)
	s.page("GET /repos", Read, s.repos)
	s.page("GET /repo", Read, s.repo)
	s.page("GET /exceptions", Read, s.exceptions)
	s.page("POST /appeal", Submit, s.appealForm)
	s.page("POST /exception", Except, s.exceptionForm)
	s.mux.HandleFunc("GET /page.css", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/css; charset=utf-8")
		w.Header().Set("X-Content-Type-Options", "nosniff")
		w.Write(pageStyle)
	})
}

// data is what a template is given.
type data map[string]any

// page serves a page to those whose token has a role. do returns the name of its template.
func (s *Server) page(pattern string, role Role, do func(*http.Request, Token) (string, data, error)) {
	s.mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
		w, r = s.begin(w, r)
		defer s.counts.end(pattern, w)
		h := w.Header()
		for name, value := range map[string]string{
			"Content-Security-Policy": pagePolicy, "X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer", "Cache-Control": "no-store",
			"Cross-Origin-Opener-Policy": "same-origin", "Cross-Origin-Resource-Policy": "same-origin",
		} {
			h.Set(name, value)
		}
		t, err := s.person(r)
		name, what := "", data{}
		switch {
		case err != nil:
			h.Set("WWW-Authenticate", `Basic realm="amn-hub: the token is the password", charset="UTF-8"`)
			err = &problem{status: http.StatusUnauthorized, detail: err.Error()}
		case !t.may(role):
			err = &problem{status: http.StatusForbidden, detail: "the token has no role " + string(role)}
		case s.foreign(r):
			err = errForeign
		default:
			name, what, err = do(r, t)
		}
		s.show(w, r, t, name, what, err)
	})
}

// show writes a page, or where a form leads.
func (s *Server) show(w http.ResponseWriter, r *http.Request, t Token, name string, what data, err error) {
	status := http.StatusOK
	if err != nil {
		if r.Context().Err() != nil {
			panic(http.ErrAbortHandler)
		}
		p, ok := errors.AsType[*problem](err)
		if !ok {
			s.o.Log.Error("a page failed", "path", r.URL.Path, "request", requestOf(r), "error", wire.Text(err.Error(), 1024))
			p = &problem{status: http.StatusInternalServerError, detail: "the service could not do it; its operator can read why"}
		}
		status, name, what = p.status, "problem", data{"Title": http.StatusText(p.status), "Detail": p.detail}
	} else if to, ok := strings.CutPrefix(name, "to "); ok {
		http.Redirect(w, r, to, http.StatusSeeOther)
		return
	}
	what["Who"] = t.Tenant
	var text bytes.Buffer
	if err := pages.ExecuteTemplate(&text, name, what); err != nil {
		s.o.Log.Error("a page failed", "path", r.URL.Path, "request", requestOf(r), "error", wire.Text(err.Error(), 1024))
		w.WriteHeader(http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(status)
	w.Write(text.Bytes())
}

// person returns the token of a browser, which sends it as a password.
func (s *Server) person(r *http.Request) (Token, error) {
	if _, password, ok := r.BasicAuth(); ok && s.tokens.Load() != nil && len(r.Header.Values("Authorization")) == 1 {
		return s.known(password)
	}
	return s.caller(r)
}

// seenBy returns the tenant whose rows a person is shown, "*" for all.
func (t Token) seenBy() string {
	if t.may(Operate) {
		return "*"
	}
	return t.Tenant
}

// maxRows bounds the rows of a table on a page.
const maxRows = 200

func (s *Server) overview(r *http.Request, t Token) (string, data, error) {
	ctx, of := r.Context(), t.seenBy()
	standing, err := s.o.Store.Standing(ctx)
	if err != nil {
		return "", nil, err
	}
	type tenant struct {
		store.Standing

		Policy string
	}
	var tenants []tenant
	report := false
	for _, one := range standing {
		if of != "*" && one.Tenant != of {
			continue
		}
		by, err := s.by(one.Tenant)
		says := "cannot be read: nothing is judged by it"
		if err == nil {
			says = "version " + itoa(by.Version) + ", " + by.Mode
			if by.Version == 0 {
				says = "the program's own, " + by.Mode
			}
			report = report || by.Mode == store.Report && one.Tenant == t.Tenant
		}
		if tenants = append(tenants, tenant{one, says}); len(tenants) == maxRows {
			break
		}
	}
	what := data{"Title": "Overview", "Tenants": tenants, "Report": report}
	if what["ByRule"], err = s.o.Store.ByRule(ctx, of, 50); err != nil {
		return "", nil, err
	}
	parked, err := s.o.Store.Parked(ctx)
	if err != nil {
		return "", nil, err
	}
	parked = slices.DeleteFunc(parked, func(p store.Parked) bool { return of != "*" && p.Tenant != of })
	what["Parked"] = parked[:min(len(parked), maxRows)]
	if of == "*" { // of all tenants together
		if what["Rates"], err = s.o.Store.Rates(ctx, time.Now().Add(-time.Hour)); err != nil {
			return "", nil, err
		}
		owed, err := s.o.Store.Owed(ctx)
		if err != nil {
			return "", nil, err
		}
		var hooks []store.Rate
		for _, key := range slices.SortedFunc(maps.Keys(owed), func(a, b [2]string) int { return strings.Compare(a[0]+" "+a[1], b[0]+" "+b[1]) }) {
			hooks = append(hooks, store.Rate{Kind: key[0], Class: key[1], N: owed[key]})
		}
		what["Hooks"] = hooks
	}
	return "overview", what, nil
}

// plain reports whether a text can be asked for in a database.
func plain(s string) bool {
	return utf8.ValidString(s) && !strings.ContainsRune(s, 0) && len(s) <= 4096
}

func (s *Server) repos(r *http.Request, t Token) (string, data, error) {
	q := r.URL.Query().Get("q")
	if !plain(q) {
		return "", nil, unknown
	}
	list, err := s.o.Store.Repos(r.Context(), t.seenBy(), q, maxRows)
	return "repos", data{"Title": "Repositories", "Query": q, "Repos": list}, err
}

// A pageFile is a file on the page of a repository.
type pageFile struct {
	Name, Format, Class, SHA256 string
	Size                        int64
}

// A reason is why a revision is refused, as its page says.
type pageReason struct{ Rule, Where, Text, Advice string }

func (s *Server) repo(r *http.Request, t Token) (string, data, error) {
	in := r.URL.Query()
	tenant, name, revision := in.Get("tenant"), in.Get("name"), in.Get("revision")
	if tenant != t.Tenant && !t.may(Operate) || !plain(tenant) || !plain(name) || !plain(revision) {
		return "", nil, unknown
	}
	v, ok, err := s.o.Store.Revision(r.Context(), tenant, name, revision)
	if err != nil {
		return "", nil, err
	}
	if !ok {
		return "", nil, unknown
	}
	by, err := s.by(tenant)
	if err != nil {
		return "", nil, err
	}
	var detail struct {
		Refusals []pageReason
		Contents []pageFile
	}
	if err := json.Unmarshal(v.Detail, &detail); err != nil {
		return "", nil, err
	}
	sums := make(map[string]string, len(v.Files))
	for _, f := range v.Files {
		sums[f.Name] = f.SHA256
	}
	files := detail.Contents[:min(len(detail.Contents), 1000)]
	for i := range files {
		files[i].SHA256 = sums[files[i].Name]
	}
	reasons, first := detail.Refusals[:min(len(detail.Refusals), maxRows)], ""
	if len(reasons) > 0 {
		first = reasons[0].Rule
	}
	good := by.Good(&v)
	return "repo", data{
		"Title": show(v.Repo), "Repo": v.Repo, "Revision": v.Work.Revision, "Tenant": v.Tenant, "At": v.At, "Epoch": v.Epoch, "How": v.How, "Claimed": v.Claimed,
		"Class": v.Class, "State": "", "Stale": !good, "Accepted": good && v.Accepted, "Report": by.Mode == store.Report,
		"Reasons": reasons, "FirstRule": first, "Files": files, "More": len(detail.Contents) - len(files),
		"MayAsk": !v.Accepted && t.may(Submit) && tenant == t.Tenant && repoName.MatchString(v.Repo),
	}, nil
}

func (s *Server) exceptions(r *http.Request, t Token) (string, data, error) {
	list, err := s.o.Store.Exceptions(r.Context(), t.seenBy())
	return "exceptions", data{"Title": "Exceptions and appeals", "Exceptions": list[:min(len(list), maxRows)], "MayDecide": t.may(Except)}, err
}

// form reads the fields of a form, each once.
func form(r *http.Request, names ...string) (map[string]string, error) {
	r.Body = http.MaxBytesReader(nil, r.Body, 64<<10)
	if err := r.ParseForm(); err != nil {
		return nil, invalid("the form cannot be read")
	}
	out := map[string]string{}
	for _, name := range names {
		if v := r.PostForm[name]; len(v) > 1 || len(v) == 1 && (!plain(v[0])) {
			return nil, invalid("%s is not one plain text", name)
		} else if len(v) == 1 {
			out[name] = v[0]
		}
	}
	return out, nil
}

func (s *Server) appealForm(r *http.Request, t Token) (string, data, error) {
	in, err := form(r, "repo", "rule", "sha256", "reason")
	if err != nil {
		return "", nil, err
	}
	_, err = s.except(r, t, in, store.Asked)
	return "to /exceptions", nil, err
}

func (s *Server) exceptionForm(r *http.Request, t Token) (string, data, error) {
	in, err := form(r, "id", "state", "expires", "answer")
	if err != nil {
		return "", nil, err
	}
	_, err = s.decided(r, t, in["id"], in)
	return "to /exceptions", nil, err
}
