//go:build unix

package cli_test

import (
	"bufio"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/binary"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// A transport is a way in which a client speaks to a service.
type transport struct {
	name, scheme string
	client       *http.Client
	tls          *tls.Config
	flags        []string // of the service
}

// transports are HTTP/1.1, and HTTP/2 over TLS.
func transports(t *testing.T) []transport {
	t.Helper()
	dir := t.TempDir()
	cert, key := certificate(t, 1)
	write(t, filepath.Join(dir, "tls.pem"), cert)
	write(t, filepath.Join(dir, "tls.key"), key)
	known := x509.NewCertPool()
	known.AppendCertsFromPEM([]byte(cert))
	config := &tls.Config{RootCAs: known, ServerName: "localhost", NextProtos: []string{"h2"}}
	two := &http.Transport{TLSClientConfig: config, Protocols: new(http.Protocols)}
	two.Protocols.SetHTTP2(true)
	t.Cleanup(two.CloseIdleConnections)
	return []transport{
		{name: "HTTP/1.1", scheme: "http", client: http.DefaultClient},
		{"HTTP/2", "https", &http.Client{Transport: two}, config, []string{"--tls-cert", filepath.Join(dir, "tls.pem"), "--tls-key", filepath.Join(dir, "tls.key")}},
	}
}

// put sends a file, and returns the status and the answer.
func (by transport) put(t *testing.T, address, query, data string) (int, string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPut, by.scheme+"://"+address+"/v1/check?"+query, strings.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	res, err := by.client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	answer, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	if res.Proto != by.name && res.Proto != by.name+".0" {
		t.Errorf("the service speaks %s, not %s", res.Proto, by.name)
	}
	return res.StatusCode, string(answer)
}

// Kinds and flags of frames of HTTP/2 (RFC 9113, section 6).
const (
	frameData, frameHeaders, frameReset, frameSettings, frameGoAway = 0, 1, 3, 4, 7

	endStream, endHeaders = 1, 4
)

func frameOf(kind, flags byte, stream uint32, payload string) string {
	n := len(payload)
	return string([]byte{byte(n >> 16), byte(n >> 8), byte(n), kind, flags}) + string(binary.BigEndian.AppendUint32(nil, stream)) + payload
}

// asks is the preface of a client and the header of an upload, whose fields are literals that are not
// indexed. A length below zero is not stated.
func asks(name string, length int, flags byte) string {
	fields := [][2]string{{":method", "PUT"}, {":scheme", "https"}, {":path", "/v1/check?name=" + name}, {":authority", "localhost"}}
	if length >= 0 {
		fields = append(fields, [2]string{"content-length", fmt.Sprint(length)})
	}
	block := ""
	for _, f := range fields {
		block += "\x00" + string([]byte{byte(len(f[0]))}) + f[0] + string([]byte{byte(len(f[1]))}) + f[1]
	}
	return "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + frameOf(frameSettings, 0, 0, "") + frameOf(frameHeaders, endHeaders|flags, 1, block)
}

// isGood reports whether a block of fields begins with a status of 2xx, as RFC 7541 writes it: an index
// of the static table, or a literal of its name.
func isGood(block string) bool {
	switch {
	case block == "":
		return false
	case block[0] >= 0x88 && block[0] <= 0x8a: // 200, 204, 206
		return true
	case len(block) < 3 || block[0]&0x0f != 8 || block[0]&0x80 != 0 && block[0] != 0x88:
		return false
	case block[1]&0x80 == 0: // as it is
		return block[2] == '2'
	}
	return block[2]>>3 == 0b00010 // a two of the code of Huffman
}

// answerOf reads the answer of the first stream: whether its status is good, what it says, and whether
// all of it came. One that breaks off before its end, as it may where the client has left, says nothing.
func answerOf(in io.Reader) (good bool, text string, whole bool) {
	r, head := bufio.NewReader(in), make([]byte, 9)
	for {
		if _, err := io.ReadFull(r, head); err != nil {
			return good, text, false
		}
		payload := make([]byte, int(head[0])<<16|int(head[1])<<8|int(head[2]))
		if _, err := io.ReadFull(r, payload); err != nil {
			return good, text, false
		}
		if binary.BigEndian.Uint32(head[5:]) != 1 {
			continue
		}
		switch head[3] {
		case frameHeaders:
			good = good || isGood(string(payload))
		case frameData:
			text += string(payload)
		case frameReset:
			return good, text, false
		}
		if head[4]&endStream != 0 && head[3] <= frameHeaders {
			return good, text, true
		}
	}
}

// A stream of HTTP/2 ends in many ways. Only one that ended as its client said has an acceptance, which
// is of all of its bytes.
func TestAStreamThatBreaksIsNotAccepted(t *testing.T) {
	const honest = "\x02\x00\x00\x00\x00\x00\x00\x00{}"
	two := transports(t)[1]
	address := serving(t, two.flags...)
	reset := func(stream uint32) string { return frameOf(frameReset, 0, stream, "\x00\x00\x00\x08") }
	goAway := frameOf(frameGoAway, 0, 0, "\x00\x00\x00\x00\x00\x00\x00\x00")
	part := len(honest) - 3
	for _, tc := range []struct {
		name       string
		text       func(file, data string) string
		closeWrite bool
		whole      bool // the service has all of the file
	}{
		{"whole", func(f, d string) string { return asks(f, len(d), 0) + frameOf(frameData, endStream, 1, d) }, false, true},
		{"no length", func(f, d string) string { return asks(f, -1, 0) + frameOf(frameData, endStream, 1, d) }, false, true},
		{"in pieces", func(f, d string) string {
			return asks(f, len(d), 0) + frameOf(frameData, 0, 1, d[:3]) + frameOf(frameData, 0, 1, "") + frameOf(frameData, 0, 1, d[3:]) + frameOf(frameData, endStream, 1, "")
		}, false, true},
		{"whole, then a half close", func(f, d string) string { return asks(f, len(d), 0) + frameOf(frameData, endStream, 1, d) }, true, true},
		{"no end, then a half close", func(f, d string) string { return asks(f, len(d), 0) + frameOf(frameData, 0, 1, d) }, true, false},
		{"no end and no length, then a half close", func(f, d string) string { return asks(f, -1, 0) + frameOf(frameData, 0, 1, d) }, true, false},
		{"a part, then a half close", func(f, d string) string { return asks(f, len(d), 0) + frameOf(frameData, 0, 1, d[:3]) }, true, false},
		{"a part, reset", func(f, d string) string { return asks(f, len(d), 0) + frameOf(frameData, 0, 1, d[:3]) + reset(1) }, false, false},
		{"no length, a part, reset", func(f, d string) string { return asks(f, -1, 0) + frameOf(frameData, 0, 1, d[:3]) + reset(1) }, false, false},
		{"no length, all but the end, reset", func(f, d string) string { return asks(f, -1, 0) + frameOf(frameData, 0, 1, d) + reset(1) }, false, false},
		{"whole, reset", func(f, d string) string {
			return asks(f, len(d), 0) + frameOf(frameData, endStream, 1, d) + reset(1)
		}, false, true},
		{"reset before its body", func(f, d string) string { return asks(f, len(d), 0) + reset(1) + frameOf(frameData, endStream, 1, d) }, false, false},
		{"a part, GOAWAY, a half close", func(f, d string) string { return asks(f, len(d), 0) + frameOf(frameData, 0, 1, d[:3]) + goAway }, true, false},
		{"no length, a part, GOAWAY, a half close", func(f, d string) string { return asks(f, -1, 0) + frameOf(frameData, 0, 1, d[:3]) + goAway }, true, false},
		{"GOAWAY, then the rest", func(f, d string) string {
			return asks(f, len(d), 0) + frameOf(frameData, 0, 1, d[:3]) + goAway + frameOf(frameData, endStream, 1, d[3:])
		}, false, true},
		{"whole, GOAWAY", func(f, d string) string {
			return asks(f, len(d), 0) + frameOf(frameData, endStream, 1, d) + goAway
		}, false, true},
		{"longer than its length", func(f, d string) string { return asks(f, part, 0) + frameOf(frameData, endStream, 1, d) }, false, false},
		{"longer than its length, in pieces", func(f, d string) string {
			return asks(f, part, 0) + frameOf(frameData, 0, 1, d[:part]) + frameOf(frameData, endStream, 1, d[part:])
		}, false, false},
		{"shorter than its length", func(f, d string) string { return asks(f, len(d)+1, 0) + frameOf(frameData, endStream, 1, d) }, false, false},
		{"shorter than its length, in pieces", func(f, d string) string {
			return asks(f, len(d)+1, 0) + frameOf(frameData, 0, 1, d) + frameOf(frameData, endStream, 1, "")
		}, false, false},
		{"a length and no body", func(f, d string) string { return asks(f, len(d), endStream) }, false, false},
		{"no body", func(f, _ string) string { return asks(f, -1, endStream) }, false, false},
		{"a length of none, and a body", func(f, d string) string { return asks(f, 0, 0) + frameOf(frameData, endStream, 1, d) }, false, false},
		{"trailers", func(f, d string) string {
			return asks(f, len(d), 0) + frameOf(frameData, 0, 1, d) + frameOf(frameHeaders, endHeaders|endStream, 1, "\x00\x01a\x01b")
		}, false, true},
		{"a part, trailers", func(f, d string) string {
			return asks(f, len(d), 0) + frameOf(frameData, 0, 1, d[:3]) + frameOf(frameHeaders, endHeaders|endStream, 1, "\x00\x01a\x01b")
		}, false, false},
		{"no preface", func(f, d string) string {
			return asks(f, len(d), 0)[len("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"):] + frameOf(frameData, endStream, 1, d)
		}, true, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			for _, file := range []struct {
				name, data string
				honest     bool
			}{{"m.safetensors", honest, true}, {"m.pkl", runsCode, false}} {
				for range 5 {
					c, err := tls.Dial("tcp", address, two.tls)
					if err != nil {
						t.Fatal(err)
					}
					if err := c.SetDeadline(time.Now().Add(30 * time.Second)); err != nil {
						t.Fatal(err)
					}
					_, _ = io.WriteString(c, tc.text(file.name, file.data)) // an error means that the service has ended it
					if tc.closeWrite {
						_ = c.CloseWrite()
					}
					resets := strings.Contains(tc.name, "reset")
					if resets { // there is no answer to wait for
						_ = c.SetReadDeadline(time.Now().Add(200 * time.Millisecond))
					}
					good, text, ended := answerOf(c)
					c.Close()
					switch {
					case good && (!tc.whole || !file.honest):
						t.Errorf("%s: accepted: %q", file.name, text)
					case good && ended && !strings.Contains(text, fmt.Sprintf(`"acceptance":{"sha256":"%x"`, sha256.Sum256([]byte(file.data)))):
						t.Errorf("%s: a good status without an acceptance of its bytes: %q", file.name, text)
					case !good && strings.Contains(text, `"accepted":true`):
						t.Errorf("%s: a bad status with an acceptance: %q", file.name, text)
					case tc.whole && !tc.closeWrite && !resets && (!ended || good != file.honest):
						t.Errorf("%s: a whole answer: %v; its status is good: %v; %q", file.name, ended, good, text)
					}
				}
			}
		})
	}
	if status, text := two.put(t, address, "name=m.safetensors", honest); status != http.StatusOK {
		t.Errorf("afterwards: %d %s", status, text)
	}
}

// isGood knows each status, in each form in which Go writes it.
func TestGoodStatusIsRead(t *testing.T) {
	for block, want := range map[string]bool{
		"\x88": true, "\x89": true, "\x8a": true, "\x8b": false, "\x8c": false, "\x8d": false, "\x8e": false, "": false,
		"\x48\x03201": true, "\x08\x03202": true, "\x18\x03299": true, "\x48\x03403": false, "\x48\x03503": false,
		"\x48\x82\x10\x01": true,  // 201
		"\x48\x82\x64\x0a": false, // 429 begins with 011010
	} {
		if got := isGood(block); got != want {
			t.Errorf("%x: %v", block, got)
		}
	}
}
