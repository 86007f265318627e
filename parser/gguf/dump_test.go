package gguf_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/anamnesis-go/anamnesis/internal/faulty"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/gguf"
)

var update = flag.Bool("update", false, "rewrite the dumps in testdata/gguf")

// The goldens of dumps are our own text; a test below compares their values with gguf-py.
func TestDumps(t *testing.T) {
	for _, name := range []string{"version-1.txt", "big-endian.txt", "array-nested.txt", "types-unknown.txt", "plain-le.gguf", "llama.gguf", "offset-gap", "array-string-2-62", "key-kind-13"} {
		t.Run(name, func(t *testing.T) {
			var text bytes.Buffer
			for _, s := range samples(t) {
				if s.name != name {
					continue
				}
				if err := gguf.Dump(account(t, s.policy), &text, bytes.NewReader(s.data), int64(len(s.data))); err != nil {
					fmt.Fprintf(&text, "\n%v\n", err)
				}
			}
			path := filepath.Join("../../testdata/gguf", strings.TrimSuffix(strings.TrimSuffix(name, ".txt"), ".gguf")+".dump.txt")
			if *update {
				if err := os.WriteFile(path, text.Bytes(), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), text.String()); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// The dump has each key, tensor and range of data that gguf-py reports, with the bytes of the file.
func TestDumpsAgreeWithGGUFPy(t *testing.T) {
	text, err := os.ReadFile("../../testdata/gguf/expect.json")
	if err != nil {
		t.Fatal(err)
	}
	var refs map[string]reference
	if err := json.Unmarshal(text, &refs); err != nil {
		t.Fatal(err)
	}
	for name, ref := range refs {
		data := seed(t, name)
		var dump bytes.Buffer
		if err := gguf.Dump(account(t, limits.Policy{}), &dump, bytes.NewReader(data), int64(len(data))); err != nil {
			t.Fatal(err)
		}
		has := func(line string) {
			if !strings.Contains(dump.String(), line) {
				t.Errorf("%s: no line %q", name, line)
			}
		}
		has(fmt.Sprintf("version %d\n", ref.Version))
		has(fmt.Sprintf("number of tensors %d\n", len(ref.Tensors)))
		has(fmt.Sprintf("number of keys %d\n", len(ref.Fields)))
		for key := range ref.Fields {
			has(fmt.Sprintf("key %q\n", key))
		}
		for i, r := range ref.Tensors {
			has(fmt.Sprintf("name %q\n", r.Name))
			has(fmt.Sprintf("%08x  %02x %02x", r.Offset, data[r.Offset], data[r.Offset+1]))
			has(fmt.Sprintf("tensor %d %q, %d bytes\n", i, r.Name, r.Bytes))
		}
	}
}

func TestADumpEndsWithTheErrorOfItsWriter(t *testing.T) {
	data := seed(t, "llama.gguf")
	disk := &faulty.Disk{Left: 100}
	if err := gguf.Dump(account(t, limits.Policy{}), disk, bytes.NewReader(data), int64(len(data))); !errors.Is(err, faulty.ErrDisk) {
		t.Error(err)
	}
	if err := gguf.Dump(account(t, limits.Policy{}), disk, bytes.NewReader(data), 100); !errors.Is(err, wire.ErrTruncated) {
		t.Errorf("the file's error comes first: %v", err)
	}
}
