package output

import (
	"errors"
	"os"
)

// BeforeSwap is called before a new folder takes the place of an old one, if it is set.
var BeforeSwap func()

func init() {
	beforeSwap = func() {
		if BeforeSwap != nil {
			BeforeSwap()
		}
	}
}

// WithoutExchange makes the file system one that cannot exchange two names.
func WithoutExchange() func() {
	old := exchanging
	exchanging = func(*os.File, string, string) error { return errors.ErrUnsupported }
	return func() { exchanging = old }
}

// WithoutNoReplace makes the file system one that cannot rename without replacing, until the
// result is called.
func WithoutNoReplace() func() {
	old := noReplace
	noReplace = func(*os.File, string, string) error { return errors.ErrUnsupported }
	return func() { noReplace = old }
}
