package handler

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strconv"
)

// smallAnswer is how much of an answer is held in memory. A larger one is sent while it is
// made, so that neither it nor its lists are held as a whole.
const smallAnswer = 64 << 10

// WriteAnswer answers with what write makes, in one piece with its length if it is small. If write
// fails before anything was sent, it returns the error and nothing is answered. After that the
// connection is cut, so that the client does not take the part for an answer.
func WriteAnswer(w http.ResponseWriter, status int, kind string, write func(io.Writer) error) error {
	if write == nil || status < 200 || status > 599 {
		return fmt.Errorf("handler: nothing to answer with status %d", status)
	}
	a := &answerWriter{w: w, status: status, kind: kind}
	if err := write(a); err != nil {
		if a.begun {
			panic(http.ErrAbortHandler)
		}
		return err
	}
	if a.begun {
		a.flush()
		return nil
	}
	w.Header().Set("Content-Length", strconv.Itoa(a.held.Len()))
	a.begin()
	return nil
}

// An answerWriter holds a small answer, and passes a larger one on.
type answerWriter struct {
	w      http.ResponseWriter
	status int
	kind   string
	held   bytes.Buffer
	begun  bool
	gone   bool // the client has left, or does not read
}

func (a *answerWriter) begin() {
	a.begun = true
	a.w.Header().Set("Content-Type", a.kind)
	a.w.WriteHeader(a.status)
	a.flush()
}

func (a *answerWriter) flush() {
	if _, err := a.w.Write(a.held.Bytes()); err != nil {
		a.gone = true
	}
	a.held.Reset()
}

// Write never fails: a client that has left gets no other answer.
func (a *answerWriter) Write(p []byte) (int, error) {
	if a.gone {
		return len(p), nil
	}
	if a.held.Len() > 0 && a.held.Len()+len(p) > smallAnswer {
		if a.begun {
			a.flush()
		} else {
			a.begin()
		}
	}
	a.held.Write(p)
	return len(p), nil
}

// WriteJSON writes the problem as one object, and holds no list of its verdict in memory.
func (p *Problem) WriteJSON(w io.Writer) error {
	p = cmp.Or(p, noProblem)
	head := *p
	head.Verdict, head.Receipt = nil, nil
	text, err := json.Marshal(&head)
	if err != nil {
		return err
	}
	out := &pieces{w: w}
	out.write(bytes.TrimSuffix(text, []byte("}")))
	if p.Verdict != nil {
		out.write([]byte(`,"verdict":`))
		if out.err == nil {
			out.err = p.Verdict.WriteJSON(w)
		}
	}
	if p.Receipt != nil {
		out.write([]byte(`,"receipt":`))
		out.write(bytes.TrimSpace(p.Receipt))
	}
	out.write([]byte("}"))
	return out.err
}

// pieces writes until an error.
type pieces struct {
	w   io.Writer
	err error
}

func (o *pieces) write(p []byte) {
	if o.err == nil {
		_, o.err = o.w.Write(p)
	}
}
