package view

import (
	"context"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/anamnesis-go/anamnesis/cli/internal/term"
	"github.com/anamnesis-go/anamnesis/internal/browse"
)

// Control sequences of xterm: switch to the alternate screen without a cursor and without
// wrapping of long lines, let the mouse report its buttons (1000, in the encoding 1006), and back.
const (
	screenOn  = "\x1b[?1049h\x1b[?25l\x1b[?7l\x1b[?1000h\x1b[?1006h"
	screenOff = "\x1b[0m\x1b[?1006l\x1b[?1000l\x1b[?7h\x1b[?25h\x1b[?1049l"
)

// escapeWait is how long the rest of an escape sequence may take, even over a slow line.
const escapeWait = 60 * time.Millisecond

func errText(p any) string { return fmt.Sprint(p) }

// A screen remembers what a terminal shows.
type screen struct {
	out   io.Writer
	lines []string
}

// draw writes the changed lines in one write. Each is erased before it is written: after a
// line as wide as the terminal, the cursor is on its last character, which erasing would hit.
func (c *screen) draw(lines []string) error {
	var text strings.Builder
	if len(lines) != len(c.lines) {
		text.WriteString("\x1b[0m\x1b[2J")
		c.lines = make([]string, len(lines))
	}
	for i, l := range lines {
		if l != c.lines[i] {
			text.WriteString("\x1b[" + strconv.Itoa(i+1) + ";1H\x1b[0m\x1b[K" + l)
		}
	}
	c.lines = lines
	_, err := io.WriteString(c.out, text.String())
	return err
}

// run is the loop: it draws the model, and waits for keys, sizes and results.
func (v *viewer) run(keys, out *os.File) error {
	restore, err := term.RawMode(keys, out)
	if err != nil {
		return fmt.Errorf("the terminal: %w", err)
	}
	defer func() { restore() }()
	io.WriteString(out, screenOn)
	defer io.WriteString(out, screenOff)
	v.build()
	v.model.Colours = term.WantsColours(os.Getenv)
	pressed := make(chan []byte)
	ctx, stop := context.WithCancel(v.ctx)
	defer stop()
	go readKeys(ctx, keys, pressed)
	changes, still := term.Resized()
	defer still()
	if v.r.Err != nil {
		v.judge(ctx) // its findings explain the refusal
	}
	c, decoder := screen{out: out}, browse.Decoder{}
	for {
		v.model.Resize(term.Size(out))
		v.follow(ctx)
		v.sample(ctx)
		if err := c.draw(v.model.Draw()); err != nil {
			return err
		}
		var got []browse.Input
		select {
		case <-ctx.Done():
			return context.Cause(v.ctx)
		case p, ok := <-pressed:
			if !ok {
				return nil // the terminal is gone
			}
			got = decoder.Feed(p)
		case <-escapeTimeout(&decoder):
			got = decoder.Flush()
		case <-changes:
			c.lines = nil
		case done := <-v.results:
			if done != nil {
				done()
			}
		}
		for _, k := range got {
			switch v.handle(ctx, v.model.Take(k)) {
			case browse.Quit:
				return nil
			case browse.Clear:
				c.lines = nil
			case browse.Stop:
				if restore, err = suspendTerminal(keys, out, restore); err != nil {
					return err
				}
				c.lines = nil
			}
		}
	}
}

// escapeTimeout fires when an escape that may begin a sequence was the key itself; it is
// nil if the decoder does not wait for more.
func escapeTimeout(d *browse.Decoder) <-chan time.Time {
	if d.Waiting() {
		return time.After(escapeWait)
	}
	return nil
}

// suspendTerminal restores the terminal and stops the program; when the shell continues it,
// the terminal is set up again.
func suspendTerminal(keys, out *os.File, restore func()) (func(), error) {
	io.WriteString(out, screenOff)
	restore()
	term.Suspend()
	again, err := term.RawMode(keys, out)
	if err != nil {
		return restore, err
	}
	io.WriteString(out, screenOn)
	return again, nil
}

// readKeys sends the bytes that a terminal sends, until it or the context ends.
func readKeys(ctx context.Context, keys *os.File, to chan<- []byte) {
	defer close(to)
	for {
		p := make([]byte, 256)
		n, err := keys.Read(p)
		if n > 0 {
			select {
			case to <- p[:n]:
			case <-ctx.Done():
				return
			}
		}
		if err != nil {
			return
		}
	}
}

// handle serves a request of the model, and returns what is left for the loop.
func (v *viewer) handle(ctx context.Context, r browse.Request) browse.Request {
	v.follow(ctx) // several keys may have come at once
	switch r {
	case browse.Open, browse.Close: // follow shows what is selected
	case browse.Judge:
		v.judge(ctx)
	case browse.Whole:
		v.whole(ctx)
	case browse.Pair:
		v.compare(ctx)
	default:
		return r
	}
	return browse.Refresh
}

// follow shows the page of what is selected, if there is room for it.
func (v *viewer) follow(ctx context.Context) {
	if !v.model.Follows() {
		v.closePage()
		v.at = place{row: -1}
		return
	}
	var at place
	at.tab, at.row = v.model.Place()
	n, name := v.model.Module()
	at.module, at.is = name, n != nil || at.row >= 0
	if at == v.at {
		return
	}
	v.closePage()
	if v.at = at; n != nil {
		v.openModule(n, name)
		return
	}
	v.open(ctx, at)
}

// closePage cancels the background work of the page.
func (v *viewer) closePage() {
	if v.cancel != nil {
		v.cancel()
	}
	v.cancel, v.looked = nil, nil
}
