package gguf

import (
	"errors"
	"strconv"

	"github.com/anamnesis-go/anamnesis/internal/wire"
)

// place is the Where of an error or finding in the i-th key or tensor; the name
// may not be known yet.
func place(what string, i int, name string) string {
	where := what + " " + strconv.Itoa(i)
	if name != "" {
		where += " " + wire.Quote(name)
	}
	return where
}

// within says in which key or tensor an error happened, unless the error says so already.
func within(where string, off int64, err error) error {
	if e, ok := errors.AsType[*wire.Error](err); ok && e.Where == "" {
		return wire.At(Format, where, e.Off, e.Err)
	}
	return wire.At(Format, where, off, err)
}
