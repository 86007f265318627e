// Command ours is this module's side of the differential search: it reads files
// from standard input, each behind its length (4 bytes, little endian), and says
// for each, in one line of JSON, what it reads, to be compared with loaders. With
// the argument zip it reads archives of anything.
package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/anamnesis-go/anamnesis/limits"
)

// policy is small: a loader that is asked the same has its own limits.
var policy = limits.Policy{MaxTotalBytes: 256 << 20, MaxSingleAlloc: 64 << 20, MaxWorkingSet: 128 << 20, Timeout: 20 * time.Second}

func main() {
	as := answer
	if len(os.Args) > 1 && os.Args[1] == zipFormat {
		as = answerArchive
	}
	if err := serve(os.Stdin, os.Stdout, as); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func serve(in io.Reader, out io.Writer, answer func([]byte) *said) error {
	r, w := bufio.NewReader(in), bufio.NewWriter(out)
	enc := json.NewEncoder(w)
	for {
		var size uint32
		switch err := binary.Read(r, binary.LittleEndian, &size); {
		case errors.Is(err, io.EOF):
			return w.Flush()
		case err != nil:
			return err
		}
		data := make([]byte, size)
		if _, err := io.ReadFull(r, data); err != nil {
			return err
		}
		if err := enc.Encode(answer(data)); err != nil {
			return err
		}
		// Who asks may wait for the answers of all that it has written.
		if r.Buffered() == 0 {
			if err := w.Flush(); err != nil {
				return err
			}
		}
	}
}

func answer(data []byte) *said {
	b := policy.Budget(context.Background())
	defer b.Close()
	s := &said{Tensors: []listed{}}
	s.model(b, data)
	account := policy.Budget(context.Background())
	defer account.Close()
	s.pickles(account, bytes.NewReader(data), int64(len(data)))
	return s
}

func answerArchive(data []byte) *said {
	b := policy.Budget(context.Background())
	defer b.Close()
	s := &said{Tensors: []listed{}}
	s.archive(b, data)
	return s
}
