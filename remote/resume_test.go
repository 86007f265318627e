package remote_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/anamnesis-go/anamnesis/convert"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser"
	"github.com/anamnesis-go/anamnesis/remote"
)

// A conversion from a server goes on where it was, if the server says that the file is the
// same; if it says that it is another, or nothing, it is refused.
func TestAConversionFromAServerResumes(t *testing.T) {
	dir := t.TempDir()
	const tensors, size = 24, 1 << 20
	header := "{"
	for i := range tensors {
		header += fmt.Sprintf(`"t%02d":{"dtype":"U8","shape":[%d],"data_offsets":[%d,%d]},`, i, size, i*size, (i+1)*size)
	}
	header = header[:len(header)-1] + "}"
	file := append(binary.LittleEndian.AppendUint64(nil, uint64(len(header))), header...)
	for i := range tensors * size {
		file = append(file, byte(i*i>>7))
	}
	if err := os.WriteFile(filepath.Join(dir, "model.safetensors"), file, 0o666); err != nil {
		t.Fatal(err)
	}
	h := newHub(t, dir)
	target, resume := filepath.Join(t.TempDir(), "out.safetensors"), &convert.Resume{Key: []byte("only this user knows it")}
	run := func(stop bool) (*convert.Result, error) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		b := limits.Policy{Timeout: limits.NoTimeout}.Budget(ctx)
		defer b.Close()
		m, err := remote.Open(b, h.URL+"/model.safetensors", remote.Options{AllowPrivate: true, Hub: h.URL})
		if err != nil {
			return nil, err
		}
		defer m.Close()
		p, err := convert.NewPlan(b, m, convert.Options{Tile: 16 << 10, Threads: 2, NoSync: true, Resume: resume})
		if err != nil {
			return nil, err
		}
		defer p.Close()
		go func() {
			for ctx.Err() == nil && stop {
				if done, all := p.Progress(); done > all/3 {
					cancel()
				}
				time.Sleep(100 * time.Microsecond)
			}
		}()
		return p.Write(target, true)
	}
	if _, err := run(true); !errors.As(err, new(*convert.Unfinished)) {
		t.Fatal(err)
	}
	h.set(func(int) string { return `"two"` })
	if _, err := run(false); parser.ClassOf(err) != parser.Usage || !strings.Contains(err.Error(), `ETag \"two\"`) || !strings.Contains(err.Error(), "model.safetensors") {
		t.Errorf("another file: %v", err)
	}
	h.set(func(int) string { return "" })
	if _, err := run(false); parser.ClassOf(err) != parser.Unsupported || !strings.Contains(err.Error(), "download it first") {
		t.Errorf("a server that says nothing: %v", err)
	}
	h.set(func(int) string { return `"one"` })
	got, err := run(false)
	if err != nil || got.Resumed == nil || got.Resumed.Kept < tensors*size/4 {
		t.Fatalf("%+v, %v", got, err)
	}
	if data, err := os.ReadFile(target); err != nil || !bytes.Equal(data, file) {
		t.Errorf("other bytes, %v", err)
	}
	if list, _ := filepath.Glob(filepath.Join(filepath.Dir(target), ".*")); len(list) > 0 {
		t.Errorf("%v are left", list)
	}
	h.set(func(int) string { return "" })
	resume = nil
	if _, err := run(false); err != nil {
		t.Errorf("a server that says nothing, and nothing is resumed: %v", err)
	}
}

// set changes what the server says of its files.
func (h *hub) set(etag func(int) string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.etag = etag
}
