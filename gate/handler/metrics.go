package handler

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/anamnesis-go/anamnesis/gate/host"
)

// Metrics counts uploads. It is an [expvar.Var], and an [http.Handler] that answers
// with Prometheus' text format.
type Metrics struct {
	// Load, if set, adds what the host holds: [host.Host.Load].
	Load func() host.Load

	mu     sync.Mutex
	counts map[string]int64 // by status
	rules  map[string]int64
	bytes  int64
	judge  histogram
	spool  histogram
}

// bounds are the upper bounds of the histograms, in seconds.
var bounds = [...]float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60}

type histogram struct {
	buckets [len(bounds) + 1]int64
	sum     float64
}

func (h *histogram) add(d time.Duration) {
	s := d.Seconds()
	h.sum += s
	for i, bound := range bounds {
		if s <= bound {
			h.buckets[i]++
			return
		}
	}
	h.buckets[len(bounds)]++
}

// Observe counts one upload; use it as [Options.Observe].
func (m *Metrics) Observe(e host.Event) {
	if m == nil {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.counts == nil {
		m.counts, m.rules = map[string]int64{}, map[string]int64{}
	}
	m.counts[fmt.Sprint(e.Status)]++
	for i, rule := range e.Rules {
		if !slices.Contains(e.Rules[:i], rule) {
			m.rules[rule]++
		}
	}
	m.bytes += e.Size
	m.spool.add(e.Spool)
	if e.Judge > 0 {
		m.judge.add(e.Judge)
	}
}

// String returns the counts as JSON.
func (m *Metrics) String() string {
	if m == nil {
		return "{}"
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	text, err := json.Marshal(map[string]any{"uploads": m.counts, "rules": m.rules, "bytes": m.bytes, "judge_seconds": m.judge.sum, "spool_seconds": m.spool.sum})
	if err != nil {
		return "{}"
	}
	return string(text)
}

// ServeHTTP answers with the counts in Prometheus' text format.
func (m *Metrics) ServeHTTP(w http.ResponseWriter, _ *http.Request) {
	if m == nil {
		WriteProblem(w, nil)
		return
	}
	w.Header().Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
	// An error means that the client has left.
	_, _ = w.Write(m.text())
}

func (m *Metrics) text() []byte {
	m.mu.Lock()
	defer m.mu.Unlock()
	var out bytes.Buffer
	counter := func(name, help, label string, counts map[string]int64) {
		fmt.Fprintf(&out, "# HELP %s %s\n# TYPE %[1]s counter\n", name, help)
		for _, key := range sorted(counts) {
			fmt.Fprintf(&out, "%s{%s=%q} %d\n", name, label, key, counts[key])
		}
	}
	counter("anamnesis_uploads_total", "Files by the status that was answered.", "status", m.counts)
	counter("anamnesis_refusals_total", "Files that a rule refused.", "rule", m.rules)
	fmt.Fprintf(&out, "# HELP anamnesis_bytes_total Bytes of files that came.\n# TYPE anamnesis_bytes_total counter\nanamnesis_bytes_total %d\n", m.bytes)
	m.judge.text(&out, "anamnesis_judge_seconds", "How long the gate took for a file, waiting included.")
	m.spool.text(&out, "anamnesis_spool_seconds", "How long a file took to come.")
	if m.Load != nil {
		l := m.Load()
		for _, g := range []struct {
			name, help string
			n          int64
		}{
			{"uploads", "Uploads that are open.", int64(l.Uploads)}, {"waiting", "Files that wait to be judged.", int64(l.Waiting)},
			{"judging", "Files that are judged.", int64(l.Judging)}, {"tenants", "Tenants with open uploads.", int64(l.Tenants)},
			{"spooled_bytes", "Bytes of spooled files.", l.Spooled}, {"memory_bytes", "Bytes that judgements hold.", l.Memory},
		} {
			fmt.Fprintf(&out, "# HELP anamnesis_%s %s\n# TYPE anamnesis_%[1]s gauge\nanamnesis_%[1]s %[3]d\n", g.name, g.help, g.n)
		}
	}
	return out.Bytes()
}

func (h *histogram) text(out *bytes.Buffer, name, help string) {
	fmt.Fprintf(out, "# HELP %s %s\n# TYPE %[1]s histogram\n", name, help)
	n := int64(0)
	for i, bound := range bounds {
		n += h.buckets[i]
		fmt.Fprintf(out, "%s_bucket{le=\"%g\"} %d\n", name, bound, n)
	}
	n += h.buckets[len(bounds)]
	fmt.Fprintf(out, "%s_bucket{le=\"+Inf\"} %d\n%[1]s_sum %[3]g\n%[1]s_count %[2]d\n", name, n, h.sum)
}

func sorted(counts map[string]int64) []string {
	keys := make([]string, 0, len(counts))
	for k := range counts {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}
