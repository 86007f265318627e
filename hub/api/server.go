package api

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/anamnesis-go/anamnesis/gate"
	"github.com/anamnesis-go/anamnesis/gate/handler"
	"github.com/anamnesis-go/anamnesis/gate/receipt"
	"github.com/anamnesis-go/anamnesis/hub/blob"
	"github.com/anamnesis-go/anamnesis/hub/rollout"
	"github.com/anamnesis-go/anamnesis/hub/store"
	"github.com/anamnesis-go/anamnesis/hub/worker"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
)

// Options configure a Server.
type Options struct {
	Store store.Store
	Blobs *blob.Store
	// Gate is that of the workers: a verdict by another policy or by other rules is none.
	Gate gate.Gate
	// Policies, if set, has the policy of each tenant, which takes the place of the gate's.
	Policies *rollout.Policies
	// Incoming are the messages that are taken from hubs and stores.
	Incoming []Incoming
	// Budget is the account of manifests that are read.
	Budget *limits.Budget
	// Receipts, if set, signs each verdict.
	Receipts *receipt.Signer
	// Tokens are those who may ask; without them everybody may, for Tenant.
	Tokens map[string]Token
	Tenant string

	MaxFiles    int           // of a manifest; default 100,000
	MaxManifest int64         // bytes of a manifest; default 32 MiB
	MaxFile     int64         // bytes of a content; default 64 GiB
	TenantBytes int64         // contents of a tenant; default 1 TiB
	Uploads     int           // contents that come at once, of one tenant at most half; default 64
	Manifests   int           // manifests that are read at once, of one tenant at most half; default 16
	Wait        time.Duration // how long POST waits for a verdict; default 10 s
	// UploadTime is in which all of a content must come, and MinRate how many bytes a second on
	// an average, asked every RateTime; default 4 h, 1 KiB and 10 s.
	UploadTime, RateTime time.Duration
	MinRate              int64
	// Answers is how many verdicts are written at once, of one tenant at most half; default 32.
	// A client that does not read one within AnswerTime is cut; default 30 s.
	Answers    int
	AnswerTime time.Duration

	// Today is the day by which exceptions of policies end; that of the clock unless set.
	Today func() string
	Log   *slog.Logger
}

// A Server is the handler.
type Server struct {
	o       Options
	mux     *http.ServeMux
	tokens  atomic.Pointer[map[string]Token]
	uploads room
	share   share // of what is stored
	answers room
	reading room
	judge   *rollout.Current // without Policies
	counts  counters
}

func set[T comparable](to *T, or T) {
	var zero T
	if *to == zero {
		*to = or
	}
}

// New returns a server.
func New(o Options) (*Server, error) {
	set(&o.MaxFiles, 100_000)
	set(&o.MaxManifest, 32<<20)
	set(&o.MaxFile, 64<<30)
	set(&o.TenantBytes, 1<<40)
	set(&o.Uploads, 64)
	set(&o.Wait, 10*time.Second)
	set(&o.UploadTime, 4*time.Hour)
	set(&o.RateTime, 10*time.Second)
	set(&o.MinRate, 1<<10)
	set(&o.Manifests, 16)
	set(&o.Answers, 32)
	set(&o.AnswerTime, 30*time.Second)
	set(&o.Tenant, "local")
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Store == nil || o.Blobs == nil || o.Budget == nil {
		return nil, errors.New("api: there is no store, no folder of blobs, or no account")
	}
	s := &Server{o: o, mux: http.NewServeMux(), uploads: room{all: o.Uploads}, reading: room{all: o.Manifests}, answers: room{all: o.Answers}}
	g := o.Gate
	judge, err := g.WithDigest()
	if err != nil {
		return nil, err
	}
	policy, err := g.Policy.Digest()
	if err != nil {
		return nil, err
	}
	s.judge = &rollout.Current{Gate: judge, Policy: policy, Mode: store.Enforce, Rules: gate.RulesDigest(g.Version)}
	if o.Tokens != nil {
		s.tokens.Store(&o.Tokens)
	}
	s.route("POST /v1/repos", Submit, s.postRepo)
	s.route("PUT /v1/blobs/{sha256}", Submit, s.putBlob)
	s.route("GET /v1/repos/{name...}", Read, s.getRepo)
	s.route("GET /v1/verdicts/{sha256}", Read, s.getVerdict)
	s.route("GET /v1/standing", Operate, s.standing)
	s.routePolicies()
	s.routePages()
	if err := s.routeIncoming(); err != nil {
		return nil, err
	}
	s.route("GET /v1/events", Read, s.events)
	s.route("GET /metrics", Operate, s.metrics)
	s.mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "ok\n") })
	s.mux.HandleFunc("GET /readyz", s.ready)
	return s, nil
}

// by returns what a tenant is judged by.
func (s *Server) by(tenant string) (*rollout.Current, error) {
	if s.o.Policies != nil {
		return s.o.Policies.For(tenant)
	}
	out := *s.judge
	g := *out.Gate
	g.Today = time.Now().UTC().Format(time.DateOnly)
	if s.o.Today != nil {
		g.Today = s.o.Today()
	}
	out.Gate = &g
	return &out, nil
}

// SetTokens sets the tokens of requests that come later.
func (s *Server) SetTokens(tokens map[string]Token) { s.tokens.Store(&tokens) }

// ServeHTTP implements http.Handler.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	http.NewResponseController(w).SetReadDeadline(time.Now().Add(s.o.RateTime)) // what reads a body has its own
	handler.Exact(s.mux).ServeHTTP(w, r)
}

// problem is an answer that is not 200.
type problem struct {
	status int
	detail string
	more   map[string]any
}

func (p *problem) Error() string { return p.detail }

// route serves requests of those whose token has a role. Whatever do returns is answered as a
// problem: nothing is accepted by silence.
func (s *Server) route(pattern string, role Role, do func(http.ResponseWriter, *http.Request, Token) error) {
	s.mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
		w, r = s.begin(w, r)
		defer s.counts.end(pattern, w)
		t, err := s.caller(r)
		switch {
		case err != nil:
			w.Header().Set("WWW-Authenticate", "Bearer")
			err = &problem{status: http.StatusUnauthorized, detail: err.Error()}
		case !t.may(role):
			err = &problem{status: http.StatusForbidden, detail: fmt.Sprintf("the token has no role %q", role)}
		case s.foreign(r):
			err = errForeign
		default:
			err = do(w, r, t)
		}
		if err != nil {
			// What is left of a body is not waited for: its client may never send it.
			http.NewResponseController(w).SetReadDeadline(time.Now().Add(time.Second))
			s.refuse(w, r, t, err)
		}
	})
}

// errForeign is the answer to a page of another server, which a browser shows beside this one.
var errForeign = &problem{status: http.StatusForbidden, detail: "the request is not from this server's own pages, or under another name than this machine's"}

var sameOrigin = http.NewCrossOriginProtection()

// foreign reports whether a browser sent a request for a page of another server. Where no token is
// asked for, only this machine has the address, under its own names.
func (s *Server) foreign(r *http.Request) bool {
	if sameOrigin.Check(r) != nil {
		return true
	}
	if s.tokens.Load() != nil {
		return false
	}
	host, _, err := net.SplitHostPort(r.Host)
	if err != nil {
		host = r.Host
	}
	ip := net.ParseIP(strings.Trim(host, "[]"))
	return host != "localhost" && (ip == nil || !ip.IsLoopback())
}

func (s *Server) refuse(w http.ResponseWriter, r *http.Request, t Token, err error) {
	if r.Context().Err() != nil {
		panic(http.ErrAbortHandler) // nobody reads it, and no status may be taken for an answer
	}
	p, ok := errors.AsType[*problem](err)
	if !ok {
		p = &problem{status: wire.ClassOf(err).HTTPStatus(), detail: wire.Text(err.Error(), 1024)}
		if tooLarge, ok := errors.AsType[*http.MaxBytesError](err); ok {
			p.status, p.detail = http.StatusRequestEntityTooLarge, fmt.Sprintf("more than %d bytes came", tooLarge.Limit)
		}
		if p.status < 400 {
			p.status = http.StatusInternalServerError
		}
		if p.status >= 500 {
			s.o.Log.Error("request failed", "path", r.URL.Path, "tenant", t.Tenant, "request", requestOf(r), "error", p.detail)
			p.detail = "the service could not do it; its operator can read why"
		}
	}
	out := map[string]any{"type": "about:blank", "title": http.StatusText(p.status), "status": p.status, "detail": p.detail}
	for k, v := range p.more {
		out[k] = v
	}
	if p.status == http.StatusServiceUnavailable || p.status == http.StatusTooManyRequests {
		w.Header().Set("Retry-After", "5")
	}
	writeJSON(w, p.status, "application/problem+json", out)
}

func writeJSON(w http.ResponseWriter, status int, kind string, v any) {
	text, err := json.Marshal(v)
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	w.Header().Set("Content-Type", kind)
	w.Header().Set("Content-Length", strconv.Itoa(len(text)+1))
	w.WriteHeader(status)
	w.Write(append(text, '\n'))
}

func (s *Server) ready(w http.ResponseWriter, r *http.Request) {
	ctx, cancel := context.WithTimeout(r.Context(), 2*time.Second)
	defer cancel()
	if _, err := s.o.Store.Left(ctx); err != nil {
		writeJSON(w, http.StatusServiceUnavailable, "application/problem+json", map[string]any{"title": "the database does not answer", "status": http.StatusServiceUnavailable})
		return
	}
	io.WriteString(w, "ready\n")
}

func (s *Server) standing(w http.ResponseWriter, r *http.Request, _ Token) error {
	list, err := s.o.Store.Standing(r.Context())
	if err != nil {
		return err
	}
	writeJSON(w, http.StatusOK, "application/json", map[string]any{"schema": "amn.standing/1", "tenants": list})
	return nil
}

// sourceName is the source of revisions that come over this interface.
const sourceName = "api"

// postRepo answers with the verdict about a manifest, or with what is missing for one.
func (s *Server) postRepo(w http.ResponseWriter, r *http.Request, t Token) error {
	ctx := r.Context()
	b := s.o.Budget.ChildContext(ctx, s.o.Gate.Policy.Limits)
	defer b.Close()
	m, err := s.readManifest(b, w, r, t)
	if err != nil {
		return err
	}
	missing, err := s.missing(ctx, t.Tenant, m.Files)
	if err != nil {
		return err
	}
	if len(missing) > 0 {
		return &problem{
			status: http.StatusConflict, detail: "contents of the manifest have not been sent: PUT each to /v1/blobs/SHA256, then send the manifest again",
			more: map[string]any{"missing": missing},
		}
	}
	added, err := s.o.Store.Add(ctx, []store.Work{{
		Tenant: t.Tenant, Source: sourceName, Repo: m.Repo, Revision: m.Revision, Manifest: m.Files, Cost: cost(m.Files),
		Caller: t.name(), Request: requestOf(r),
	}})
	if err != nil {
		return err
	}
	if added == 1 {
		s.o.Log.Info("submitted", "tenant", t.Tenant, "repo", m.Repo, "revision", m.Revision, "files", len(m.Files), "caller", t.name(), "request", requestOf(r))
	}
	return s.await(ctx, w, t, m)
}

// readManifest reads a manifest while there is room for one.
func (s *Server) readManifest(b *limits.Budget, w http.ResponseWriter, r *http.Request, t Token) (manifest, error) {
	leave, err := s.reading.enter(t.Tenant)
	if err != nil {
		return manifest{}, err
	}
	defer leave()
	r.Body = io.NopCloser(s.paced(w, r.Body))
	return s.o.read(b, w, r)
}

func cost(files []gate.File) (n int64) {
	for _, f := range files {
		n += 1 + f.Size>>20
	}
	return n
}

// missing lists the contents that a tenant has to send: those that it has not shown, and those
// of its own that are not kept any more.
func (s *Server) missing(ctx context.Context, tenant string, files []gate.File) (out []string, err error) {
	sums := make([]string, 0, len(files))
	sizes := make(map[string]int64, len(files))
	for _, f := range files {
		if size, twice := sizes[f.SHA256]; twice && size != f.Size {
			return nil, invalid("%s has two sizes in the manifest", f.SHA256)
		}
		sizes[f.SHA256] = f.Size
		sums = append(sums, f.SHA256)
	}
	slices.Sort(sums)
	sums = slices.Compact(sums)
	shown, err := s.o.Store.Shown(ctx, tenant, sums)
	if err != nil {
		return nil, err
	}
	for _, sum := range sums {
		if shown[sum] {
			size, has, err := s.o.Blobs.Size(tenant, sum)
			if err != nil {
				return nil, err
			}
			if has && size != sizes[sum] {
				return nil, invalid("%s has %d bytes, and the manifest says %d", sum, size, sizes[sum])
			}
			if has {
				continue
			}
		}
		out = append(out, sum)
	}
	return out, nil
}

// await answers when the revision is judged, or says that it is not yet.
func (s *Server) await(ctx context.Context, w http.ResponseWriter, t Token, m manifest) error {
	end := time.Now().Add(s.o.Wait)
	for wait := 5 * time.Millisecond; ; wait = min(2*wait, 250*time.Millisecond) {
		v, ok, err := s.o.Store.Revision(ctx, t.Tenant, m.Repo, m.Revision)
		if err != nil {
			return err
		}
		if ok && v.Source != sourceName {
			return &problem{status: http.StatusConflict, detail: "this revision was found by a sweep, with its own files"}
		}
		if ok && v.DirHash != gate.DirHash(m.Files) {
			return &problem{status: http.StatusConflict, detail: "this revision has other files: a revision never changes, so give these another one"}
		}
		by, err := s.by(t.Tenant) // it may change while the client waits
		if err != nil {
			return err
		}
		if ok && by.Good(&v) {
			return s.answer(w, t, by, v, m.Nonce)
		}
		if time.Now().Add(wait).After(end) {
			return &problem{status: http.StatusServiceUnavailable, detail: "the revision waits to be judged: ask again"}
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(wait):
		}
	}
}

// answer writes a verdict. It is 200 only from an acceptance, which the gate makes anew of what
// was stored, for these files, this policy and these rules. A policy that only reports changes no
// status: its verdict says so, and nobody signs for it.
func (s *Server) answer(w http.ResponseWriter, t Token, by *rollout.Current, v store.Verdict, nonce string) error {
	leave, err := s.answers.enter(t.Tenant)
	if err != nil {
		return err
	}
	defer leave()
	http.NewResponseController(w).SetWriteDeadline(time.Now().Add(s.o.AnswerTime))
	verdict, err := by.Gate.RemoteFolder(by.Carry(&v), v.Files, gate.Hint{Name: worker.Name, Beside: true})
	if err != nil {
		return err
	}
	defer verdict.Close()
	out := map[string]any{
		"schema": "amn.revision/1", "tenant": v.Tenant, "repo": v.Repo, "revision": v.Work.Revision, "judged": v.At, "epoch": v.Epoch,
		"dir_hash": v.DirHash, "class": v.Class, "accepted": verdict.Accepted(), "policy": v.Policy, "rules": by.Rules, "mode": by.Mode, "enforced": by.Mode == store.Enforce,
	}
	if v.Rules != by.Rules {
		out["judged_by_rules"] = v.Rules // no rule has changed since that reads anything of these files
	}
	if v.Claimed > 0 {
		out["claimed"] = v.Claimed // files by digests that their source states: nobody signs for those
	}
	if s.o.Receipts != nil && v.Claimed == 0 && by.Mode == store.Enforce {
		signed, err := s.o.Receipts.Sign(verdict, nonce)
		if err != nil {
			return err
		}
		out["receipt"] = json.RawMessage(signed)
	}
	status, kind := http.StatusOK, "application/json"
	if a, ok := verdict.Acceptance(); !ok || !a.OK() || !a.OfFolder(v.Files) {
		if status, kind = verdict.Class().HTTPStatus(), "application/problem+json"; status < 400 {
			status = http.StatusInternalServerError
		}
		out["type"], out["title"], out["status"], out["detail"] = "about:blank", http.StatusText(status), status, "the revision is refused: the verdict says why"
		if by.Mode == store.Report {
			out["detail"] = "the policy would refuse the revision, and only reports: the verdict says why"
		}
	}
	return stream(w, status, kind, out, verdict)
}

// stream writes an object with a verdict as its last member, which may have mebibytes and is not
// copied once more. An answer that breaks off has no end, and is no JSON.
func stream(w http.ResponseWriter, status int, kind string, head map[string]any, verdict *gate.Verdict) error {
	text, err := json.Marshal(head)
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", kind)
	w.WriteHeader(status)
	out := &inParts{w}
	_, err = fmt.Fprintf(out, "%s,\"verdict\":", bytes.TrimSuffix(text, []byte("}")))
	if err == nil {
		err = verdict.WriteJSON(out)
	}
	if err == nil {
		_, err = io.WriteString(out, "}\n")
	}
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	return nil
}

// inParts hands on what is written in small parts.
type inParts struct{ w io.Writer }

func (p *inParts) Write(b []byte) (n int, err error) {
	for part := range slices.Chunk(b, 32<<10) {
		k, err := p.w.Write(part)
		if n += k; err != nil {
			return n, err
		}
	}
	return n, nil
}

// putBlob keeps a content.
func (s *Server) putBlob(w http.ResponseWriter, r *http.Request, t Token) error {
	ctx, sum := r.Context(), r.PathValue("sha256")
	if !digestName.MatchString(sum) {
		return &problem{status: http.StatusBadRequest, detail: "the address has no SHA-256 in lower-case hex"}
	}
	switch {
	case r.ContentLength < 0:
		return &problem{status: http.StatusLengthRequired, detail: "the content has no Content-Length"}
	case r.ContentLength > s.o.MaxFile:
		return &problem{status: http.StatusRequestEntityTooLarge, detail: fmt.Sprintf("a content has at most %d bytes", s.o.MaxFile)}
	}
	leave, err := s.uploads.enter(t.Tenant)
	if err != nil {
		return err
	}
	defer leave()
	coming, give := s.share.take(t.Tenant, r.ContentLength)
	defer give()
	stored, err := s.o.Store.Stored(ctx, t.Tenant)
	if err != nil {
		return err
	}
	if stored > s.o.TenantBytes-coming {
		return &problem{status: http.StatusInsufficientStorage, detail: fmt.Sprintf("the contents of a tenant have at most %d bytes", s.o.TenantBytes)}
	}
	size, err := s.o.Blobs.Put(ctx, t.Tenant, sum, s.paced(w, r.Body), r.ContentLength)
	switch {
	case errors.Is(err, blob.ErrDigest):
		return &problem{status: http.StatusUnprocessableEntity, detail: "the bytes have another SHA-256"}
	case err != nil:
		return err
	case size != r.ContentLength:
		return &problem{status: http.StatusBadRequest, detail: "fewer bytes came than were announced"}
	}
	if err := s.o.Store.Show(ctx, t.Tenant, sum, size); err != nil {
		return err
	}
	writeJSON(w, http.StatusCreated, "application/json", map[string]any{"sha256": sum, "size": size, "kept": true, "judged": false})
	return nil
}

// getRepo answers with what is known of a revision.
func (s *Server) getRepo(w http.ResponseWriter, r *http.Request, t Token) error {
	name, revision, _ := strings.Cut(r.PathValue("name"), "@")
	tenant := t.Tenant
	if asked := r.URL.Query().Get("tenant"); asked != "" && asked != tenant {
		if !t.may(Operate) {
			return unknown
		}
		tenant = asked
	}
	if !plain(tenant) || !plain(name) || !plain(revision) {
		return unknown
	}
	v, ok, err := s.o.Store.Revision(r.Context(), tenant, name, revision)
	if err != nil {
		return err
	}
	if !ok {
		return unknown
	}
	by, err := s.by(tenant)
	if err != nil {
		return err
	}
	if !by.Good(&v) {
		return &problem{status: http.StatusServiceUnavailable, detail: "the verdict is by another policy, by other rules, or good no more: the revision is to be judged again"}
	}
	return s.answer(w, t, by, v, r.URL.Query().Get("nonce"))
}

// unknown is the one answer about what is not there and about what is not the caller's.
var unknown = &problem{status: http.StatusNotFound, detail: "nothing is known of it"}

// getVerdict answers with what is known of a content, to who has shown it.
func (s *Server) getVerdict(w http.ResponseWriter, r *http.Request, t Token) error {
	sum := r.PathValue("sha256")
	if !digestName.MatchString(sum) {
		return &problem{status: http.StatusBadRequest, detail: "the address has no SHA-256 in lower-case hex"}
	}
	shown, err := s.o.Store.Shown(r.Context(), t.Tenant, []string{sum})
	if err != nil {
		return err
	}
	if !shown[sum] {
		return unknown
	}
	by, err := s.by(t.Tenant)
	if err != nil {
		return err
	}
	known, err := s.o.Store.Content(r.Context(), t.Tenant, sum, by.Policy, by.Rules, by.OlderRules()...)
	if err != nil {
		return err
	}
	out := map[string]any{"schema": "amn.content/1", "sha256": sum, "policy": by.Policy, "rules": by.Rules, "mode": by.Mode, "enforced": by.Mode == store.Enforce}
	var list []map[string]string
	accepted := true
	for _, k := range known {
		accepted = accepted && k.Class == wire.OK.String()
		list = append(list, map[string]string{"format": k.Format, "class": k.Class})
	}
	if len(list) == 0 {
		return unknown
	}
	out["judgements"], out["accepted"] = list, accepted
	if !accepted {
		return &problem{status: http.StatusForbidden, detail: "the content is refused", more: out}
	}
	writeJSON(w, http.StatusOK, "application/json", out)
	return nil
}
