package handler_test

import (
	"context"
	"crypto/sha256"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/anamnesis-go/anamnesis/gate"
	"github.com/anamnesis-go/anamnesis/gate/handler"
	"github.com/anamnesis-go/anamnesis/gate/host"
)

// asked calls a handler and returns the status that was written, 0 if the request was
// aborted.
func asked(t *testing.T, h http.Handler, r *http.Request) (status int, body string) {
	t.Helper()
	w := httptest.NewRecorder()
	defer func() {
		if p := recover(); p == http.ErrAbortHandler {
			status = 0
		} else if p != nil {
			panic(p)
		}
	}()
	h.ServeHTTP(w, r)
	return w.Code, w.Body.String()
}

// A request whose context ended before the verdict gets no status, and the next handler is not
// called.
func TestACancelledRequestIsNotAccepted(t *testing.T) {
	called := false
	h, err := handler.New(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { called = true }), handler.Options{Options: host.Options{Dir: t.TempDir(), Slots: 1}})
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	cancelled, stop := context.WithCancelCause(t.Context())
	stop(errors.New("a reason of its own"))
	late, stopLate := context.WithDeadline(t.Context(), time.Unix(1, 0))
	defer stopLate()
	for what, ctx := range map[string]context.Context{"cancelled": cancelled, "late": late} {
		for name, data := range map[string]string{"m.safetensors": honest(100), "m.pkl": evil} {
			r := httptest.NewRequestWithContext(ctx, http.MethodPut, "/"+name, strings.NewReader(data))
			if status, body := asked(t, h, r); called || status != 0 && status < 400 {
				t.Errorf("%s, %s: called %v, %d %s", what, name, called, status, body)
			}
		}
	}
	if l := h.Host().Load(); l.Uploads != 0 || l.Spooled != 0 || l.Memory != 0 || l.Waiting != 0 || l.Judging != 0 {
		t.Errorf("held: %+v", l)
	}
}

// The answer to a refusal always has a status, and it is an error.
func TestARefusalIsNeverAnsweredWithSuccess(t *testing.T) {
	for what, answer := range map[string]func(http.ResponseWriter, *http.Request, *handler.Problem){
		"silence": func(http.ResponseWriter, *http.Request, *handler.Problem) {},
		"a body":  func(w http.ResponseWriter, _ *http.Request, _ *handler.Problem) { io.WriteString(w, "no") },
		"200":     func(w http.ResponseWriter, _ *http.Request, _ *handler.Problem) { w.WriteHeader(http.StatusOK) },
		"a redirection": func(w http.ResponseWriter, r *http.Request, _ *handler.Problem) {
			http.Redirect(w, r, "/", http.StatusFound)
		},
		"switched": func(w http.ResponseWriter, _ *http.Request, _ *handler.Problem) {
			w.WriteHeader(http.StatusSwitchingProtocols)
		},
		"a changed problem": func(w http.ResponseWriter, _ *http.Request, p *handler.Problem) {
			p.Status = 200
			handler.WriteProblem(w, p)
		},
		"a zero problem": func(w http.ResponseWriter, _ *http.Request, _ *handler.Problem) {
			handler.WriteProblem(w, &handler.Problem{})
		},
	} {
		o := handler.Options{Answer: answer}
		s, _, _ := serve(t, o)
		for path, data := range map[string]string{"/m.pkl": evil, "/cut.safetensors": "\x02"} {
			res, text := ask(t, http.MethodPut, s.URL+path, "", strings.NewReader(data))
			if res.StatusCode < 400 {
				t.Errorf("%s: %s for %s: %s", what, res.Status, path, text)
			}
		}
	}
}

// A judge that returns nothing, or accepts another file than the upload, accepts nothing.
func TestOnlyAnAcceptanceReachesTheNextHandler(t *testing.T) {
	data := honest(100)
	zero := func(context.Context, *gate.Gate, io.ReaderAt, int64, gate.Hint) (*gate.Verdict, error) {
		return &gate.Verdict{}, nil
	}
	none := func(context.Context, *gate.Gate, io.ReaderAt, int64, gate.Hint) (*gate.Verdict, error) {
		return nil, nil
	}
	undigested := func(ctx context.Context, g *gate.Gate, r io.ReaderAt, size int64, _ gate.Hint) (*gate.Verdict, error) {
		b := g.Policy.Limits.Budget(ctx)
		defer b.Close()
		return gate.Check(b, r, size, gate.Hint{Name: "m.safetensors"})
	}
	other := func(ctx context.Context, g *gate.Gate, _ io.ReaderAt, _ int64, _ gate.Hint) (*gate.Verdict, error) {
		b := g.Policy.Limits.Budget(ctx)
		defer b.Close()
		return g.Check(b, strings.NewReader(honest(50)), int64(len(honest(50))), gate.Hint{Name: "m.safetensors"})
	}
	broken := func(context.Context, *gate.Gate, io.ReaderAt, int64, gate.Hint) (*gate.Verdict, error) {
		panic("a bug")
	}
	for what, judge := range map[string]func(context.Context, *gate.Gate, io.ReaderAt, int64, gate.Hint) (*gate.Verdict, error){
		"zero": zero, "none": none, "without a digest": undigested, "of another file": other, "a panic": broken,
	} {
		s, h, _ := serve(t, handler.Options{Options: host.Options{Judge: judge}})
		res, err := http.Post(s.URL+"/m.safetensors", "", strings.NewReader(data))
		if err == nil {
			res.Body.Close()
			if res.StatusCode < 400 {
				t.Errorf("%s: %s", what, res.Status)
			}
		}
		if l := h.Host().Load(); l.Uploads != 0 || l.Judging != 0 {
			t.Errorf("%s: held: %+v", what, l)
		}
	}
	if _, err := handler.New(nil, handler.Options{}); err == nil {
		t.Error("a gate before nothing")
	}
	got, want := gate.Accepted{}, sha256.Sum256([]byte(data))
	h, err := handler.New(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { got = handler.Acceptance(r.Context()) }), handler.Options{Options: host.Options{Dir: t.TempDir()}})
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	asked(t, h, httptest.NewRequestWithContext(t.Context(), http.MethodPut, "/m.safetensors", strings.NewReader(data)))
	if !got.Of(want, int64(len(data))) || handler.Acceptance(t.Context()).OK() {
		t.Errorf("the next handler gets %+v", got)
	}
}
