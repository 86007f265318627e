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
)

// send writes a request whose body is rubbish, in pieces and slowly, and reads nothing
// before all of it is written or cannot be. It returns how much it wrote and what it
// is answered.
func send(t *testing.T, address string, size, writes int64) (int64, *http.Response, error) {
	t.Helper()
	conn, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	fmt.Fprintf(conn, "PUT /m.safetensors HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n", size)
	piece, wrote := []byte(strings.Repeat("rubbish ", 8<<10)), int64(0)
	for wrote < writes {
		n, err := conn.Write(piece[:min(int64(len(piece)), writes-wrote)])
		wrote += int64(n)
		if err != nil {
			break
		}
		time.Sleep(time.Millisecond)
	}
	if err := conn.SetReadDeadline(time.Now().Add(10 * time.Second)); err != nil {
		t.Fatal(err)
	}
	res, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		return wrote, nil, err
	}
	text, err := io.ReadAll(res.Body)
	if err == nil && (!strings.Contains(string(text), `"rules":["detect.`) || !res.Close) {
		t.Errorf("%s %v %s", res.Status, res.Header, text)
	}
	return wrote, res, err
}

// A client that writes the whole body before it reads gets the answer also if the beginning was
// refused.
func TestARefusalReachesAClientThatStillSends(t *testing.T) {
	s, _, _ := serve(t, handler.Options{})
	const size = 2 << 20
	wrote, res, err := send(t, s.Listener.Addr().String(), size, size)
	if err != nil || res.StatusCode != http.StatusUnsupportedMediaType || wrote != size {
		t.Errorf("%d bytes written, %v, %v", wrote, res, err)
	}
	// One that announces a huge body, and stops sending, is answered after a while.
	if _, res, err := send(t, s.Listener.Addr().String(), 8<<30, 64<<10); err != nil || res.StatusCode != http.StatusUnsupportedMediaType {
		t.Errorf("a client that stops: %v, %v", res, err)
	}
}

// A client that never stops is cut off after a number of bytes and a time.
func TestDiscardedInputIsBounded(t *testing.T) {
	for what, o := range map[string]handler.Options{
		"bytes":   {DiscardBytes: 1 << 20, DiscardTime: time.Minute},
		"time":    {DiscardBytes: 1 << 40, DiscardTime: 100 * time.Millisecond},
		"nothing": {DiscardBytes: -1},
	} {
		s, h, _ := serve(t, o)
		const most = 256 << 20
		if wrote, _, _ := send(t, s.Listener.Addr().String(), 8<<30, most); wrote >= most {
			t.Errorf("%s: %d bytes were taken", what, wrote)
		}
		if l := h.Host().Load(); l.Uploads != 0 {
			t.Errorf("%s: %+v", what, l)
		}
	}
}

// After a complete body, the connection stays open for the next request.
func TestAConnectionIsKeptWhereNothingIsUnread(t *testing.T) {
	s, _, _ := serve(t, handler.Options{})
	conn, err := net.Dial("tcp", s.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	r := bufio.NewReader(conn)
	for range 2 {
		fmt.Fprintf(conn, "PUT /m.pkl HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n%s", len(evil), evil)
		res, err := http.ReadResponse(r, nil)
		if err != nil || res.StatusCode != http.StatusForbidden || res.Close {
			t.Fatalf("%+v, %v", res, err)
		}
		if _, err := io.Copy(io.Discard, res.Body); err != nil {
			t.Fatal(err)
		}
	}
}
