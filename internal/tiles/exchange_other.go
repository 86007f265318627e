//go:build !linux

package tiles

import "errors"

// Exchange cannot be had here.
func Exchange(string, string) error { return errors.ErrUnsupported }
