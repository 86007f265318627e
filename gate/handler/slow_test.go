package handler_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/anamnesis-go/anamnesis/gate/handler"
	"github.com/anamnesis-go/anamnesis/gate/host"
)

// dial opens a connection with the beginning of an upload.
func dial(t *testing.T, addr string) net.Conn {
	t.Helper()
	c, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	fmt.Fprint(c, "PUT /m.safetensors HTTP/1.1\r\nHost: x\r\nContent-Length: 100000\r\n\r\nab")
	if err := c.SetReadDeadline(time.Now().Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	return c
}

// Clients that sent a byte as often as --idle wants could occupy every upload slot for ever. They
// are disconnected, and the next client gets a slot.
func TestSlowClientsAreDisconnected(t *testing.T) {
	for what, o := range map[string]handler.Options{
		"rate":  {MinRate: 1 << 10, RateTime: 300 * time.Millisecond},
		"total": {MinRate: -1, UploadTime: 300 * time.Millisecond},
	} {
		t.Run(what, func(t *testing.T) {
			o.Options = host.Options{MaxUploads: 4, PerTenant: 4}
			s, h, _ := serve(t, o)
			stop := make(chan struct{})
			defer close(stop)
			var slow []net.Conn
			for range 4 {
				c := dial(t, s.Listener.Addr().String())
				slow = append(slow, c)
				go func() {
					for {
						select {
						case <-stop:
							return
						case <-time.After(10 * time.Millisecond):
							if _, err := c.Write([]byte("x")); err != nil {
								return
							}
						}
					}
				}()
			}
			for _, c := range slow {
				res, err := http.ReadResponse(bufio.NewReader(c), nil)
				if err != nil || res.StatusCode != http.StatusRequestTimeout {
					t.Fatalf("%v, %v", res, err)
				}
				text, _ := io.ReadAll(res.Body)
				if !strings.Contains(string(text), "came") {
					t.Errorf("%s", text)
				}
			}
			for h.Host().Load().Uploads > 0 {
				time.Sleep(time.Millisecond)
			}
			if res, text := ask(t, "PUT", s.URL+"/m.safetensors", "", strings.NewReader(honest(5))); res.StatusCode != http.StatusOK {
				t.Errorf("%d %s", res.StatusCode, text)
			}
		})
	}
}

// A server that ends does not wait for a body.
func TestDrainRefusesNewUploads(t *testing.T) {
	s, h, _ := serve(t, handler.Options{IdleTimeout: time.Hour, MinRate: -1})
	c := dial(t, s.Listener.Addr().String())
	for h.Host().Load().Uploads == 0 {
		time.Sleep(time.Millisecond)
	}
	h.Drain()
	res, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil || res.StatusCode != http.StatusServiceUnavailable || !res.Close || res.Header.Get("Retry-After") == "" {
		t.Errorf("%v, %v", res, err)
	}
	if res, text := ask(t, "PUT", s.URL+"/m.safetensors", "", strings.NewReader(honest(5))); res.StatusCode != http.StatusServiceUnavailable || !res.Close {
		t.Errorf("one that comes later: %d %s", res.StatusCode, text)
	}
}
