package handler

import (
	"cmp"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/anamnesis-go/anamnesis/gate"
	"github.com/anamnesis-go/anamnesis/gate/host"
	"github.com/anamnesis-go/anamnesis/internal/wire"
)

// refused is the error for a file that the gate does not accept.
type refused struct{ v *gate.Verdict }

func (r *refused) Error() string {
	if r.v.Err == nil {
		return "the file was not judged"
	}
	return r.v.Err.Error()
}

// problem is the error for a request that is not an upload.
type problem struct {
	status int
	detail string
}

func (p *problem) Error() string { return p.detail }

// readError returns the error for the client if reading its body failed.
func readError(err error) error {
	ours, isOurs := errors.AsType[*problem](err)
	_, isTooLarge := errors.AsType[*http.MaxBytesError](err)
	timeout, isNet := errors.AsType[net.Error](err)
	_, isBody := errors.AsType[*bodyError](err)
	switch {
	case isOurs:
		return ours
	case isTooLarge:
		return &problem{status: http.StatusRequestEntityTooLarge, detail: "the request has more bytes than are taken"}
	case errors.Is(err, os.ErrDeadlineExceeded), isNet && timeout.Timeout():
		return &problem{status: http.StatusRequestTimeout, detail: "nothing came for too long"}
	case errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, io.EOF), strings.Contains(err.Error(), "multipart"), strings.HasPrefix(err.Error(), "malformed MIME"):
		return &problem{status: http.StatusBadRequest, detail: "the body ends before what was declared, or is not a form"}
	case isBody:
		return &problem{status: http.StatusBadRequest, detail: "the body cannot be read: its chunks are malformed, or the connection ended"}
	}
	return err
}

// statusClosed is nginx's status for a client that left; it is counted, and never sent.
const statusClosed = 499

// statusOf returns the status for an error.
func statusOf(err error) int {
	if err == nil {
		return http.StatusOK
	}
	if e, ok := errors.AsType[*refused](err); ok {
		return e.v.Class().HTTPStatus()
	}
	if e, ok := errors.AsType[*problem](err); ok {
		return e.status
	}
	if _, ok := errors.AsType[*host.TooLarge](err); ok {
		return http.StatusRequestEntityTooLarge
	}
	if _, ok := errors.AsType[*host.BadName](err); ok {
		return http.StatusBadRequest
	}
	if errors.Is(err, host.ErrNoFolders) {
		return http.StatusUnsupportedMediaType
	}
	if e, ok := errors.AsType[*host.Busy](err); ok {
		if e.Tenant {
			return http.StatusTooManyRequests
		}
		return http.StatusServiceUnavailable
	}
	if _, ok := errors.AsType[*interrupted](err); ok {
		return statusClosed
	}
	if p, ok := errors.AsType[*problem](readError(err)); ok {
		return p.status
	}
	return http.StatusInternalServerError
}

// A Problem is the body of a refusal, after RFC 9457.
type Problem struct {
	Type   string `json:"type"`
	Title  string `json:"title"`
	Status int    `json:"status"`
	Detail string `json:"detail,omitempty"`
	// Class, Rules and Verdict are set if the gate refused a file.
	Class   string        `json:"class,omitempty"`
	File    string        `json:"file,omitempty"`
	Rules   []string      `json:"rules,omitempty"`
	Verdict *gate.Verdict `json:"verdict,omitempty"`
	// Receipt is a signed statement about the verdict, if the service signs them.
	Receipt json.RawMessage `json:"receipt,omitempty"`
}

// noProblem replaces a nil problem, and is the answer of a nil [Handler].
var noProblem = &Problem{Type: "about:blank", Title: "Internal error", Status: http.StatusInternalServerError, Detail: "the file could not be judged"}

// refuse answers with a problem.
func (q *request) refuse(err error) {
	status := statusOf(err)
	if !isRefusal(status) {
		status = http.StatusInternalServerError
	}
	p := Problem{Type: "about:blank", Title: http.StatusText(status), Status: status}
	if e, ok := errors.AsType[*refused](err); ok {
		p.Title, p.Class, p.Verdict = "The file is refused: "+e.v.Class().String(), e.v.Class().String(), e.v
		p.File, p.Detail = wire.Clean(e.v.Name, 256), wire.Text(e.Error(), wire.MaxMessage)
		for _, why := range e.v.Refusals() {
			p.Rules = append(p.Rules, why.Rule)
		}
	} else if e, ok := errors.AsType[*host.Busy](err); ok {
		after := max(1, int64((e.After+time.Second-1)/time.Second))
		q.w.Header().Set("Retry-After", strconv.FormatInt(after, 10))
		p.Detail = e.Error()
	} else if p.Detail = "the file could not be judged"; status < 500 {
		p.Detail = wire.Text(readError(err).Error(), wire.MaxMessage)
	}
	unread := q.stillArriving(status)
	if slow := status == http.StatusRequestTimeout; unread || q.r.ProtoMajor == 1 && (slow || q.draining.Err() != nil) {
		q.w.Header().Set("Connection", "close")
	}
	w := &refusalWriter{ResponseWriter: q.w, status: status}
	if q.o.Answer(w, q.r, &p); !w.begun {
		WriteProblem(w, &p)
	}
	if q.close(); unread { // its buffers are given back while the rest of the body arrives
		q.discard()
	}
}

// WriteProblem answers with application/problem+json, and with status 500 if that of the
// problem is not one of an error, or if there is no problem.
func WriteProblem(w http.ResponseWriter, p *Problem) {
	p = cmp.Or(p, noProblem)
	if !isRefusal(p.Status) {
		wrong := *p
		wrong.Status = http.StatusInternalServerError
		p = &wrong
	}
	h := w.Header()
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Cache-Control", "no-store")
	err := WriteAnswer(w, p.Status, "application/problem+json", func(to io.Writer) error {
		if err := p.WriteJSON(to); err != nil {
			return err
		}
		_, err := io.WriteString(to, "\n")
		return err
	})
	if err != nil { // the policy cannot be encoded
		http.Error(w, http.StatusText(http.StatusInternalServerError), http.StatusInternalServerError)
	}
}
