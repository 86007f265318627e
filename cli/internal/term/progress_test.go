package term

import (
	"strings"
	"testing"
	"time"
)

// The bar names what is done, of what, how fast, and what is left.
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
	if got := m.show(began.Add(3 * time.Second)); Width(strings.Trim(got, "\r\x1b[K")) > 39 {
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
