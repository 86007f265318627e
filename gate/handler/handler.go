package handler

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"mime"
	"net/http"
	"path"
	"strings"
	"time"

	"github.com/anamnesis-go/anamnesis/gate"
	"github.com/anamnesis-go/anamnesis/gate/host"
	"github.com/anamnesis-go/anamnesis/internal/folder"
	"github.com/anamnesis-go/anamnesis/internal/pace"
	"github.com/anamnesis-go/anamnesis/internal/wire"
)

// Options configure a Handler. The zero value uses the default policy and a single
// tenant.
type Options struct {
	host.Options

	// TenantOf returns the tenant of a request, before its body is read; by default all
	// requests have the same.
	TenantOf func(*http.Request) string
	// NameOf returns the name of the file that is the body of a request; by default the
	// filename of its Content-Disposition, or the last part of its path.
	NameOf func(*http.Request) string
	// PromisedOf returns the format that a file must have; by default any that the policy
	// accepts.
	PromisedOf func(*http.Request) string
	// BesideOf returns whether a file that comes alone is judged like a file of a folder, which
	// need not be a model; by default it must be one.
	BesideOf func(*http.Request) bool

	MaxFiles    int           // files of one form; 1,024 unless set
	IdleTimeout time.Duration // how long a client may send nothing; 30 s unless set
	// MinRate is how many bytes a second a client must send, on an average over RateTime: 1
	// KiB and 10 s unless set, no bound if negative. UploadTime bounds how long all of a body
	// may take to come; 4 h unless set. Time in which the host does not read does not count.
	MinRate              int64
	RateTime, UploadTime time.Duration
	// DiscardBytes and DiscardTime bound what is read and thrown away of a body that is
	// refused before all of it has come, so that its client gets the answer: 4 MiB and
	// 2 s unless set, nothing where one is negative.
	DiscardBytes int64
	DiscardTime  time.Duration

	// Log gets a record of each upload: accepted, refused, or busy.
	Log *slog.Logger
	// Observe is called for each upload; [Metrics.Observe] is such a function.
	Observe func(host.Event)
	// Answer writes a refusal; [WriteProblem] unless set. Its status is that of the problem
	// unless Answer states another one from 400 to 599; if it writes nothing, the problem
	// is written.
	Answer func(http.ResponseWriter, *http.Request, *Problem)
}

// A Handler judges uploads before it calls the next handler.
type Handler struct {
	o        Options
	host     *host.Host
	next     http.Handler
	draining context.Context
	drain    context.CancelFunc
}

// New returns a handler that calls next with accepted uploads. Close it when the server
// has stopped.
func New(next http.Handler, o Options) (*Handler, error) {
	if next == nil {
		return nil, errors.New("handler: there is no next handler")
	}
	if o.MaxFiles == 0 {
		o.MaxFiles = 1024
	}
	if o.IdleTimeout == 0 {
		o.IdleTimeout = 30 * time.Second
	}
	if o.MinRate == 0 {
		o.MinRate = 1 << 10
	}
	if o.RateTime == 0 {
		o.RateTime = 10 * time.Second
	}
	if o.UploadTime == 0 {
		o.UploadTime = 4 * time.Hour
	}
	if o.DiscardBytes == 0 {
		o.DiscardBytes = discardBytes
	}
	if o.DiscardTime == 0 {
		o.DiscardTime = discardTime
	}
	if o.MaxFiles < 0 || o.IdleTimeout < 0 || o.RateTime < 0 || o.UploadTime < 0 {
		return nil, errors.New("handler: MaxFiles, IdleTimeout, RateTime or UploadTime is negative")
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Observe == nil {
		o.Observe = func(host.Event) {}
	}
	if o.Answer == nil {
		o.Answer = func(w http.ResponseWriter, _ *http.Request, p *Problem) { WriteProblem(w, p) }
	}
	if o.TenantOf == nil {
		o.TenantOf = func(*http.Request) string { return "" }
	}
	if o.NameOf == nil {
		o.NameOf = nameOf
	}
	if o.PromisedOf == nil {
		o.PromisedOf = func(*http.Request) string { return "" }
	}
	if o.BesideOf == nil {
		o.BesideOf = func(*http.Request) bool { return false }
	}
	hst, err := host.New(o.Options)
	if err != nil {
		return nil, err
	}
	h := &Handler{o: o, host: hst, next: next}
	h.draining, h.drain = context.WithCancel(context.Background())
	return h, nil
}

// exists is false of a nil Handler and of one that [New] did not make: they answer no request
// but with an error.
func (h *Handler) exists() bool { return h != nil && h.host != nil }

// Options returns the options with the defaults filled in.
func (h *Handler) Options() Options {
	if !h.exists() {
		return Options{}
	}
	return h.o
}

// Drain refuses new uploads, those that arrive, and those that wait to be judged, with 503.
// Judgements that have begun go on.
func (h *Handler) Drain() {
	if !h.exists() {
		return
	}
	h.host.Drain()
	h.drain()
}

// Host returns the host of the uploads, for others that share it.
func (h *Handler) Host() *host.Host {
	if !h.exists() {
		return nil
	}
	return h.host
}

// Close is [Handler.Drain]; it waits for open uploads and releases what they hold.
func (h *Handler) Close() {
	h.Drain()
	h.Host().Close()
}

// nameOf returns the name that a request states for its file.
func nameOf(r *http.Request) string {
	for _, kind := range bodyKinds {
		if _, file, _, ok := dispositionNames(r.Header.Get("Content-Disposition"), kind); ok && file != "" {
			return file
		}
	}
	return r.URL.Path
}

// bodyKinds are the dispositions of a body.
var bodyKinds = []string{"attachment", "inline", "form-data"}

func isOneDisposition(s string) bool {
	for _, kind := range bodyKinds {
		if _, _, _, ok := dispositionNames(s, kind); ok {
			return true
		}
	}
	return false
}

// base returns a name without folders, whatever the separator of the client's system.
func base(name string) string {
	name = path.Base(strings.ReplaceAll(name, `\`, "/"))
	if name == "." || name == "/" {
		return ""
	}
	return name
}

// stored rejects a name under which a file would not be stored on every system. None is good.
func stored(name string) error {
	if name == "" {
		return nil
	}
	if err := folder.CheckStored(name); err != nil {
		_, text, _ := strings.Cut(err.Error(), ": ") // without its class
		return bad(text)
	}
	return nil
}

type uploadsKey struct{}

// Uploads returns the accepted upload of a request: a file, or a folder if a form had several
// files, which [host.Upload.Files] lists. It is valid until the handler returns.
func Uploads(ctx context.Context) []*host.Upload {
	list, _ := ctx.Value(uploadsKey{}).([]*host.Upload)
	return list
}

// Verdict returns the verdict about the file or the folder of a request, nil if there is none.
func Verdict(ctx context.Context) *gate.Verdict {
	if list := Uploads(ctx); len(list) > 0 {
		return list[0].Verdict
	}
	return nil
}

type acceptedKey struct{}

// Acceptances returns what was accepted, in the order of [Uploads]. It is empty for a
// request that did not come through a Handler.
func Acceptances(ctx context.Context) []gate.Accepted {
	list, _ := ctx.Value(acceptedKey{}).([]gate.Accepted)
	return list
}

// Acceptance returns the acceptance of the file or the folder of a request, or the zero value,
// which accepts nothing.
func Acceptance(ctx context.Context) gate.Accepted {
	if list := Acceptances(ctx); len(list) > 0 {
		return list[0]
	}
	return gate.Accepted{}
}

// ServeHTTP implements [http.Handler]. A request that ends before its files are judged,
// because its client left or its context was cancelled, ends with [http.ErrAbortHandler]:
// the server closes the connection without a status.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if !h.exists() {
		WriteProblem(w, nil)
		return
	}
	q := &request{Handler: h, w: w, r: r, tenant: h.o.TenantOf(r)}
	q.body.draining = h.draining
	q.body.closing = &host.Busy{What: "the host is closing", After: h.o.RetryAfter}
	defer q.body.watch()()
	defer q.close()
	next, err := q.take()
	q.answer(next, err)
}

// A request is a request being judged.
type request struct {
	*Handler

	stage   stage
	w       http.ResponseWriter
	r       *http.Request
	tenant  string
	body    body
	uploads []*host.Upload
	beside  []*host.Upload // fields of the form, which were judged too
}

func (q *request) close() {
	for _, u := range append(q.beside, q.uploads...) {
		if err := u.Close(); err != nil {
			q.o.Log.LogAttrs(q.r.Context(), slog.LevelError, "spooled file not removed", slog.String("error", err.Error()))
		}
	}
	q.uploads, q.beside = nil, nil
}

// take reads and judges the body, and returns the request for the next handler.
func (q *request) take() (*http.Request, error) {
	if q.r.Method != http.MethodPut && q.r.Method != http.MethodPost {
		q.w.Header().Set("Allow", "PUT, POST")
		return nil, &problem{status: http.StatusMethodNotAllowed, detail: "a file is sent by PUT or POST"}
	}
	for _, e := range q.r.Header.Values("Content-Encoding") {
		if e != "" && e != "identity" {
			return nil, &problem{status: http.StatusUnsupportedMediaType, detail: "a body is taken as it is, without a Content-Encoding"}
		}
	}
	if len(q.r.Header.Values("Content-Range")) > 0 { // pieces that are harmless one by one could form a file that is not
		return nil, &problem{status: http.StatusBadRequest, detail: "a file is taken whole, without a Content-Range"}
	}
	q.body.begun(q.r.Body, http.NewResponseController(q.w), pace.Rule{Idle: q.o.IdleTimeout, Rate: q.o.MinRate, Window: q.o.RateTime, Total: q.o.UploadTime})
	if len(q.r.Header.Values("Content-Type")) > 1 {
		return nil, bad("a body has one Content-Type")
	}
	kind, params, err := mime.ParseMediaType(q.r.Header.Get("Content-Type"))
	if err != nil && q.r.Header.Get("Content-Type") != "" {
		return nil, &problem{status: http.StatusBadRequest, detail: "the Content-Type cannot be read"}
	}
	if list := q.r.Header.Values(transfer); len(list) > 1 || len(list) == 1 && !plain(list[0]) {
		return nil, bad("a body is taken as it is, without a Content-Transfer-Encoding")
	}
	if list := q.r.Header.Values("Content-Disposition"); len(list) > 1 || len(list) == 1 && !isOneDisposition(list[0]) {
		return nil, bad("the Content-Disposition of a body has one name, which can be read in one way")
	}
	if strings.HasPrefix(kind, "multipart/") {
		return q.form(kind, params)
	}
	if _, ok := charsetOf(q.r.Header.Get("Content-Type"), params); !ok {
		return nil, errCharset
	}
	if err := stored(base(q.o.NameOf(q.r))); err != nil {
		return nil, err
	}
	u, err := q.observed(base(q.o.NameOf(q.r)), func(u *host.Upload) error { return u.Spool(&q.body, q.r.ContentLength) })
	if err != nil {
		return nil, err
	}
	next := q.r.Clone(q.r.Context())
	next.Body, next.ContentLength, next.TransferEncoding = io.NopCloser(u.Reader()), u.Size, nil
	return next, nil
}

// observed spools and judges what spool reads, and tells the host's observer of it.
func (q *request) observed(name string, spool func(*host.Upload) error) (*host.Upload, error) {
	e := host.Event{Tenant: q.tenant, Name: name}
	u, err := q.judge(&e, spool)
	e.Status, e.Class, e.Rules = statusOf(err), wire.OK, nil
	if f, ok := errors.AsType[*refused](err); ok {
		e.Class = f.v.Class()
		for _, why := range f.v.Refusals() {
			e.Rules = append(e.Rules, why.Rule)
		}
	}
	q.o.Observe(e)
	q.log(&e, err)
	return u, err
}

func (q *request) judge(e *host.Event, spool func(*host.Upload) error) (*host.Upload, error) {
	u, err := q.host.Begin(q.tenant)
	if err != nil {
		return nil, err
	}
	q.uploads = append(q.uploads, u)
	u.Name, u.Promised, u.Beside = e.Name, q.o.PromisedOf(q.r), q.o.BesideOf(q.r)
	u.Started = func() { q.to(judging) }
	q.to(arriving)
	began := time.Now()
	err = spool(u)
	e.Name, e.Spool, e.Size = u.Name, time.Since(began), u.Size
	if err != nil {
		return nil, err
	}
	q.body.rest()
	q.to(waiting)
	began = time.Now()
	v, err := u.Judge(q.r.Context())
	e.Judge = time.Since(began)
	if err != nil {
		return nil, q.interrupted(err)
	}
	q.to(judged)
	if _, ok := u.Acceptance(); !ok && v.Accepted() {
		return nil, errors.New("handler: what was accepted is not what came")
	} else if !ok {
		return nil, &refused{v}
	}
	return u, nil
}

// log writes a record of an upload.
func (q *request) log(e *host.Event, err error) {
	level, text := slog.LevelInfo, "accepted"
	attrs := []slog.Attr{slog.String("name", wire.Clean(e.Name, 256)), slog.String("tenant", wire.Clean(e.Tenant, 256)), slog.Int64("size", e.Size),
		slog.Int("status", e.Status), slog.Duration("spool", e.Spool), slog.Duration("judge", e.Judge)}
	switch _, is := errors.AsType[*refused](err); {
	case is:
		level, text = slog.LevelWarn, "refused"
		attrs = append(attrs, slog.String("class", e.Class.String()), slog.Any("rules", e.Rules))
	case err != nil && e.Status >= 500 && e.Status != http.StatusServiceUnavailable:
		level, text = slog.LevelError, "failed"
		attrs = append(attrs, slog.String("error", wire.Clean(err.Error(), 512)))
	case err != nil:
		level, text = slog.LevelWarn, "not taken"
		attrs = append(attrs, slog.String("error", wire.Clean(err.Error(), 512)))
	}
	q.o.Log.LogAttrs(q.r.Context(), level, text, attrs...)
}
