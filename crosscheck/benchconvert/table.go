package main

import (
	"fmt"
	"strings"
)

// A table is the best run of each contender for one source.
type table map[string]run

func (r run) rate() float64 { return float64(r.Bytes) / r.Wall.Seconds() }

// print writes the rows of a source.
func (t table) print(source string) {
	fastest, rust := 0.0, run{}
	for name, r := range t {
		switch {
		case strings.HasPrefix(name, "raw"):
			fastest = max(fastest, r.rate())
		case strings.HasPrefix(name, "rust"):
			rust = r
		}
	}
	for _, name := range contenders() {
		r, ok := t[name]
		if !ok {
			continue
		}
		kind, threads, _ := strings.Cut(name, " ")
		share, times := "", ""
		if kind == "ours" {
			share = fmt.Sprintf("%.0f %% (%.0f %%)", 100*r.rate()/t["raw "+threads].rate(), 100*r.rate()/fastest)
			if rust.Wall > 0 {
				times = fmt.Sprintf("%.1fx", rust.Wall.Seconds()/r.Wall.Seconds())
			}
		}
		fmt.Printf("| %s | %s | %.3f | %.2f | %.2f | %.0f | %s | %s |\n", source, name, r.Wall.Seconds(), r.rate()/1e9,
			r.CPU.Seconds(), float64(r.RSS)/(1<<20), share, times)
		source = ""
	}
}
