package remote

import (
	"fmt"
	"io/fs"
	"net/http"

	"github.com/anamnesis-go/anamnesis/internal/wire"
)

// A refusal is an answer without the requested file. A missing file is [fs.ErrNotExist], and one without
// access [fs.ErrPermission], as on a disk.
type refusal struct {
	of     string // what was requested
	status int
}

func refused(of string, resp *http.Response) error { return &refusal{of, resp.StatusCode} }

func (r *refusal) Error() string {
	why := "the server answers"
	switch r.Unwrap() {
	case fs.ErrNotExist:
		why = "the server has nothing there:"
	case fs.ErrPermission:
		why = "the server does not allow it:"
	}
	return fmt.Sprintf("%s: %s %d %s", r.of, why, r.status, http.StatusText(r.status))
}

func (r *refusal) Unwrap() error {
	switch r.status {
	case http.StatusNotFound, http.StatusGone:
		return fs.ErrNotExist
	case http.StatusUnauthorized, http.StatusForbidden:
		return fs.ErrPermission
	}
	return nil
}

// missing is the error of an address without a file. Like the name of a missing file, it is wrong usage.
type missing struct{ error }

func (m *missing) Unwrap() []error { return []error{errMissing, m.error} }

var errMissing = wire.ErrUsage.WithRule("file.missing")
