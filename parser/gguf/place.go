package gguf

import (
	"errors"
	"strconv"

	"github.com/anamnesis-go/anamnesis/internal/wire"
)

// place returns the Where of an error or finding about the i-th key or tensor. The name
// is "" if not yet known.
func place(what string, i int, name string) string {
	where := what + " " + strconv.Itoa(i)
	if name != "" {
		where += " " + wire.Quote(name)
	}
	return where
}

// within adds to an error the key or tensor that it is about, unless it has one already.
func within(where string, off int64, err error) error {
	if e, ok := errors.AsType[*wire.Error](err); ok && e.Where == "" {
		return wire.At(Format, where, e.Off, e.Err)
	}
	return wire.At(Format, where, off, err)
}
