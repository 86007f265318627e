// Command dump prints what this module reads of model files, one JSON object
// per file, for the scripts that hold it against the reference libraries. It
// reads paths from standard input, one per line.
package main

import (
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"iter"
	"maps"
	"os"
	"slices"

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
	raw, err := body(b, m, i)
	if err != nil {
		e.Error = err.Error()
		return e
	}
	e.Raw = digest(raw)
	if i.DType == tensor.Unknown {
		return e
	}
	dense, err := gather(raw, &i)
	if err != nil {
		e.Error = err.Error()
		return e
	}
	e.Dense = digest(dense)
	return e
}

func body(b *limits.Budget, m tensor.Model, i tensor.Info) ([]byte, error) {
	r, err := m.Body(b, i)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	return io.ReadAll(r)
}

// gather lays the elements out in row-major order and little endian. It is
// written apart from the module's own conversion, and as plainly as possible.
func gather(raw []byte, i *tensor.Info) ([]byte, error) {
	g, ok := i.DType.Geometry()
	if !ok || g.Elems != 1 {
		if i.Strides != nil || i.Order == tensor.Big {
			return nil, fmt.Errorf("blocks of type %v with strides or big endian", i.DType)
		}
		return raw, nil
	}
	size := int64(g.Bytes)
	out := make([]byte, 0, i.Elements()*size)
	at := make([]int64, len(i.Shape))
	for range i.Elements() {
		place := i.Offset
		for d := range at {
			stride := int64(1)
			if i.Strides != nil {
				stride = i.Strides[d]
			} else {
				for _, n := range i.Shape[d+1:] {
					stride *= n
				}
			}
			place += at[d] * stride
		}
		if place < 0 || (place+1)*size > int64(len(raw)) {
			return nil, fmt.Errorf("element %v lies at %d of %d bytes", at, place*size, len(raw))
		}
		out = append(out, raw[place*size:(place+1)*size]...)
		for d := len(at) - 1; d >= 0; d-- {
			if at[d]++; at[d] < i.Shape[d] {
				break
			}
			at[d] = 0
		}
	}
	if i.Order == tensor.Big {
		swap(out, i.DType)
	}
	return out, nil
}

// swap reverses the bytes of each number; a complex one has two.
func swap(p []byte, t tensor.DType) {
	g, _ := t.Geometry()
	n := int(g.Bytes)
	switch t {
	case tensor.C32, tensor.C64, tensor.C128:
		n /= 2
	}
	for ; len(p) > 0; p = p[n:] {
		slices.Reverse(p[:n])
	}
}

func digest(p []byte) string {
	sum := sha256.Sum256(p)
	return hex.EncodeToString(sum[:])
}
