//go:build js && wasm

// Wasm is the parser as JavaScript runs it, on one file, which it reads piece by piece. When it is
// ready it calls anamnesisReady with an object of functions, whose answers are texts of JSON or an
// Error:
//
//	report(name, size, read, judge)  the report of a file, which stays open
//	look(index, whole)               the numbers of one of its tensors
//	compare(name, size, read)        how far the numbers of another file are from its own
//	end()                            ends the program
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"syscall/js"

	"github.com/anamnesis-go/anamnesis/gate"
	"github.com/anamnesis-go/anamnesis/gate/page"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser"
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
	file := func(args []js.Value) (name string, size int64, r io.ReaderAt) {
		size = int64(args[1].Float())
		return args[0].String(), size, newBlocks(args[2], size)
	}
	ended := make(chan struct{})
	js.Global().Call("anamnesisReady", map[string]any{
		"report": answer(func(args []js.Value) ([]byte, error) {
			name, size, r := file(args)
			return s.report(name, size, r, args[3].Bool())
		}),
		"look": answer(func(args []js.Value) ([]byte, error) { return s.look(args[0].Int(), args[1].Bool()) }),
		"compare": answer(func(args []js.Value) ([]byte, error) {
			_, size, r := file(args)
			return s.compare(r, size)
		}),
		"end": js.FuncOf(func(js.Value, []js.Value) any {
			close(ended)
			return nil
		}),
	})
	<-ended
}

// A session is about one file.
type session struct {
	opened *opened
}

// report reads the file's structure, and leaves its model open; or it judges the whole file, and
// its report has no tensors, which the page has by then.
func (s *session) report(name string, size int64, r io.ReaderAt, judge bool) ([]byte, error) {
	ctx := context.Background()
	b := policy.Limits.Budget(ctx)
	defer b.Close()
	var v *gate.Verdict
	var m tensor.Model
	if judge {
		judged := policy.Limits.Budget(ctx)
		defer judged.Close()
		var err error
		if v, err = gate.New(policy).Check(judged, r, size, gate.Hint{Name: name}); err != nil {
			return nil, err
		}
		defer v.Close()
	} else {
		if err := s.open(r, size); err != nil {
			return json.Marshal(page.Refused(name, size, err))
		}
		m = s.opened.m
	}
	out, err := page.New(b, name, size, m, v)
	if err == nil && v != nil {
		err = out.Evidence(b, r, size, v)
	}
	if errors.Is(err, limits.ErrLimit) {
		return json.Marshal(page.Refused(name, size, err))
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
func (s *session) open(r io.ReaderAt, size int64) error {
	b := policy.Limits.Budget(context.Background())
	m, err := parser.Decode(b, r, size)
	if err != nil {
		b.Close()
		return err
	}
	s.opened = &opened{m: m}
	return nil
}
