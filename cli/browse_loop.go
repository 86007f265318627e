package cli

import (
	"context"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/anamnesis-go/anamnesis/internal/browse"
)

// What a terminal is told (xterm's control sequences): the other screen, no cursor, no
// wrapping of long lines, and all of that back.
const (
	screenOn  = "\x1b[?1049h\x1b[?25l\x1b[?7l"
	screenOff = "\x1b[0m\x1b[?7h\x1b[?25h\x1b[?1049l"
)

// escapeWait is how long what follows an escape may take, over a slow line too.
const escapeWait = 60 * time.Millisecond

func errText(p any) string { return fmt.Sprint(p) }

// A screen is what stands on a terminal.
type screen struct {
	out   io.Writer
	lines []string
}

// draw writes the lines that changed, in one piece. What was there is erased first:
// behind a full line the cursor stands on its last character.
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

// run is the loop: keys, sizes and results change the model, which is drawn.
func (v *viewer) run(keys, out *os.File) error {
	restore, err := rawMode(keys, out)
	if err != nil {
		return fmt.Errorf("the terminal: %w", err)
	}
	defer func() { restore() }()
	io.WriteString(out, screenOn)
	defer io.WriteString(out, screenOff)
	v.build()
	v.model.Colours = wantsColours(os.Getenv)
	pressed := make(chan []byte)
	ctx, stop := context.WithCancel(v.ctx)
	defer stop()
	go read(ctx, keys, pressed)
	changes, still := resized()
	defer still()
	if v.r.err != nil {
		v.judge(ctx) // says more about why
	}
	c, decoder := screen{out: out}, browse.Decoder{}
	for {
		v.model.Resize(sizeOf(out))
		if err := c.draw(v.model.Draw()); err != nil {
			return err
		}
		var got []browse.Key
		select {
		case <-ctx.Done():
			return context.Cause(v.ctx)
		case p, ok := <-pressed:
			if !ok {
				return nil // the terminal is gone
			}
			got = decoder.Feed(p)
		case <-soon(&decoder):
			got = decoder.Flush()
		case <-changes:
			c.lines = nil
		case done := <-v.results:
			if done != nil {
				done()
			}
		}
		for _, k := range got {
			switch v.asked(ctx, v.model.Press(k)) {
			case browse.Quit:
				return nil
			case browse.Clear:
				c.lines = nil
			case browse.Stop:
				if restore, err = stopped(keys, out, restore); err != nil {
					return err
				}
				c.lines = nil
			}
		}
	}
}

// soon comes when an escape that waits for more was the key.
func soon(d *browse.Decoder) <-chan time.Time {
	if d.Waiting() {
		return time.After(escapeWait)
	}
	return nil
}

// stopped gives the terminal back to the shell until the program goes on.
func stopped(keys, out *os.File, restore func()) (func(), error) {
	io.WriteString(out, screenOff)
	restore()
	suspend()
	again, err := rawMode(keys, out)
	if err != nil {
		return restore, err
	}
	io.WriteString(out, screenOn)
	return again, nil
}

// read passes on what a terminal sends.
func read(ctx context.Context, keys *os.File, to chan<- []byte) {
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

// asked does what the model asks for, and returns what the loop has to do.
func (v *viewer) asked(ctx context.Context, r browse.Request) browse.Request {
	switch r {
	case browse.Open:
		v.open(ctx)
	case browse.Close:
		v.leave()
	case browse.Judge:
		v.judge(ctx)
	default:
		return r
	}
	return browse.Refresh
}

// leave ends what is read for the page that was open.
func (v *viewer) leave() {
	if v.cancel != nil {
		v.cancel()
		v.cancel = nil
	}
}
