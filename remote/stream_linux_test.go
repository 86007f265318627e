package remote_test

import (
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"syscall"
	"testing"

	"github.com/anamnesis-go/anamnesis/remote"
)

// Linux keeps a buffer's size that a program sets, where it grows others to megabytes.
func TestTheSystemBuffersLittleOfAHeader(t *testing.T) {
	file, _ := vocabulary()
	var mu sync.Mutex
	var sizes []int
	remote.Connected(t, func(conn net.Conn, held int) {
		if held == 0 {
			return
		}
		raw, err := conn.(*net.TCPConn).SyscallConn()
		if err != nil {
			t.Error(err)
			return
		}
		if err := raw.Control(func(fd uintptr) {
			size, err := syscall.GetsockoptInt(int(fd), syscall.SOL_SOCKET, syscall.SO_RCVBUF)
			if err != nil {
				t.Error(err)
			}
			mu.Lock()
			sizes = append(sizes, size)
			mu.Unlock()
		}); err != nil {
			t.Error(err)
		}
	})
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { serve(w, r, file) }))
	defer s.Close()
	m, err := open(t, s.URL+"/big.gguf", remote.Options{AllowPrivate: true})
	if err != nil {
		t.Fatal(err)
	}
	m.Close()
	mu.Lock()
	defer mu.Unlock()
	if len(sizes) == 0 {
		t.Error("no connection has small buffers")
	}
	for _, size := range sizes {
		if size > remote.Window {
			t.Errorf("the system buffers %d bytes, at most %d are wanted", size, remote.Window)
		}
	}
}
