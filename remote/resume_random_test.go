package remote_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/credentials"

	"github.com/anamnesis-go/anamnesis/convert"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser"
	"github.com/anamnesis-go/anamnesis/remote"
)

// threeShards writes a model of three files, with its index and configuration.
func threeShards(t *testing.T, dir string) {
	index := map[string]string{}
	for part := range 3 {
		name := fmt.Sprintf("model-%05d-of-00003.safetensors", part+1)
		header, data := map[string]any{}, []byte(nil)
		for k := range 6 {
			tensor := fmt.Sprintf("model.layers.%d.self_attn.q_proj%d.weight", part, k)
			rows := 256 + 64*k
			at := len(data)
			for i := range 256 * rows {
				data = append(data, byte(i*i>>6), 0x3c|byte(i&1)<<7)
			}
			header[tensor] = map[string]any{"dtype": "BF16", "shape": []int{rows, 256}, "data_offsets": []int{at, len(data)}}
			index[tensor] = name
		}
		text, err := json.Marshal(header)
		if err != nil {
			t.Fatal(err)
		}
		file := append([]byte{byte(len(text)), byte(len(text) >> 8), 0, 0, 0, 0, 0, 0}, text...)
		write(t, filepath.Join(dir, name), append(file, data...))
	}
	text, err := json.Marshal(map[string]any{"metadata": map[string]any{}, "weight_map": index})
	if err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(dir, "model.safetensors.index.json"), text)
	write(t, filepath.Join(dir, "config.json"), []byte(`{"model_type":"none"}`))
}

// resumable copies the model of an address, and is stopped where done parts of all are written.
func resumable(t *testing.T, address, target string, o remote.Options, stop float64) (*convert.Result, error) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	b := limits.Policy{Timeout: limits.NoTimeout}.Budget(ctx)
	defer b.Close()
	m, err := remote.Open(b, address, o)
	if err != nil {
		return nil, err
	}
	defer m.Close()
	p, err := convert.NewPlan(b, m, convert.Options{Tile: 4 << 10, Threads: 2, NoSync: true, Resume: &convert.Resume{Key: []byte("only this user knows it")}})
	if err != nil {
		return nil, err
	}
	defer p.Close()
	go func() {
		for ctx.Err() == nil {
			if done, all := p.Progress(); float64(done) > stop*float64(all) {
				cancel()
			}
			time.Sleep(50 * time.Microsecond)
		}
	}()
	return p.Write(target, true)
}

// A job whose source is a hub, a bucket or a server goes on wherever it was stopped, as often as it
// is, and its result has the bytes of one that was not; a source that changed meanwhile is refused.
func TestJobsFromEverySourceGoOnFromAnywhere(t *testing.T) {
	dir := t.TempDir()
	threeShards(t, dir)
	h := newHub(t, dir)
	s3 := bucket(t, filepath.Dir(dir), true)
	var etag atomic.Value
	is := s3.Config.Handler
	s3.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		for _, name := range []string{"If-Match", "If-Range"} { // what the double behind compares with its own
			if r.Header.Get(name) == etag.Load().(string) {
				r.Header.Set(name, `"one"`)
			}
		}
		is.ServeHTTP(changed{w, &etag}, r)
	})
	folder := filepath.Base(dir)
	for _, c := range []struct {
		name, address string
		o             remote.Options
		change        func(string)
	}{
		{"https", h.URL + "/model-00002-of-00003.safetensors", remote.Options{AllowPrivate: true, Hub: h.URL}, func(e string) { h.set(func(int) string { return e }) }},
		{"hf", "hf://me/model", remote.Options{AllowPrivate: true, Hub: h.URL}, func(e string) { h.set(func(int) string { return e }) }},
		{"s3", "s3://models/" + folder, remote.Options{AllowPrivate: true, S3: remote.S3{Endpoint: s3.URL, Keys: credentials.NewStaticCredentialsProvider("me", "secret", "")}}, func(e string) { etag.Store(e) }},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.change(`"one"`)
			whole := filepath.Join(t.TempDir(), "whole")
			if _, err := resumable(t, c.address, whole, c.o, 2); err != nil {
				t.Fatal(err)
			}
			seed := rand.Uint64()
			t.Logf("seed %d", seed)
			random := rand.New(rand.NewPCG(seed, 1))
			stops := 0
			for range 3 {
				target := filepath.Join(t.TempDir(), "out")
				points := []float64{random.Float64(), random.Float64(), random.Float64()}
				slices.Sort(points)
				for _, stop := range points {
					_, err := resumable(t, c.address, target, c.o, stop)
					if err == nil {
						break // it was at its end before it was stopped
					}
					if !errors.As(err, new(*convert.Unfinished)) {
						t.Fatalf("stopped at %.3f: %v", stop, err)
					}
					stops++
					c.change(`"two"`)
					if _, err := resumable(t, c.address, target, c.o, 2); parser.ClassOf(err) != parser.Usage || !strings.Contains(err.Error(), "another job") {
						t.Errorf("a source that changed: %v", err)
					}
					c.change(`"one"`)
				}
				if _, err := resumable(t, c.address, target, c.o, 2); err != nil {
					t.Fatal(err)
				}
				same(t, whole, target)
			}
			if stops == 0 {
				t.Error("no job was stopped")
			}
		})
	}
}

// changed is an answer with another ETag.
type changed struct {
	http.ResponseWriter
	etag *atomic.Value
}

func (c changed) WriteHeader(status int) {
	if c.Header().Get("ETag") != "" {
		c.Header().Set("ETag", c.etag.Load().(string))
	}
	c.ResponseWriter.WriteHeader(status)
}

// same compares a file or all files of two folders.
func same(t *testing.T, want, got string) {
	t.Helper()
	list := func(root string) (names []string) {
		filepath.WalkDir(root, func(path string, e os.DirEntry, err error) error {
			if err == nil && !e.IsDir() {
				names = append(names, strings.TrimPrefix(path, root))
			}
			return err
		})
		return names
	}
	names := list(want)
	if !slices.Equal(names, list(got)) || len(names) == 0 {
		t.Fatalf("files %q, want %q", list(got), names)
	}
	for _, name := range names {
		a, err := os.ReadFile(want + name)
		b, err2 := os.ReadFile(got + name)
		if err != nil || err2 != nil || !bytes.Equal(a, b) {
			t.Errorf("%s: other bytes (%v, %v)", name, err, err2)
		}
	}
}
