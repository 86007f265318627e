// Command encode writes GGUF files again with this module's encoder, for the
// script that lets the reference libraries read them. It reads one job per line,
// as JSON, from standard input.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"

	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/gguf"
)

type job struct {
	In, Out   string
	Version   uint32
	Alignment int64
}

func main() {
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		var j job
		err := json.Unmarshal(lines.Bytes(), &j)
		if err == nil {
			err = run(j)
		}
		if err != nil {
			fmt.Fprintf(os.Stderr, "encode %s: %v\n", j.In, err)
			os.Exit(1)
		}
	}
	if err := lines.Err(); err != nil {
		fmt.Fprintln(os.Stderr, "encode:", err)
		os.Exit(1)
	}
}

func run(j job) error {
	b := limits.Policy{MaxTotalBytes: 8 << 30, MaxSingleAlloc: 4 << 30}.Budget(context.Background())
	defer b.Close()
	in, err := os.Open(j.In)
	if err != nil {
		return err
	}
	defer in.Close()
	st, err := in.Stat()
	if err != nil {
		return err
	}
	f, err := gguf.Decode(b, in, st.Size())
	if err != nil {
		return err
	}
	o, err := f.Options(b)
	if err != nil {
		return err
	}
	if j.Version != 0 {
		o.Version = j.Version
	}
	if j.Alignment != 0 {
		o.Alignment = j.Alignment
	}
	out, err := os.Create(j.Out)
	if err != nil {
		return err
	}
	w := bufio.NewWriterSize(out, 1<<20)
	if err := gguf.Encode(b, w, f, o); err != nil {
		return err
	}
	if err := w.Flush(); err != nil {
		return err
	}
	return out.Close()
}
