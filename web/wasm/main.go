//go:build js && wasm

// Wasm is the parser as JavaScript runs it, on one file, which it reads piece by piece. When it is
// ready it calls anamnesisReady with an object of functions, whose answers are texts of JSON or an
// Error:
//
//	report(source, judge)  the report of a file or a folder, which stays open
//	look(index, whole)     the numbers of one of its tensors
//	compare(source)        how far the numbers of another are from its own
//	end()                  ends the program
//
// A source is {name, size, read(offset, length)}, or a folder {name, files: [{path, size}],
// read(index, offset, length)}.
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"syscall/js"

	"github.com/anamnesis-go/anamnesis/gate"
	"github.com/anamnesis-go/anamnesis/gate/page"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// profile is the policy of the page. Like edge it allows 64 MiB of memory, but also as many items as a
// vocabulary of 150,000 tokens needs.
const profile = "upload"

var policy, _ = gate.Profile(profile)

func main() {
	var s session
	answer := func(f func(args []js.Value) ([]byte, error)) js.Func {
		return js.FuncOf(func(_ js.Value, args []js.Value) any {
			text, err := f(args)
			if err != nil {
				return js.Global().Get("Error").New(err.Error())
			}
			return string(text)
		})
	}
	ended := make(chan struct{})
	js.Global().Call("anamnesisReady", map[string]any{
		"report": answer(func(args []js.Value) ([]byte, error) {
			from, err := sourceOf(args[0])
			if err != nil {
				return nil, err
			}
			return s.report(from, args[1].Bool())
		}),
		"look": answer(func(args []js.Value) ([]byte, error) { return s.look(args[0].Int(), args[1].Bool()) }),
		"compare": answer(func(args []js.Value) ([]byte, error) {
			from, err := sourceOf(args[0])
			if err != nil {
				return nil, err
			}
			return s.compare(from)
		}),
		"end": js.FuncOf(func(js.Value, []js.Value) any {
			close(ended)
			return nil
		}),
	})
	<-ended
}

// A session is about one file or folder.
type session struct {
	opened *opened
}

// report reads the structure, and leaves the model open; or it judges all of it, and the report
// has no tensors, which the page has by then.
func (s *session) report(from *source, judge bool) ([]byte, error) {
	if from.refused != nil {
		return json.Marshal(page.Refused(from.name, from.size, from.refused))
	}
	ctx := context.Background()
	b := policy.Limits.Budget(ctx)
	defer b.Close()
	var v *gate.Verdict
	var m tensor.Model
	if judge {
		judged := policy.Limits.Budget(ctx)
		defer judged.Close()
		var err error
		if v, err = from.judge(judged); err != nil {
			return nil, err
		}
		defer v.Close()
	} else {
		if err := s.open(from); err != nil {
			return json.Marshal(page.Refused(from.name, from.size, err))
		}
		m = s.opened.m
	}
	out, err := page.New(b, from.name, from.size, m, v)
	if err == nil && v != nil {
		err = from.evidence(b, out, v)
	}
	if errors.Is(err, limits.ErrLimit) {
		return json.Marshal(page.Refused(from.name, from.size, err))
	}
	if err != nil {
		return nil, err
	}
	var text bytes.Buffer
	e := json.NewEncoder(&text)
	e.SetEscapeHTML(false)
	if err := e.Encode(out); err != nil {
		return nil, err
	}
	return text.Bytes(), nil
}

// open opens the model.
func (s *session) open(from *source) error {
	b := policy.Limits.Budget(context.Background())
	m, err := from.open(b)
	if err != nil {
		b.Close()
		return err
	}
	s.opened = &opened{m: m}
	return nil
}
