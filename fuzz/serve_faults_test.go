package fuzz_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"log"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/anamnesis-go/anamnesis/gate"
	"github.com/anamnesis-go/anamnesis/gate/handler"
	"github.com/anamnesis-go/anamnesis/gate/host"
	conns "github.com/anamnesis-go/anamnesis/internal/faulty"
)

// FuzzServe sends any bytes to a gate behind net/http, in pieces and with faults that the
// second input states: a byte is how many bytes come at once, and its two high bits say what
// happens before them: nothing, a half close, a reset, or that deadlines pass. The client
// sees a status below 400 only for a file that the next handler has an acceptance of, and
// the host holds nothing afterwards.
func FuzzServe(f *testing.F) {
	const honest, evil = "\x02\x00\x00\x00\x00\x00\x00\x00{}", "cos\nsystem\n(S'id'\ntR."
	put := func(name, data string) []byte {
		return []byte("PUT /" + name + " HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n" + string("0123456789abcdefghijklmnopqrstuvwxyz"[len(data)%36]) + "\r\n" + data + "\r\n0\r\n\r\n")
	}
	for _, timing := range []string{"", "\x01", "\x3f\x7f", "\x10\x10\xbf", "\x20\xc5", "\x3f\x3f\x3f\xff"} {
		f.Add(put("m.safetensors", honest), []byte(timing))
		f.Add(put("m.pkl", evil[:15]), []byte(timing))
		f.Add([]byte("PUT /m.pkl HTTP/1.1\r\nHost: x\r\nContent-Length: 22\r\n\r\n"+evil+"GET / HTTP/1.1\r\nHost: x\r\n\r\n"), []byte(timing))
		f.Add([]byte("POST / HTTP/1.1\r\nHost: x\r\nContent-Type: multipart/form-data; boundary=x\r\nContent-Length: 96\r\n\r\n--x\r\nContent-Disposition: form-data; name=\"f\"; filename=\"m.safetensors\"\r\n\r\n"+honest+"\r\n--x--"), []byte(timing))
	}
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, bytes, timings []byte) {
		var mu sync.Mutex
		passed, good := 0, 0
		next := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			mu.Lock()
			defer mu.Unlock()
			passed++
			list := handler.Acceptances(r.Context())
			for i, u := range handler.Uploads(r.Context()) {
				if files := u.Files(); len(files) > 0 {
					var sums []gate.File
					for _, f := range files {
						data, err := io.ReadAll(f.Reader())
						if err != nil {
							t.Error(err)
						}
						sum := sha256.Sum256(data)
						sums = append(sums, gate.File{Name: f.Name, Size: int64(len(data)), SHA256: hex.EncodeToString(sum[:])})
					}
					if !list[i].OfFolder(sums) {
						t.Errorf("a folder reached the handler with %+v", list[i])
					}
					continue
				}
				data, err := io.ReadAll(u.Reader())
				if err != nil || !list[i].Of(sha256.Sum256(data), int64(len(data))) {
					t.Errorf("%s reached the handler with %+v, %v", u.Name, list[i], err)
				}
			}
			if len(list) == 0 {
				t.Error("a request reached the handler without an acceptance")
			}
		})
		h, err := handler.New(next, handler.Options{Options: host.Options{MaxFile: 1 << 16, Dir: dir, Slots: 1}, DiscardTime: -1})
		if err != nil {
			t.Fatal(err)
		}
		var w *conns.Wire
		at := 0
		w = conns.NewWire(string(bytes), 64, func(op string) conns.Fault {
			mu.Lock()
			defer mu.Unlock()
			if op == "write" { // the client reads its answer, and leaves
				w.End()
			}
			if at >= len(timings) {
				return conns.None
			}
			b := timings[at]
			at++
			w.Piece(int(b&63) + 1)
			switch b >> 6 {
			case 1:
				return conns.HalfClose
			case 2:
				return conns.Reset
			case 3:
				w.Pass()
			}
			return conns.None
		})
		given := time.AfterFunc(5*time.Millisecond, func() { w.Pass(); w.End() }) // up, if nothing comes of it
		defer given.Stop()
		ctx, stop := context.WithCancel(t.Context())
		server := &http.Server{Handler: h, BaseContext: func(net.Listener) context.Context { return ctx }, ErrorLog: log.New(io.Discard, "", 0), ReadHeaderTimeout: time.Hour}
		l, served := &oneConn{conn: make(chan net.Conn, 1)}, make(chan struct{})
		l.conn <- w
		go func() { defer close(served); _ = server.Serve(l) }()
		select {
		case <-w.Done():
		case <-time.After(time.Minute):
			t.Error("the connection hangs")
		}
		stop()
		_ = server.Close()
		<-served
		h.Close()
		if l := h.Host().Load(); l.Uploads != 0 || l.Spooled != 0 || l.Memory != 0 || l.Judging != 0 {
			t.Errorf("held: %+v", l)
		}
		mu.Lock()
		defer mu.Unlock()
		for _, line := range strings.Split(w.Answered(), "\r\n") {
			if _, status, is := strings.Cut(line, "HTTP/1."); is && len(status) > 2 && strings.HasPrefix(line, "HTTP/1.") && status[2] < '4' && !strings.HasPrefix(status[2:], "100") {
				good++
			}
		}
		if good > passed {
			t.Errorf("%d answers of success, and %d files that were accepted: %q", good, passed, w.Answered())
		}
	})
}
