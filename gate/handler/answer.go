package handler

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"github.com/anamnesis-go/anamnesis/gate"
	"github.com/anamnesis-go/anamnesis/gate/host"
)

// A stage is how far a request has come. It goes from one to the next.
type stage uint8

const (
	arriving stage = iota // a file comes, or the files of a folder
	waiting               // all of it is there, and waits for a slot
	judging               // it has one
	judged                // it has a verdict
	answered              // the answer was begun
)

// follows has the stages from which a stage is reached. A file that is refused by its
// beginning waits for no slot.
var follows = [...][]stage{arriving: {arriving}, waiting: {arriving}, judging: {waiting}, judged: {waiting, judging}, answered: {arriving, waiting, judging, judged}}

// to enters a stage.
func (q *request) to(next stage) {
	for _, from := range follows[next] {
		if from == q.stage {
			q.stage = next
			return
		}
	}
	panic(fmt.Sprintf("internal error: handler: from stage %d to %d", q.stage, next))
}

// An interrupted request was ended by its context while a file waited or was judged.
type interrupted struct{ error }

func (i *interrupted) Unwrap() error { return i.error }

// interrupted returns the error of a judgement, which ended for the context if that has
// ended and the host does not say that it is busy.
func (q *request) interrupted(err error) error {
	if _, busy := errors.AsType[*host.Busy](err); busy {
		return err
	}
	switch why := q.r.Context().Err(); {
	case errors.Is(why, context.DeadlineExceeded):
		return &problem{status: http.StatusServiceUnavailable, detail: "the time for the request ended before the file was judged"}
	case why != nil:
		return &interrupted{why}
	}
	return err
}

// accepted returns the acceptances of all files; ok is false if one has none, or if there
// is no file.
func (q *request) accepted() (list []gate.Accepted, ok bool) {
	for _, u := range q.uploads {
		a, ok := u.Acceptance()
		if !ok {
			return nil, false
		}
		list = append(list, a)
	}
	return list, len(list) > 0
}

// answer ends the request. No other function writes a status, or lets another do so: the
// next handler is called, and with it a status below 400 is possible, only with the
// acceptance of each file. In any other case the answer is a refusal, or none.
func (q *request) answer(next *http.Request, err error) {
	list, all := q.accepted()
	stage := q.stage
	q.to(answered)
	q.body.rest()
	defer q.body.resume() // for what the server reads of the rest
	switch _, left := errors.AsType[*interrupted](err); {
	case left, err == nil && q.r.Context().Err() != nil:
		panic(http.ErrAbortHandler)
	case err != nil:
		q.refuse(err)
	case stage != judged || !all:
		q.refuse(errors.New("internal error: handler: a file was not judged"))
	default:
		ctx := context.WithValue(next.Context(), uploadsKey{}, q.uploads)
		q.next.ServeHTTP(q.w, next.WithContext(context.WithValue(ctx, acceptedKey{}, list)))
	}
}

// A refusalWriter writes an answer with a status from 400 to 599, whatever status is set.
type refusalWriter struct {
	http.ResponseWriter

	status int
	begun  bool
}

func isRefusal(status int) bool { return 400 <= status && status <= 599 }

func (w *refusalWriter) WriteHeader(status int) {
	if w.begun || 100 <= status && status < 200 {
		return
	}
	if !isRefusal(status) {
		status = w.status
	}
	w.begun = true
	w.ResponseWriter.WriteHeader(status)
}

func (w *refusalWriter) Write(p []byte) (int, error) {
	w.WriteHeader(w.status)
	return w.ResponseWriter.Write(p)
}
