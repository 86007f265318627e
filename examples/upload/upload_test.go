package main

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/anamnesis-go/anamnesis/corpus"
)

// file is an upload and what it must come to.
type file struct {
	name string
	data string
	ok   bool
}

// files are honest ones of many sizes and every hostile one of the corpus.
func files() (list []file) {
	for _, n := range []int{0, 10, 1000, 100_000, 400_000} {
		header := fmt.Sprintf(`{"w":{"dtype":"U8","shape":[%d],"data_offsets":[0,%d]}}`, n, n)
		header += strings.Repeat(" ", (8-len(header)%8)%8)
		list = append(list, file{"m.safetensors", string([]byte{byte(len(header)), 0, 0, 0, 0, 0, 0, 0}) + header + strings.Repeat("x", n), true})
	}
	for _, format := range []string{"safetensors", "gguf", "npy"} {
		for _, r := range corpus.Hostile(format) {
			if data := r.Bytes(); r.Policy == nil && r.Expect != "ok" && len(data) < 1<<20 {
				list = append(list, file{"m." + format, string(data), false})
			}
		}
	}
	return list
}

// Tenants upload at once: honest files, hostile ones, and some that their clients
// leave. Each gets the answer that its own file deserves, and nothing stays.
func TestTwoThousandUploadsOfManyTenants(t *testing.T) {
	total := 2000
	if testing.Short() {
		total = 200
	}
	dir := t.TempDir()
	t.Setenv("TMPDIR", t.TempDir())
	mux, err := upload(dir)
	if err != nil {
		t.Fatal(err)
	}
	before, fdsBefore := runtime.NumGoroutine(), descriptors()
	s := httptest.NewUnstartedServer(mux)
	s.EnableHTTP2 = true
	s.StartTLS()
	client := s.Client()
	peak := watchMemory(t.Context())

	list := files()
	work := make(chan int)
	var wg sync.WaitGroup
	for range 24 {
		wg.Go(func() {
			for i := range work {
				one(t, client, s.URL, i, list[i%len(list)])
			}
		})
	}
	go slow(s.Listener.Addr().String())
	for i := range total {
		work <- i
	}
	close(work)
	wg.Wait()
	res, err := client.Get(s.URL + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(res.Body)
	res.Body.Close()
	if err != nil || !strings.Contains(string(text), `anamnesis_uploads_total{status="200"}`) {
		t.Errorf("metrics: %v\n%s", err, text)
	}
	if most := peak(); most > 64<<20 {
		t.Errorf("%d MiB of heap", most>>20)
	}
	client.CloseIdleConnections()
	s.Close()
	nothingIsLeft(t, before, fdsBefore)
}

// one sends a file; every 17th client leaves before it has sent all.
func one(t *testing.T, client *http.Client, url string, i int, f file) {
	ctx, leave := context.WithCancel(t.Context())
	defer leave()
	var body io.Reader = strings.NewReader(f.data)
	leaves := i%17 == 16 && len(f.data) > 10
	if leaves {
		body = &leaver{strings.NewReader(f.data[:len(f.data)/2]), leave}
	} else if i%3 == 0 {
		body = struct{ io.Reader }{body}
	}
	name := fmt.Sprintf("%d-%s", i, f.name)
	r, err := http.NewRequestWithContext(ctx, http.MethodPut, url+"/models/"+name, body)
	if err != nil {
		t.Error(err)
		return
	}
	r.Header.Set("X-Tenant", fmt.Sprint("tenant", i%7))
	res, err := client.Do(r)
	if leaves {
		if err == nil {
			res.Body.Close()
		}
		return
	}
	if err != nil {
		t.Errorf("%s: %v", name, err)
		return
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	switch refused := res.StatusCode == 403 || res.StatusCode == 413 || res.StatusCode == 415 || res.StatusCode == 422; {
	case err != nil:
		t.Errorf("%s: %v", name, err)
	case f.ok && res.StatusCode != http.StatusCreated, !f.ok && !refused:
		t.Errorf("%s: %d: %s", name, res.StatusCode, text)
	case refused && !strings.Contains(string(text), `"rules":["`):
		t.Errorf("%s is refused without a rule: %s", name, text)
	}
}

// leaver gives some bytes and then ends the request.
type leaver struct {
	io.Reader
	leave func()
}

func (l *leaver) Read(p []byte) (int, error) {
	n, err := l.Reader.Read(p)
	if err == io.EOF {
		l.leave()
		time.Sleep(time.Duration(rand.N(3)) * time.Millisecond)
		return n, io.ErrClosedPipe
	}
	return n, err
}

// slow opens connections that say nothing.
func slow(addr string) {
	for range 20 {
		if c, err := net.Dial("tcp", addr); err == nil {
			time.AfterFunc(time.Second, func() { c.Close() })
		}
	}
}

// watchMemory notes the largest heap until it is asked.
func watchMemory(ctx context.Context) func() uint64 {
	ctx, stop := context.WithCancel(ctx)
	most := make(chan uint64)
	go func() {
		var peak uint64
		for {
			var m runtime.MemStats
			runtime.ReadMemStats(&m)
			peak = max(peak, m.HeapInuse)
			select {
			case <-ctx.Done():
				most <- peak
				return
			case <-time.After(20 * time.Millisecond):
			}
		}
	}()
	return func() uint64 { stop(); return <-most }
}

func descriptors() int {
	list, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		return -1 // not this system
	}
	return len(list)
}

func nothingIsLeft(t *testing.T, goroutines, fds int) {
	t.Helper()
	for range 500 {
		if runtime.NumGoroutine() <= goroutines && descriptors() <= fds {
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	if n := runtime.NumGoroutine(); n > goroutines {
		t.Errorf("%d goroutines, %d before", n, goroutines)
	}
	if n := descriptors(); n > fds {
		t.Errorf("%d open files, %d before", n, fds)
	}
	left, err := filepath.Glob(filepath.Join(os.TempDir(), "amn-*"))
	if err != nil || len(left) > 0 {
		t.Errorf("left in the spool: %v, %v", left, err)
	}
}
