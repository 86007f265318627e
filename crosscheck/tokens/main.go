// Command tokens encodes texts: each line of its input is one, as a JSON string, and each
// line of its output is the numbers of its tokens.
//
//	tokens tokenizer.json        the first line is the name of the pre-tokenizer, or why it has none
//	tokens FILE EXPRESSION       a vocabulary of tiktoken's, and what cuts its texts
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"

	"github.com/anamnesis-go/anamnesis/internal/tokenizer"
	"github.com/anamnesis-go/anamnesis/limits"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(args []string) error {
	policy := limits.Policy{MaxSteps: 1 << 50, MaxTotalBytes: 1 << 50, MaxItems: 1 << 50, Timeout: -1}
	b := policy.Budget(context.Background())
	defer b.Close()
	body, err := os.ReadFile(args[0])
	if err != nil {
		return err
	}
	out := bufio.NewWriter(os.Stdout)
	defer out.Flush()
	encode, name, err := encoder(b, string(body), args)
	if err != nil {
		return err
	}
	fmt.Fprintln(out, name)
	in := bufio.NewScanner(os.Stdin)
	in.Buffer(nil, 1<<24)
	for in.Scan() {
		var text string
		if err := json.Unmarshal(in.Bytes(), &text); err != nil {
			return err
		}
		ids, err := encode(text)
		if err != nil {
			return err
		}
		fmt.Fprintln(out, ids)
	}
	return in.Err()
}

func encoder(b *limits.Budget, body string, args []string) (encode func(string) ([]int32, error), name string, err error) {
	if len(args) > 1 {
		r, err := tokenizer.ParseTiktoken(b, args[0], body)
		return func(text string) ([]int32, error) { return r.Encode(b, args[1], text) }, "", err
	}
	t, err := tokenizer.ParseJSON(b, args[0], body)
	if err != nil {
		return nil, "", err
	}
	if name, err = t.Pre(b); err != nil {
		name = err.Error()
	}
	return func(text string) ([]int32, error) { return t.Encode(b, text) }, name, nil
}
