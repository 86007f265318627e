package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"runtime/debug"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

func TestFormatBytes(t *testing.T) {
	for n, want := range map[int64]string{
		0: "0 B", 1: "1 B", 1023: "1023 B", 1024: "1.0 KiB", 1536: "1.5 KiB", 1<<20 - 1: "1.0 MiB",
		1 << 20: "1.0 MiB", 1<<20 + 1<<19: "1.5 MiB", 5 << 20: "5.0 MiB", 1 << 30: "1.0 GiB", 2469606195: "2.3 GiB", 1<<40 - 1: "1.0 TiB", 1 << 40: "1.0 TiB", 1<<50 + 1<<49: "1536.0 TiB",
	} {
		if got := formatBytes(n); got != want {
			t.Errorf("%d: %q, want %q", n, got, want)
		}
	}
}

func TestFormatCount(t *testing.T) {
	for n, want := range map[int64]string{0: "0", 999: "999", 1000: "1,000", 1234567: "1,234,567", -1234: "-1,234", -100: "-100", 1<<63 - 1: "9,223,372,036,854,775,807"} {
		if got := formatCount(n); got != want {
			t.Errorf("%d: %q, want %q", n, got, want)
		}
	}
}

// What is printed for people holds nothing that a terminal acts on, and quotes
// and backslashes as they stand.
// A model of a thousand tensors may have a thousand findings of one code.
func TestFindingsOfOneCodeAreCounted(t *testing.T) {
	found := []tensor.Finding{{Code: "a", Where: "0"}}
	for i := range 1003 {
		found = append(found, tensor.Finding{Code: "b", Severity: tensor.Warning, Where: strconv.Itoa(i)})
	}
	found = append(found, tensor.Finding{Code: "a", Where: "1"})
	var got []string
	for severity, text := range fewOf(found) {
		got = append(got, severity.String()+" "+text)
	}
	want := []string{"note a: 0: ", "warning b: 0: ", "warning b: 1: ", "warning b: 2: ", "note a: 1: ", "warning b: 1,000 more; --json lists them"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("want -, got +:\n%s", diff)
	}
}

func TestTidy(t *testing.T) {
	for s, want := range map[string]string{
		`"a" \u{1b}`: `"a" \u{1b}`, "a\x1b[0m": `a\u{1b}[0m`, "\xff": `\x{ff}`, "日\u202e": `日\u{202e}`, "a\nb": `a\u{a}b`,
	} {
		if got := tidy(s, 100); got != want {
			t.Errorf("%q: %q, want %q", s, got, want)
		}
	}
	for _, s := range []string{strings.Repeat("é", 100), strings.Repeat("\x1b", 100), strings.Repeat(`"`, 100)} {
		got := tidy(s, 51)
		if len(got) > 51 || !utf8.ValidString(got) || !strings.HasSuffix(got, "…") {
			t.Errorf("%q of %d bytes", got, len(got))
		}
	}
}

// The bar names what is done, of what, how fast, and what is left.
func TestAnAddressIsSaidOnce(t *testing.T) {
	const address = "https://example.com/a.gguf"
	for err, want := range map[string]string{address + ": the server has no ranges": "the server has no ranges", "no such host": "no such host"} {
		if got := message(address, errors.New(err)); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

func TestTheBarOfATerminal(t *testing.T) {
	done, size := int64(0), int64(1000<<20)
	began := time.Now()
	m := &meter{what: "verifying big.npz", at: func() (int64, int64) { return done, size }, began: began, columns: 100}
	done = 250 << 20
	want := "\r[#####---------------]  25%  250.0 MiB of 1000.0 MiB  125.0 MiB/s, 6s left  verifying big.npz\x1b[K"
	if got := m.show(began.Add(2 * time.Second)); got != want {
		t.Errorf("%q\nwant %q", got, want)
	}
	if m.clear() != "\r\x1b[K" {
		t.Error("the bar stays on the terminal")
	}
	m.columns = 40
	if got := m.show(began.Add(3 * time.Second)); columns(strings.Trim(got, "\r\x1b[K")) > 39 {
		t.Errorf("%q is too wide", got)
	}
	size = 0
	m.columns = 100
	if got := m.show(began.Add(10 * time.Second)); got != "\rverifying big.npz  250.0 MiB  25.0 MiB/s\x1b[K" {
		t.Errorf("without a size: %q", got)
	}
}

// Elsewhere there is one line per ten percent, and none twice.
func TestTheLinesWithoutATerminal(t *testing.T) {
	done, size := int64(0), int64(1000)
	began := time.Now()
	m := &meter{what: "reading", at: func() (int64, int64) { return done, size }, began: began}
	var lines []string
	for done = 0; done <= 1100; done += 7 {
		if s := m.show(began.Add(time.Second)); s != "" {
			lines = append(lines, strings.Fields(s)[2])
		}
	}
	if got := strings.Join(lines, " "); got != "10%, 20%, 30%, 40%, 50%, 60%, 70%, 80%, 90%," {
		t.Error(got)
	}
	if m.clear() != "" {
		t.Error("there is nothing to clear")
	}
}

// Short work, and quiet work, shows nothing.
func TestShortWorkIsSilent(t *testing.T) {
	var errs bytes.Buffer
	s := newSession(Stdio{Out: io.Discard, Err: &errs})
	s.progress("reading", func() (int64, int64) { return 1, 2 })()
	s.quiet = true
	s.progress("reading", func() (int64, int64) { panic("asked") })()
	if errs.Len() > 0 {
		t.Error(errs.String())
	}
}

// A panic of the program is class internal: Go's exit code for it is 2.
func TestAPanicOfTheProgramIsInternal(t *testing.T) {
	var errs bytes.Buffer
	code := runArgs(context.Background(), []string{"formats"}, Stdio{Out: panicWriter{}, Err: &errs})
	if code != 1 || !strings.Contains(errs.String(), "amn: internal error: panic: the writer is gone") {
		t.Errorf("exit %d, %q", code, errs.String())
	}
}

type panicWriter struct{}

func (panicWriter) Write([]byte) (int, error) { panic("the writer is gone") }

// A closed pipe that is no process's standard output ends as SIGPIPE would.
func TestABrokenPipeIsQuiet(t *testing.T) {
	var errs bytes.Buffer
	code := runArgs(context.Background(), []string{"formats"}, Stdio{Out: brokenWriter{}, Err: &errs})
	if code != 141 || errs.Len() > 0 {
		t.Errorf("exit %d, %q", code, errs.String())
	}
}

type brokenWriter struct{}

func (brokenWriter) Write([]byte) (int, error) { return 0, fmt.Errorf("write: %w", syscall.EPIPE) }

func TestAnInterruptIsNotReported(t *testing.T) {
	ctx, stop := context.WithCancelCause(context.Background())
	stop(interrupted{syscall.SIGINT})
	var out, errs bytes.Buffer
	runArgs(ctx, []string{"inspect", "../testdata/demo/model.safetensors"}, Stdio{Out: &out, Err: &errs})
	if out.Len() > 0 || errs.Len() > 0 {
		t.Errorf("%q, %q", out.String(), errs.String())
	}
}

func TestBuildOf(t *testing.T) {
	info := &debug.BuildInfo{Main: debug.Module{Version: "v1.2.3"}, Settings: []debug.BuildSetting{
		{Key: "vcs.revision", Value: "abc"}, {Key: "vcs.modified", Value: "true"},
	}}
	if got := buildOf(info, true); got != (build{"v1.2.3", "abc", true}) {
		t.Errorf("%+v", got)
	}
	if got := buildOf(nil, false); got != (build{version: "(devel)"}) {
		t.Errorf("%+v", got)
	}
}

// Every message fits, whatever the error holds.
func TestComplaintsAreBounded(t *testing.T) {
	var errs bytes.Buffer
	s := newSession(Stdio{Out: io.Discard, Err: &errs})
	s.printError("p", errors.New(strings.Repeat("x\x1b", 10_000)))
	text := strings.TrimSuffix(errs.String(), "\n")
	if len(text) > wire.MaxMessage+len("amn: p: ") || strings.ContainsFunc(text, unicode.IsControl) {
		t.Errorf("%d bytes", len(text))
	}
}

// What reads all bytes has no deadline, unless one was asked for, by a flag or in
// a policy.
func TestTheDeadlineOfLongWork(t *testing.T) {
	minute := limits.Policy{Timeout: time.Minute}
	for name, c := range map[string]struct {
		p    policies
		want time.Duration
	}{
		"none asked for": {policies{flags: &globals{}, limits: minute}, limits.NoTimeout},
		"a flag":         {policies{flags: &globals{Ceilings: axisFlags{Time: "1m"}}, limits: minute}, time.Minute},
		"a policy":       {policies{flags: &globals{}, limits: minute, verify: true}, time.Minute},
		"one without":    {policies{flags: &globals{}, verify: true}, limits.NoTimeout},
	} {
		if got := c.p.long().Timeout; got != c.want {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}
