//go:build !unix && !windows

package term

import (
	"errors"
	"os"
)

var errNoTerminal = errors.New("terminals are not supported on this system")

func RawMode(_, _ *os.File) (func(), error) { return nil, errNoTerminal }
func Keyboard(*os.File) (*os.File, error)   { return nil, errNoTerminal }
func Size(*os.File) (columns, lines int)    { return 80, 24 }
func Resized() (<-chan os.Signal, func())   { return nil, func() {} }
func Suspend()                              {}
