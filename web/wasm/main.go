//go:build js && wasm

// Wasm is the parser as a browser runs it: in a worker, on one file, which it reads
// piece by piece. It is called with a name, a size and a function that reads, and
// answers with the report that package page shows.
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
)

// profile has the memory of edge, 64 MiB in all, and the items that a vocabulary of
// 150,000 tokens needs.
const profile = "upload"

func main() {
	js.Global().Set("anamnesisReport", js.FuncOf(func(_ js.Value, args []js.Value) any {
		name, size := args[0].String(), int64(args[1].Float())
		text, err := report(name, size, newBlocks(args[2], size), args[3].Bool())
		if err != nil {
			return js.Global().Get("Error").New(err.Error())
		}
		return string(text)
	}))
	js.Global().Call("anamnesisReady")
	select {}
}

// report reads the file's structure, and all of it if it is to be judged.
func report(name string, size int64, r io.ReaderAt, judge bool) ([]byte, error) {
	policy, _ := gate.Profile(profile)
	ctx := context.Background()
	b := policy.Limits.Budget(ctx)
	defer b.Close()
	var v *gate.Verdict
	if judge {
		judged := policy.Limits.Budget(ctx)
		defer judged.Close()
		var err error
		if v, err = gate.New(policy).Check(judged, r, size, gate.Hint{Name: name}); err != nil {
			return nil, err
		}
		defer v.Close()
	}
	m, err := parser.Decode(b, r, size)
	if err != nil {
		if v == nil {
			return json.Marshal(page.Refused(name, size, err))
		}
		m = nil
	} else {
		defer m.Close()
	}
	out, err := page.New(b, name, size, m, v)
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
