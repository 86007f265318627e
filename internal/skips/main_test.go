package main

import (
	"strings"
	"testing"
)

func TestSkippedFilesAreReported(t *testing.T) {
	const in = `{"Action":"run","Package":"p","Test":"TestA"}
{"Action":"output","Package":"p","Test":"TestA","Output":"=== RUN   TestA\n"}
{"Action":"output","Package":"p","Test":"TestA","Output":"    a_test.go:7: NOT RUN: no Chromium is here\n"}
{"Action":"skip","Package":"p","Test":"TestA"}
{"Action":"output","Package":"p","Test":"TestB","Output":"    b_test.go:7: quiet\n"}
{"Action":"pass","Package":"p","Test":"TestB"}
{"Action":"output","Package":"p","Output":"ok  \tp\t1s\n"}
{"Action":"pass","Package":"p"}
`
	const fails = `{"Action":"output","Package":"p","Test":"TestC","Output":"    c_test.go:7: wrong\n"}
{"Action":"fail","Package":"p","Test":"TestC"}
`
	for _, c := range []struct {
		name, in, reasons string
		good              bool
		says              string
	}{
		{"an expected skip", in, "# why\nNOT RUN: no Chromium\n", true, "skipped: NOT RUN: no Chromium is here (1, such as p TestA)"},
		{"another", in, "no links\n", false, "FAIL: skipped, and not expected: NOT RUN"},
		{"none", `{"Action":"pass","Package":"p"}`, "", true, ""},
		{"a failure", fails, "", false, "c_test.go:7: wrong"},
		{"a package that does not build", `{"Action":"build-fail","ImportPath":"p"}`, "", false, ""},
		{"words of the go command", "go: no module\n", "", false, "go: no module"},
	} {
		var out strings.Builder
		if got := run(strings.NewReader(c.in), &out, expected(c.reasons)); got != c.good || !strings.Contains(out.String(), c.says) || strings.Contains(out.String(), "quiet") {
			t.Errorf("%s: %v, %q", c.name, got, out.String())
		}
	}
}
