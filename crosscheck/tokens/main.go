// Command tokens encodes texts with a tokenizer.json: each line of its input is one,
// as a JSON string, and each line of its output is the numbers of its tokens. The
// first line is the name of the pre-tokenizer, or why it has none.
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
	if err := run(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(path string) error {
	policy := limits.Policy{MaxSteps: 1 << 50, MaxTotalBytes: 1 << 50, MaxItems: 1 << 50, Timeout: -1}
	b := policy.Budget(context.Background())
	defer b.Close()
	body, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	t, err := tokenizer.ParseJSON(b, path, string(body))
	if err != nil {
		return err
	}
	out := bufio.NewWriter(os.Stdout)
	defer out.Flush()
	name, err := t.Pre(b)
	if err != nil {
		name = err.Error()
	}
	fmt.Fprintln(out, name)
	in := bufio.NewScanner(os.Stdin)
	in.Buffer(nil, 1<<24)
	for in.Scan() {
		var text string
		if err := json.Unmarshal(in.Bytes(), &text); err != nil {
			return err
		}
		ids, err := t.Encode(b, text)
		if err != nil {
			return err
		}
		fmt.Fprintln(out, ids)
	}
	return in.Err()
}
