package api

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/anamnesis-go/anamnesis/hub/store"
)

// bounds are those of the times of requests, in seconds.
var bounds = [...]float64{0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 5, 10}

// counters count requests by route and status.
type counters struct {
	mu   sync.Mutex
	seen map[[2]string]*counter
}

type counter struct {
	n       int64
	seconds float64
	within  [len(bounds)]int64
}

// seenWriter notes the status of an answer.
type seenWriter struct {
	http.ResponseWriter

	status int
	began  time.Time
}

func (w *seenWriter) WriteHeader(status int) {
	if w.status == 0 {
		w.status = status
	}
	w.ResponseWriter.WriteHeader(status)
}

func (w *seenWriter) Write(b []byte) (int, error) {
	if w.status == 0 {
		w.status = http.StatusOK
	}
	return w.ResponseWriter.Write(b)
}

// Unwrap is for http.ResponseController.
func (w *seenWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

type requestKey struct{}

// begin gives a request its number, which its answer states, and its events.
func (*Server) begin(w http.ResponseWriter, r *http.Request) (http.ResponseWriter, *http.Request) {
	var b [8]byte
	rand.Read(b[:])
	id := hex.EncodeToString(b[:])
	w.Header().Set("Amn-Request", id)
	return &seenWriter{ResponseWriter: w, began: time.Now()}, r.WithContext(context.WithValue(r.Context(), requestKey{}, id))
}

func requestOf(r *http.Request) string {
	id, _ := r.Context().Value(requestKey{}).(string)
	return id
}

// end counts a request. One that was cut has no status.
func (c *counters) end(pattern string, w http.ResponseWriter) {
	seen, ok := w.(*seenWriter)
	if !ok {
		return
	}
	took := time.Since(seen.began).Seconds()
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.seen == nil {
		c.seen = map[[2]string]*counter{}
	}
	key := [2]string{pattern, strconv.Itoa(seen.status)}
	one := c.seen[key]
	if one == nil {
		one = &counter{}
		c.seen[key] = one
	}
	one.n++
	one.seconds += took
	for i, b := range bounds {
		if took <= b {
			one.within[i]++
		}
	}
}

// label is a value of a label as Prometheus reads it.
func label(s string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`).Replace(strings.ToValidUTF8(s, "\uFFFD")) + `"`
}

// A metric is a family of numbers.
type metric struct {
	name, kind, help string
	rows             []string
}

func (m *metric) add(labels string, value any) {
	if labels != "" {
		labels = "{" + labels + "}"
	}
	m.rows = append(m.rows, fmt.Sprintf("%s%s %v", m.name, labels, value))
}

// metrics answers in Prometheus's text form.
func (s *Server) metrics(w http.ResponseWriter, r *http.Request, _ Token) error {
	ctx := r.Context()
	standing, err := s.o.Store.Standing(ctx)
	if err != nil {
		return err
	}
	owed, err := s.o.Store.Owed(ctx)
	if err != nil {
		return err
	}
	generation, _, err := s.o.Store.Generation(ctx)
	if err != nil {
		return err
	}
	rates, err := s.o.Store.Rates(ctx, time.Now().Add(-time.Hour))
	if err != nil {
		return err
	}
	work := metric{name: "amn_hub_revisions", kind: "gauge", help: "Revisions by tenant and state."}
	verdicts := metric{name: "amn_hub_verdicts", kind: "gauge", help: "Verdicts by tenant and whether they accept."}
	for _, t := range standing {
		for _, one := range []struct {
			state string
			n     int64
		}{{"waiting", t.Waiting}, {"admitted", t.Admitted}, {"parked", t.Parked}, {"judged", t.Judged}} {
			work.add(fmt.Sprintf("tenant=%s,state=%q", label(t.Tenant), one.state), one.n)
		}
		verdicts.add("tenant="+label(t.Tenant)+`,accepted="true"`, t.Accepted)
		verdicts.add("tenant="+label(t.Tenant)+`,accepted="false"`, t.Refused)
	}
	hooks := metric{name: "amn_hub_deliveries", kind: "gauge", help: "Events that hooks are owed, and those that were given up."}
	for _, key := range slices.SortedFunc(maps.Keys(owed), func(a, b [2]string) int { return strings.Compare(a[0]+" "+a[1], b[0]+" "+b[1]) }) {
		hooks.add(fmt.Sprintf("hook=%s,state=%q", label(key[0]), key[1]), owed[key])
	}
	events := metric{name: "amn_hub_events_last_hour", kind: "gauge", help: "Events of the last hour by kind and class."}
	for _, one := range rates {
		events.add(fmt.Sprintf("kind=%q,class=%q", one.Kind, one.Class), one.N)
	}
	policies := metric{name: "amn_hub_policy_generation", kind: "gauge", help: "Generation of the policies and exceptions in force."}
	policies.add("", generation)
	requests := metric{name: "amn_hub_request_seconds", kind: "histogram", help: "Time of requests by route and status."}
	s.counts.mu.Lock()
	for _, key := range slices.SortedFunc(maps.Keys(s.counts.seen), func(a, b [2]string) int { return strings.Compare(a[0]+" "+a[1], b[0]+" "+b[1]) }) {
		one, of := s.counts.seen[key], fmt.Sprintf("route=%s,status=%q", label(key[0]), key[1])
		for i, b := range bounds {
			requests.rows = append(requests.rows, fmt.Sprintf("%s_bucket{%s,le=\"%g\"} %d", requests.name, of, b, one.within[i]))
		}
		requests.rows = append(requests.rows, fmt.Sprintf("%s_bucket{%s,le=\"+Inf\"} %d", requests.name, of, one.n),
			fmt.Sprintf("%s_sum{%s} %g", requests.name, of, one.seconds), fmt.Sprintf("%s_count{%s} %d", requests.name, of, one.n))
	}
	s.counts.mu.Unlock()
	w.Header().Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
	for _, m := range []metric{work, verdicts, hooks, events, policies, requests} {
		fmt.Fprintf(w, "# HELP %s %s\n# TYPE %s %s\n", m.name, m.help, m.name, m.kind)
		for _, row := range m.rows {
			fmt.Fprintln(w, row)
		}
	}
	return nil
}

// maxEvents bounds an answer about events; the next begins after its last.
const maxEvents = 10_000

// events answers with JSON lines of the caller's tenant; an operator is given all.
func (s *Server) events(w http.ResponseWriter, r *http.Request, t Token) error {
	after, err := strconv.ParseInt(r.URL.Query().Get("after"), 10, 64)
	if r.URL.Query().Get("after") != "" && err != nil {
		return &problem{status: http.StatusBadRequest, detail: "after is the number of an event"}
	}
	tenant := t.seenBy()
	var list []store.Event // the database is not kept waiting for a client
	if err := s.o.Store.EventsOf(r.Context(), tenant, after, maxEvents, func(e store.Event) error {
		list = append(list, e)
		return nil
	}); err != nil {
		return err
	}
	w.Header().Set("Content-Type", "application/jsonl")
	http.NewResponseController(w).SetWriteDeadline(time.Now().Add(s.o.AnswerTime))
	out := json.NewEncoder(w)
	for _, e := range list {
		if err := out.Encode(e); err != nil {
			panic(http.ErrAbortHandler)
		}
	}
	return nil
}
