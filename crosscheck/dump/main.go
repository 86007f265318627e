// Command dump prints what this module reads of model files, one JSON object
// per file, for the scripts that compare it with the reference libraries. It
// reads paths from standard input, one per line.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"maps"
	"os"

	"github.com/anamnesis-go/anamnesis/crosscheck/values"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

type file struct {
	Path    string            `json:"path"`
	Class   string            `json:"class"`
	Error   string            `json:"error,omitempty"`
	Format  string            `json:"format,omitempty"`
	Tensors []entry           `json:"tensors"`
	Meta    map[string]string `json:"meta,omitempty"`
	Finds   []string          `json:"findings,omitempty"`
	Aliases map[string]string `json:"aliases,omitempty"`
	GGUF    *ggufFile         `json:"gguf,omitempty"`
}

type entry struct {
	Name    string  `json:"name"`
	DType   string  `json:"dtype"`
	Stored  string  `json:"stored"`
	Shape   []int64 `json:"shape"`
	Order   string  `json:"order"`
	Strides []int64 `json:"strides,omitempty"`
	// Storage names the bytes that tensors share.
	Storage string `json:"storage,omitempty"`
	// Dense is the digest of the elements in row-major order, little endian.
	Dense string `json:"dense,omitempty"`
	// Raw is the digest of the stored bytes.
	Raw string `json:"raw,omitempty"`
	// Error is why the body could not be read.
	Error string `json:"error,omitempty"`
}

func main() {
	out := json.NewEncoder(os.Stdout)
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		if err := out.Encode(read(lines.Text())); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
	if err := lines.Err(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func read(path string) file {
	b := limits.Policy{MaxTotalBytes: 8 << 30, MaxSingleAlloc: 4 << 30}.Budget(context.Background())
	defer b.Close()
	out := file{Path: path, Tensors: []entry{}}
	err := fill(b, &out)
	out.Class = parser.ClassOf(err).String()
	if err != nil {
		out.Error = err.Error()
	}
	return out
}

func fill(b *limits.Budget, out *file) error {
	m, err := parser.Open(b, out.Path)
	if err != nil {
		return err
	}
	defer m.Close()
	out.Format = m.Format()
	if err := parser.Verify(b, m); err != nil {
		return err
	}
	for k, v := range m.Meta() {
		if s, ok := v.(string); ok {
			if out.Meta == nil {
				out.Meta = map[string]string{}
			}
			out.Meta[k] = s
		}
	}
	if tied, ok := m.(interface {
		Aliases() iter.Seq2[string, string]
	}); ok {
		out.Aliases = maps.Collect(tied.Aliases())
	}
	for _, f := range m.Findings() {
		out.Finds = append(out.Finds, f.Code)
	}
	for i := range m.Tensors() {
		out.Tensors = append(out.Tensors, describe(b, m, i))
	}
	out.GGUF, err = ggufOf(b, m)
	return err
}

func describe(b *limits.Budget, m tensor.Model, i tensor.Info) entry {
	e := entry{
		Name: i.Name, DType: i.DType.String(), Stored: i.Stored, Shape: append([]int64{}, i.Shape...),
		Order: i.Order.String(), Strides: i.Strides, Storage: i.Storage,
	}
	raw, err := values.Body(b, m, i)
	if err != nil {
		e.Error = err.Error()
		return e
	}
	e.Raw = values.Digest(raw)
	if i.DType == tensor.Unknown {
		return e
	}
	dense, err := values.Dense(raw, &i)
	if err != nil {
		e.Error = err.Error()
		return e
	}
	e.Dense = values.Digest(dense)
	return e
}
