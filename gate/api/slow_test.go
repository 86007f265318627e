package api_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/anamnesis-go/anamnesis/gate/api"
	"github.com/anamnesis-go/anamnesis/gate/handler"
)

// manyTensors is a model whose page is larger than what the system buffers for a client.
func manyTensors() []byte {
	var header bytes.Buffer
	header.WriteByte('{')
	for i := range 70_000 {
		if i > 0 {
			header.WriteByte(',')
		}
		fmt.Fprintf(&header, `"%0160d":{"dtype":"U8","shape":[0],"data_offsets":[0,0]}`, i)
	}
	header.WriteByte('}')
	return append(binary.LittleEndian.AppendUint64(nil, uint64(header.Len())), header.Bytes()...)
}

// unreading asks for the page of a file and reads nothing of it.
func unreading(t *testing.T, addr string, file []byte) net.Conn {
	t.Helper()
	c, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	if err := c.(*net.TCPConn).SetReadBuffer(4 << 10); err != nil {
		t.Fatal(err)
	}
	fmt.Fprintf(c, "PUT /v1/check?format=page&name=m.safetensors HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n", len(file))
	if _, err := c.Write(file); err != nil {
		t.Fatal(err)
	}
	return c
}

// waitForPage waits until the page about a file is made.
func waitForPage(a *api.API, file []byte) {
	for h := a.Gate().Host(); h.Load().Spooled < int64(len(file))*3/2; {
		time.Sleep(time.Millisecond)
	}
}

func page(t *testing.T, url, query string) (int, string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPut, url+"/v1/check?name=m.safetensors"+query, bytes.NewReader([]byte(honest)))
	if err != nil {
		t.Fatal(err)
	}
	res, err := (&http.Client{Timeout: time.Minute}).Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res.StatusCode, string(text)
}

// A client that does not read its page holds up neither other pages nor other checks.
func TestAClientThatDoesNotReadDelaysNoOther(t *testing.T) {
	a, err := api.New(api.Options{UI: true, Options: handler.Options{IdleTimeout: time.Hour, MinRate: -1}})
	if err != nil {
		t.Fatal(err)
	}
	s := httptest.NewServer(a)
	defer s.Close()
	file := manyTensors()
	c := unreading(t, s.Listener.Addr().String(), file)
	waitForPage(a, file)
	for _, query := range []string{"", "&format=page"} {
		if status, text := page(t, s.URL, query); status != http.StatusOK {
			t.Errorf("%q: %d %s", query, status, text)
		}
	}
	if l := a.Gate().Host().Load(); l.Uploads != 1 {
		t.Errorf("the first client was answered: %+v", l)
	}
	c.Close()
	a.Close()
}

// The same over HTTP/2, where a client can stop reading one answer and continue with others.
func TestClientsOfHTTP2AreCut(t *testing.T) {
	a, err := api.New(api.Options{UI: true, Options: handler.Options{IdleTimeout: 300 * time.Millisecond}})
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	s := httptest.NewUnstartedServer(a)
	s.EnableHTTP2 = true
	s.StartTLS()
	defer s.Close()
	send := func(query string, body io.Reader) *http.Response {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPut, s.URL+"/v1/check?name=m.safetensors"+query, body)
		if err != nil {
			t.Fatal(err)
		}
		res, err := s.Client().Do(r)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { res.Body.Close() })
		return res
	}
	if res := send("&format=page", bytes.NewReader(manyTensors())); res.StatusCode != http.StatusOK || res.ProtoMajor != 2 {
		t.Errorf("%s %s", res.Proto, res.Status)
	}
	for a.Gate().Host().Load().Uploads > 0 {
		time.Sleep(time.Millisecond)
	}
	in, out := io.Pipe()
	defer out.Close()
	go io.WriteString(out, "ab")
	if res := send("", in); res.StatusCode != http.StatusRequestTimeout {
		t.Errorf("a client that sends no more: %s", res.Status)
	}
	if status := send("", bytes.NewReader([]byte(honest))).StatusCode; status != http.StatusOK {
		t.Errorf("the same connection afterwards: %d", status)
	}
}

// It is disconnected, and leaves nothing: its page is larger than the system's buffers.
func TestAClientThatDoesNotReadIsCut(t *testing.T) {
	a, err := api.New(api.Options{UI: true, Options: handler.Options{IdleTimeout: 300 * time.Millisecond}})
	if err != nil {
		t.Fatal(err)
	}
	s := httptest.NewServer(a)
	defer s.Close()
	file := manyTensors()
	c := unreading(t, s.Listener.Addr().String(), file)
	waitForPage(a, file)
	for a.Gate().Host().Load().Uploads > 0 {
		time.Sleep(time.Millisecond)
	}
	a.Close()
	c.Close()
}
