package term

import (
	"fmt"
	"io"
	"os"
	"strings"
	"time"
)

const (
	progressEvery = 200 * time.Millisecond
	// progressAfter is how long work may take before progress is shown.
	progressAfter = time.Second
)

// Progress shows the progress of long work: a bar on a terminal, a line per ten percent
// elsewhere. The caller calls done at the end of the work.
func Progress(w io.Writer, what string, at func() (done, size int64)) (done func()) {
	m := &meter{what: what, at: at, began: time.Now()}
	if f, ok := w.(*os.File); ok {
		m.columns = Columns(f)
	}
	m.first, _ = at()
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		tick := time.NewTicker(progressEvery)
		defer tick.Stop()
		for {
			select {
			case <-stop:
				fmt.Fprint(w, m.clear())
				return
			case now := <-tick.C:
				if now.Sub(m.began) >= progressAfter {
					fmt.Fprint(w, m.show(now))
				}
			}
		}
	}()
	return func() {
		close(stop)
		<-stopped
	}
}

// A meter shows the progress of one piece of work.
type meter struct {
	what    string
	at      func() (done, size int64)
	began   time.Time
	first   int64 // bytes that were read before the work began
	columns int   // of the terminal, 0 for other outputs
	tenths  int64 // shown last, where there is no terminal
	shown   bool  // the bar is on the terminal
}

// show returns what to print now, "" for nothing.
func (m *meter) show(now time.Time) string {
	n, size := m.at()
	n -= m.first
	rate := float64(n) / max(now.Sub(m.began).Seconds(), 1e-3)
	if m.columns > 0 {
		m.shown = true
		return "\r" + Cut(m.line(n, size, rate), m.columns-1) + "\x1b[K"
	}
	if size <= 0 {
		return ""
	}
	tenths := min(n*10/size, 9)
	if tenths <= m.tenths {
		return ""
	}
	m.tenths = tenths
	return fmt.Sprintf("amn: %s: %d%%, %s\n", m.what, tenths*10, rateText(n, size, rate))
}

// line returns the bar: [#####-----]  45%  1.2 GiB of 2.6 GiB  830.0 MiB/s, 2s left
func (m *meter) line(n, size int64, rate float64) string {
	if size <= 0 {
		return fmt.Sprintf("%s  %s  %s/s", m.what, Bytes(n), Bytes(int64(rate)))
	}
	const cells = 20
	n = min(n, size)
	full := int(n * cells / size)
	return fmt.Sprintf("[%s%s] %3d%%  %s of %s  %s  %s",
		strings.Repeat("#", full), strings.Repeat("-", cells-full), n*100/size,
		Bytes(n), Bytes(size), rateText(n, size, rate), m.what)
}

// rateText returns the rate and the remaining time.
func rateText(n, size int64, rate float64) string {
	s := Bytes(int64(rate)) + "/s"
	if rate >= 1 && n < size {
		s += ", " + time.Duration(float64(size-n)/rate*float64(time.Second)).Round(time.Second).String() + " left"
	}
	return s
}

// clear returns what removes the bar from the terminal.
func (m *meter) clear() string {
	if !m.shown {
		return ""
	}
	return "\r\x1b[K"
}
