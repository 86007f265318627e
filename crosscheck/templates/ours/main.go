// Command ours judges templates: it reads the length of each in four bytes and its text, and
// answers with a line, which has the code and the offset of each issue.
package main

import (
	"bufio"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"os"

	"github.com/anamnesis-go/anamnesis/internal/jinja"
	"github.com/anamnesis-go/anamnesis/limits"
)

func main() {
	if err := serve(bufio.NewReader(os.Stdin), bufio.NewWriter(os.Stdout)); err != nil {
		fmt.Fprintln(os.Stderr, "ours:", err)
		os.Exit(1)
	}
}

func serve(in *bufio.Reader, out *bufio.Writer) error {
	for {
		var size [4]byte
		if _, err := io.ReadFull(in, size[:]); err == io.EOF {
			return out.Flush()
		} else if err != nil {
			return err
		}
		text := make([]byte, binary.LittleEndian.Uint32(size[:]))
		if _, err := io.ReadFull(in, text); err != nil {
			return err
		}
		if err := answer(out, string(text)); err != nil {
			return err
		}
		if in.Buffered() == 0 {
			if err := out.Flush(); err != nil {
				return err
			}
		}
	}
}

func answer(out io.Writer, text string) error {
	b := limits.Policy{}.Budget(context.Background())
	defer b.Close()
	issues, err := jinja.Check(b, text)
	if err != nil {
		_, err := fmt.Fprintln(out, "limit")
		return err
	}
	for i, issue := range issues {
		if i > 0 {
			fmt.Fprint(out, " ")
		}
		fmt.Fprintf(out, "%s@%d", issue.Code, issue.Off)
	}
	_, err = fmt.Fprintln(out)
	return err
}
