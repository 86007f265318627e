//go:build !unix && !windows

package cli

import (
	"errors"
	"os"
)

var errNoTerminal = errors.New("terminals are not supported on this system")

func rawMode(_, _ *os.File) (func(), error) { return nil, errNoTerminal }
func keyboard(*os.File) (*os.File, error)   { return nil, errNoTerminal }
func sizeOf(*os.File) (columns, lines int)  { return 80, 24 }
func resized() (<-chan os.Signal, func())   { return nil, func() {} }
func suspend()                              {}
