package term

import (
	"os"
	"testing"

	"github.com/anamnesis-go/anamnesis/internal/wire"
)

func TestOnlyTheFirstWordIsColoured(t *testing.T) {
	for _, c := range []struct {
		paint, line, want string
		colours           bool
	}{
		{red, "forbidden   a.pt", "\x1b[31mforbidden\x1b[0m   a.pt", true},
		{yellow, "    warning: odd", "    \x1b[33mwarning\x1b[0m: odd", true},
		{red, "ok", "ok", false},
		{"", "ok", "ok", true},
		{green, "", "\x1b[32m\x1b[0m", true},
	} {
		s := Printer{Paint: c.paint, Colours: c.colours}
		if got := s.colour(c.line); got != c.want || s.Paint != "" {
			t.Errorf("%q: %q, want %q", c.line, got, c.want)
		}
	}
	for env, want := range map[[2]string]bool{{"", "xterm"}: true, {"1", "xterm"}: false, {"", "dumb"}: false} {
		got := WantsColours(func(name string) string { return map[string]string{"NO_COLOR": env[0], "TERM": env[1]}[name] })
		if got != want && os.PathSeparator == '/' {
			t.Errorf("%v: %v", env, got)
		}
	}
	if ClassColour(wire.OK) == ClassColour(wire.Forbidden) {
		t.Error("a refusal looks as an acceptance does")
	}
}
