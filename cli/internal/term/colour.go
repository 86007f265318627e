package term

import (
	"runtime"

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

// SeverityColours are the colours of findings.
var SeverityColours = map[tensor.Severity]string{tensor.Danger: red, tensor.Warning: yellow, tensor.Note: cyan}

// ClassColour returns the colour of a verdict.
func ClassColour(c wire.Class) string {
	if c == wire.OK {
		return green
	}
	return red
}

// WantsColours reports whether the environment allows colours (no-color.org). Windows gets
// none: its console may print the sequences as text.
func WantsColours(env func(string) string) bool {
	return env("NO_COLOR") == "" && env("TERM") != "dumb" && runtime.GOOS != "windows"
}
