package remote_test

import (
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/remote"
)

// vocabulary is a GGUF of 150,000 tokens, 149,000 merges and one tensor, and where its
// header ends.
func vocabulary() (file []byte, header int) {
	var w bytes.Buffer
	put := func(values ...any) {
		for _, v := range values {
			if s, ok := v.(string); ok {
				binary.Write(&w, binary.LittleEndian, uint64(len(s)))
				w.WriteString(s)
				continue
			}
			binary.Write(&w, binary.LittleEndian, v)
		}
	}
	random := rand.New(rand.NewPCG(1, 2))
	words := func(name string, n int, sep string) {
		put(name, uint32(9), uint32(8), uint64(n))
		for i := range n {
			put(strings.Repeat(string(rune('a'+i%26)), 1+random.IntN(6)) + sep + fmt.Sprint(i))
		}
	}
	w.WriteString("GGUF")
	put(uint32(3), uint64(1), uint64(4), "general.architecture", uint32(8), "llama")
	words("tokenizer.ggml.tokens", 150_000, "")
	put("tokenizer.ggml.token_type", uint32(9), uint32(5), uint64(150_000), make([]int32, 150_000))
	words("tokenizer.ggml.merges", 149_000, " ")
	put("token_embd.weight", uint32(1), uint64(4<<20), uint32(0), uint64(0))
	header = w.Len()
	w.Write(make([]byte, (32-header%32)%32+16<<20))
	return w.Bytes(), header
}

func TestAHeaderTakesTwoRequests(t *testing.T) {
	dir := t.TempDir()
	file, header := vocabulary()
	write(t, filepath.Join(dir, "big.gguf"), file)
	h := newHub(t, dir)
	b := limits.Policy{}.Budget(context.Background())
	defer b.Close()
	m, err := remote.Open(b, "hf://me/model/big.gguf", remote.Options{AllowPrivate: true, Hub: h.URL})
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	if n := h.count() - 1; n > 2 {
		t.Errorf("%d requests after the listing", n)
	}
	if n := b.Usage()[limits.Fetched].Used; n > int64(header)*11/10 {
		t.Errorf("%d bytes were fetched of a header of %d", n, header)
	}
}

// Bytes in flight when a header ends are bounded by the buffers of the connection, so each long
// range before the end of the header uses a connection with small buffers.
func TestAHeaderIsFetchedThroughSmallBuffers(t *testing.T) {
	file, _ := vocabulary()
	var mu sync.Mutex
	buffers := map[string]int{} // by the client's address
	remote.Connected(t, func(conn net.Conn, held int) {
		mu.Lock()
		defer mu.Unlock()
		buffers[conn.LocalAddr().String()] = held
	})
	var long []string // addresses that asked for long ranges
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if span(t, r.Header.Get("Range")) >= 8<<20 {
			mu.Lock()
			long = append(long, r.RemoteAddr)
			mu.Unlock()
		}
		serve(w, r, file)
	}))
	defer s.Close()
	m, err := open(t, s.URL+"/big.gguf", remote.Options{AllowPrivate: true})
	if err != nil {
		t.Fatal(err)
	}
	m.Close()
	mu.Lock()
	defer mu.Unlock()
	if len(long) == 0 {
		t.Error("no long range was asked for")
	}
	for _, a := range long {
		if buffers[a] != remote.Window {
			t.Errorf("a long range went through a connection that buffers %d bytes, want %d", buffers[a], remote.Window)
		}
	}
}

// span returns how many bytes a Range header asks for.
func span(t *testing.T, header string) int64 {
	t.Helper()
	var from, to int64
	if n, err := fmt.Sscanf(header, "bytes=%d-%d", &from, &to); n != 2 {
		t.Fatalf("%q: %v", header, err)
	}
	return to - from + 1
}

func write(t *testing.T, path string, data []byte) {
	t.Helper()
	if err := os.WriteFile(path, data, 0o666); err != nil {
		t.Fatal(err)
	}
}

// shards are n safetensors files of a tensor each, with their index.
func shards(t *testing.T, n int) string {
	dir := t.TempDir()
	names := map[string]string{}
	for i := range n {
		file, tensor := fmt.Sprintf("model-%05d-of-%05d.safetensors", i+1, n), fmt.Sprintf("layers.%d.weight", i)
		head, _ := json.Marshal(map[string]any{tensor: map[string]any{"dtype": "U8", "shape": []int{300 << 10}, "data_offsets": []int{0, 300 << 10}}})
		write(t, filepath.Join(dir, file), slices.Concat(binary.LittleEndian.AppendUint64(nil, uint64(len(head))), head, bytes.Repeat([]byte{byte(i)}, 300<<10)))
		names[tensor] = file
	}
	index, _ := json.Marshal(map[string]any{"metadata": map[string]any{"total_size": n * 300 << 10}, "weight_map": names})
	write(t, filepath.Join(dir, "model.safetensors.index.json"), index)
	return dir
}

func TestShardsAreFetchedTogether(t *testing.T) {
	for _, c := range []struct {
		what  string
		asked int // besides the listing
	}{{"", 31}, {"config.json", 32}} {
		t.Run("beside "+cmp.Or(c.what, "nothing"), func(t *testing.T) {
			dir := shards(t, 30)
			if c.what != "" {
				write(t, filepath.Join(dir, c.what), []byte(`{"model_type": "llama"}`))
			}
			together(t, dir, c.asked)
		})
	}
}

func together(t *testing.T, dir string, asked int) {
	h := newHub(t, dir)
	var now, most atomic.Int64
	h.before = func(_ http.ResponseWriter, r *http.Request, _ int) bool {
		n := now.Add(1)
		for m := most.Load(); n > m && !most.CompareAndSwap(m, n); m = most.Load() {
		}
		time.Sleep(5 * time.Millisecond)
		now.Add(-1)
		return false
	}
	m, err := open(t, "hf://me/model", remote.Options{AllowPrivate: true, Hub: h.URL})
	if err != nil {
		t.Fatal(err)
	}
	if m.Len() != 30 || h.count() != 1+asked {
		t.Errorf("%d tensors by %d requests, want 30 by a listing and %d", m.Len(), h.count(), asked)
	}
	if n := most.Load(); n < 2 || n > 8 {
		t.Errorf("%d requests at once", n)
	}
}

// Words without end where two ranges belong are read no further than those would be.
func TestTwoRangesInEndlessWords(t *testing.T) {
	h := newHub(t, shards(t, 1))
	h.before = func(w http.ResponseWriter, r *http.Request, _ int) bool {
		if !strings.Contains(r.Header.Get("Range"), ",") {
			return false
		}
		w.Header().Set("Content-Type", "multipart/byteranges; boundary=x")
		w.WriteHeader(http.StatusPartialContent)
		for {
			if _, err := w.Write(bytes.Repeat([]byte("a\n"), 1<<15)); err != nil {
				return true
			}
		}
	}
	if _, err := open(t, "hf://me/model/model-00001-of-00001.safetensors", remote.Options{AllowPrivate: true, Hub: h.URL}); err == nil {
		t.Error("it is read")
	}
}

// A body is one answer, however often its end is cut off.
func TestReadingOnIsOneRequest(t *testing.T) {
	dir := t.TempDir()
	data := npy(5 << 20)
	for i := range data[128:] {
		data[128+i] = byte(i * i >> 8)
	}
	write(t, filepath.Join(dir, "a.npy"), data)
	for want, cut := range map[int]bool{3: false, 4: true} {
		h := newHub(t, dir)
		h.before = func(w http.ResponseWriter, r *http.Request, n int) bool {
			var from int
			fmt.Sscanf(r.Header.Get("Range"), "bytes=%d-", &from)
			if !cut || from == 0 || from > len(data)/2 {
				return false
			}
			cut = false
			w.Header().Set("ETag", `"one"`)
			w.Header().Set("Content-Length", fmt.Sprint(len(data)-from))
			w.Header().Set("Content-Range", fmt.Sprintf("bytes %d-%d/%d", from, len(data)-1, len(data)))
			w.WriteHeader(http.StatusPartialContent)
			w.Write(data[from : from+1<<20])
			return true
		}
		m, err := open(t, h.URL+"/a.npy", remote.Options{AllowPrivate: true})
		if err != nil {
			t.Fatal(err)
		}
		for i := range m.Tensors() {
			r, err := m.Body(limits.Policy{}.Budget(context.Background()), i)
			if err != nil {
				t.Fatal(err)
			}
			if got, err := io.ReadAll(r); err != nil || !bytes.Equal(got, data[128:]) {
				t.Errorf("cut %v: %d bytes, %v", cut, len(got), err)
			}
		}
		if n := h.count(); n != want { // its size, its end, and all of it
			t.Errorf("%d requests, want %d", n, want)
		}
	}
}
