package fuzz_test

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/ollama"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// FuzzOllama tests that no name and no manifest leads out of the store, and that every
// refusal has a class.
func FuzzOllama(f *testing.F) {
	storesEndAs(f)
	digest := strings.Repeat("0a", 32)
	f.Add("ollama:m", []byte(`{"schemaVersion":2,"layers":[{"mediaType":"application/vnd.ollama.image.model","digest":"sha256:`+digest+`","size":3}]}`))
	f.Add("ollama:hf.co/a/b:c", []byte(`{"schemaVersion":2,"layers":[{"mediaType":"application/vnd.ollama.image.tensor","digest":"sha256:`+digest+`","size":3,"name":"x"}]}`))
	f.Add("ollama:../m", []byte(`{"layers":[{"digest":"sha256:../../x"}]}`))
	f.Fuzz(func(t *testing.T, name string, manifest []byte) {
		n, err := ollama.ParseName(name)
		if err != nil {
			if wire.ClassOf(err) != wire.Usage {
				t.Fatalf("class %v: %v", wire.ClassOf(err), err)
			}
			return
		}
		if !fs.ValidPath(n.Path()) || strings.Count(n.Path(), "/") != 4 {
			t.Fatalf("%q leads to %q", name, n.Path())
		}
		store := confined{t, fstest.MapFS{
			n.Path():                 {Data: manifest},
			"blobs/sha256-" + digest: {Data: []byte("abc")},
		}}
		b := limits.Policy{}.Budget(t.Context())
		defer b.Close()
		m, err := ollama.Open(b, store, n, func(_ *limits.Budget, r io.ReaderAt, _ int64) (tensor.Model, error) {
			return &tensor.File{Name: "safetensors", Source: r}, nil
		})
		if err != nil {
			if wire.ClassOf(err) == wire.Internal {
				t.Fatalf("no class: %v", err)
			}
			return
		}
		if err := m.Close(); err != nil {
			t.Fatal(err)
		}
	})
}

// storesEndAs fails a target whose reader does not refuse, for its cause, what is wrong with a name
// or a store. A blob says which format it has and which tensors.
func storesEndAs(f *testing.F) {
	f.Helper()
	digest := func(body string) string { return fmt.Sprintf("%x", sha256.Sum256([]byte(body))) }
	layer := func(kind, name, body string) string {
		return fmt.Sprintf(`{"mediaType": "application/vnd.ollama.image.%s", "digest": "sha256:%s", "size": %d, "name": %q}`, kind, digest(body), len(body), name)
	}
	const a, b, ab, other, gguf = "safetensors a", "safetensors b", "safetensors a b", "safetensors c", "gguf a"
	of := func(layers ...string) string {
		return `{"schemaVersion": 2, "config": {}, "layers": [` + strings.Join(layers, ",") + `]}`
	}
	good := layer("model", "", a)
	without := func(old, with string) string { return of(strings.Replace(good, old, with, 1)) }
	for _, c := range []struct {
		name, manifest string
		cause          error
	}{
		{"m", of(good), nil}, {"h.io/n/m:t", of(layer("tensor", "a", a), layer("tensor", "b", b), layer("json", "x/config.json", "{}")), nil}, {"m", without("sha256:", "sha256-"), nil},
		{"a/b/c/d", "", wire.ErrUsage}, {"", "", wire.ErrUsage}, {"m:..", "", wire.ErrUsage}, {"../m", "", wire.ErrUsage}, {"m:" + strings.Repeat("t", 81), "", wire.ErrUsage}, {"h/n/m:t:u/v", "", wire.ErrUsage}, {strings.Repeat("h", 351) + "/n/m", "", wire.ErrUsage},
		{"m", strings.Replace(of(good), "2", "1", 1), wire.ErrUnsupported}, {"m", `{"layers": []}`, wire.ErrUnsupported}, {"m", strings.Repeat(" ", 2<<20) + "{}", limits.ErrLimit},
		{"m", of(good) + "{}", wire.ErrTrailing}, {"m", strings.Replace(of(good), `"layers"`, `"Layers"`, 1), wire.ErrSyntax}, {"m", without(`"size"`, `"Size"`), wire.ErrSyntax},
		{"m", without("sha256:", "md5:"), wire.ErrSyntax}, {"m", without(digest(a), "../"+digest(a)[3:]), wire.ErrSyntax}, {"m", without(digest(a), digest(a)[1:]), wire.ErrSyntax}, {"m", without(digest(a), strings.ToUpper(digest(a))), nil},
		{"m", without(fmt.Sprintf(`"size": %d, `, len(a)), ""), wire.ErrMissing}, {"m", without("application/vnd", "vnd"), wire.ErrSyntax}, {"m", of(layer("tensor", "", a)), wire.ErrMissing},
		{"m", of(good, layer("json", "../c.json", "{}")), wire.ErrForbidden}, {"m", of(good, layer("json", ".", "{}")), wire.ErrForbidden}, {"m", of(good, layer("json", `..\c`, "{}")), wire.ErrForbidden},
		{"m", of(good, layer("tensor", "b", b)), wire.ErrMismatch}, {"m", of(layer("params", "", "{}")), wire.ErrUnsupported}, {"m", of(), wire.ErrUnsupported}, {"m", of(layer("tensor", "a", gguf)), wire.ErrMismatch},
		{"m", of(good, layer("model", "", gguf)), wire.ErrMismatch}, {"m", of(good, layer("model", "", ab)), wire.ErrDuplicate}, {"m", of(layer("tensor", "a", a), layer("tensor", "a", other)), nil},
		{"m", without(digest(a), digest("none")), wire.ErrMissing}, {"m", without(fmt.Sprintf(`"size": %d`, len(a)), fmt.Sprintf(`"size": %d`, len(a)-1)), wire.ErrMismatch}, {"m", without(fmt.Sprintf(`"size": %d`, len(a)), fmt.Sprintf(`"size": %d`, len(a)+1)), wire.ErrTruncated},
		{"m", without(digest(a), digest("changed")), wire.ErrChecksum},
	} {
		n, err := ollama.ParseName(c.name)
		if err == nil {
			store := fstest.MapFS{n.Path(): {Data: []byte(c.manifest)}, "blobs/sha256-" + digest("changed"): {Data: []byte(a)}}
			for _, body := range []string{a, b, ab, other, gguf, "{}"} {
				store["blobs/sha256-"+digest(body)] = &fstest.MapFile{Data: []byte(body)}
			}
			account := limits.Policy{}.Budget(f.Context())
			var m tensor.Model
			if m, err = ollama.Open(account, store, n, namedTensors); err == nil {
				if v, ok := m.(tensor.Verifier); ok {
					err = v.Verify(account)
				}
				m.Close()
			}
			account.Close()
		}
		if c.cause == nil && err != nil || !errors.Is(err, c.cause) {
			f.Errorf("%.80q, %.400s: %v, not %v", c.name, c.manifest, err, c.cause)
		}
		if len(c.manifest) < 10_000 {
			f.Add(c.name, []byte(c.manifest))
		}
	}
}

// namedTensors reads a blob of the seeds: its format, and the names of its tensors of a byte each.
func namedTensors(_ *limits.Budget, r io.ReaderAt, size int64) (tensor.Model, error) {
	body := make([]byte, size)
	if err := wire.ReadFull(r, body, 0); err != nil {
		return nil, err
	}
	words := strings.Fields(string(body))
	m := &tensor.File{Name: words[0], Source: r}
	for i, name := range words[1:] {
		m.Infos = append(m.Infos, tensor.Info{Name: name, DType: tensor.U8, Shape: []int64{1}, Span: tensor.Span{Off: int64(i), Len: 1}})
	}
	return m, nil
}

// A confined store fails the test if a path could leave it.
type confined struct {
	t *testing.T
	fs.FS
}

func (c confined) Open(name string) (fs.File, error) {
	if !fs.ValidPath(name) || !strings.HasPrefix(name, "manifests/") && !strings.HasPrefix(name, "blobs/") {
		c.t.Fatalf("the store was asked for %q", name)
	}
	return c.FS.Open(name)
}
