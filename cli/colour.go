package cli

import (
	"runtime"
	"strings"

	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// Colours of a terminal (ECMA-48, SGR).
const (
	red    = "31"
	green  = "32"
	yellow = "33"
	cyan   = "36"
)

// severityColours are the colours of findings.
var severityColours = map[tensor.Severity]string{tensor.Danger: red, tensor.Warning: yellow, tensor.Note: cyan}

// classColour returns the colour of a verdict.
func classColour(c wire.Class) string {
	if c == wire.OK {
		return green
	}
	return red
}

// wantsColours reports whether the environment allows colours (no-color.org). Windows gets
// none: its console may print the sequences as text.
func wantsColours(env func(string) string) bool {
	return env("NO_COLOR") == "" && env("TERM") != "dumb" && runtime.GOOS != "windows"
}

// colour paints the first word of a line if p.paint is set. It is called after the columns
// of the line were counted.
func (p *printer) colour(line string) string {
	code := p.paint
	p.paint = ""
	if code == "" || !p.colours {
		return line
	}
	word := strings.TrimLeft(line, " ")
	end := strings.IndexAny(word, " :")
	if end < 0 {
		end = len(word)
	}
	begin := len(line) - len(word)
	return line[:begin] + "\x1b[" + code + "m" + word[:end] + "\x1b[0m" + word[end:]
}
