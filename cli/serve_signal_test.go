//go:build unix

package cli_test

import (
	"bufio"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// A running is a process that serves, and its log.
type running struct {
	*exec.Cmd

	addr  string
	lines chan string
}

// startService starts the program as it is built, with its sandbox.
func startService(t *testing.T, args ...string) *running {
	t.Helper()
	s := &running{Cmd: exec.CommandContext(t.Context(), filepath.Join(built(t), "amn"), append([]string{"serve", "--listen", "localhost:0"}, args...)...), lines: make(chan string, 1000)}
	log, err := s.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		defer close(s.lines)
		for in := bufio.NewScanner(log); in.Scan(); {
			s.lines <- in.Text()
		}
	}()
	_, s.addr, _ = strings.Cut(s.says(t, "msg=listening address="), "address=")
	s.says(t, "msg=sandbox")
	return s
}

// says waits for a line of the log.
func (s *running) says(t *testing.T, what string) string {
	t.Helper()
	for {
		select {
		case line, ok := <-s.lines:
			if !ok {
				t.Fatalf("the service ended without %q", what)
			}
			if strings.Contains(line, what) {
				return line
			}
		case <-time.After(time.Minute):
			t.Fatalf("the service does not say %q", what)
		}
	}
}

// check sends a file with a token and returns the status.
func (s *running) check(t *testing.T, client *http.Client, token, data string) int {
	t.Helper()
	scheme := "http"
	if client.Transport != nil {
		scheme = "https"
	}
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPut, scheme+"://"+s.addr+"/v1/check?name=m.safetensors", strings.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+token)
	res, err := client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	if _, err := io.Copy(io.Discard, res.Body); err != nil {
		t.Fatal(err)
	}
	return res.StatusCode
}

// metric returns one of the counts.
func (s *running) metric(t *testing.T, client *http.Client, token, name string) string {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+s.addr+"/metrics", nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+token)
	res, err := client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(text), "\n"+name+" ")
	value, _, _ := strings.Cut(rest, "\n")
	return value
}

// SIGTERM ended a service after 30 s, or 36, when clients were stuck.
func TestSIGTERMDoesNotWaitForStuckClients(t *testing.T) {
	s := startService(t, "--drain", "500ms", "--idle", "1h", "--min-rate", "0", "--ui")
	for _, text := range []string{
		"", // nothing, not even a header
		"PUT /v1/check HTTP/1.1\r\nHo",
		"PUT /v1/check HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\nabc",
		"PUT /v1/check HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n",
		strings.Repeat("GET / HTTP/1.1\r\nHost: x\r\n\r\n", 20_000), // and it reads no answer
	} {
		c, err := net.Dial("tcp", s.addr)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		go io.WriteString(c, text) // the last one cannot send it all
	}
	for s.metric(t, http.DefaultClient, "", "anamnesis_uploads") != "2" { // until the bodies arrive
		time.Sleep(time.Millisecond)
	}
	began := time.Now()
	if err := s.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	for range s.lines { // to the end
	}
	if err := s.Wait(); err != nil || time.Since(began) > 20*time.Second {
		t.Errorf("it ended after %v: %v", time.Since(began), err)
	}
}

// SIGHUP ended a service. It reads policy, tokens and certificate again, also those that
// were replaced by other files, in a locked process; or none of them.
func TestSIGHUPReloadsAllOrNothing(t *testing.T) {
	dir := t.TempDir()
	path := func(name string) string { return filepath.Join(dir, name) }
	// A file is replaced by another one, as editors do.
	write := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(path("new"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(path("new"), path(name)); err != nil {
			t.Fatal(err)
		}
	}
	cert, key := certificate(t, 1)
	write("policy.json", `{}`)
	write("tokens", "token-one-of-two\n")
	write("cert.pem", cert)
	write("key.pem", key)
	s := startService(t, "--limits", path("policy.json"), "--tokens", path("tokens"), "--tls-cert", path("cert.pem"), "--tls-key", path("key.pem"), "--drain", "500ms")
	// Each request has a connection of its own, since a certificate is that of a connection.
	serial := int64(0)
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true, TLSClientConfig: &tls.Config{
		InsecureSkipVerify: true, VerifyConnection: func(c tls.ConnectionState) error { serial = c.PeerCertificates[0].SerialNumber.Int64(); return nil },
	}}}
	const honest = "\x02\x00\x00\x00\x00\x00\x00\x00{}"
	state := func() string {
		return fmt.Sprint(s.check(t, client, "token-one-of-two", honest), s.check(t, client, "token-two-of-two", honest), serial)
	}
	hangup := func(says string) string {
		t.Helper()
		if err := s.Process.Signal(syscall.SIGHUP); err != nil {
			t.Fatal(err)
		}
		return s.says(t, says)
	}
	if got := state(); got != "200 401 1" {
		t.Fatalf("at first: %s", got)
	}
	cert2, key2 := certificate(t, 2)
	write("tokens", "token-two-of-two\n")
	for what, text := range map[string]string{"a broken policy": `{"fail_on": "sometimes"}`, "no JSON": `{`, "": ""} {
		write("policy.json", text)
		if line := hangup("not reloaded"); !strings.Contains(line, "level=ERROR") || !strings.Contains(line, "policy.json") {
			t.Errorf("%s: %s", what, line)
		}
		if got := state(); got != "200 401 1" {
			t.Errorf("after %s: %s", what, got)
		}
	}
	write("policy.json", `{"formats": ["gguf"]}`)
	write("cert.pem", cert2) // without its key
	hangup("not reloaded")
	if got := state(); got != "200 401 1" {
		t.Errorf("after a certificate without its key: %s", got)
	}
	write("key.pem", key2)
	if line := hangup("msg=reloaded"); !strings.Contains(line, "policy=") || !strings.Contains(line, "tokens=1") {
		t.Error(line)
	}
	if got := state(); got != "401 403 2" {
		t.Errorf("after all: %s", got)
	}
	if err := os.Remove(path("tokens")); err != nil {
		t.Fatal(err)
	}
	hangup("not reloaded")
	if got := state(); got != "401 403 2" {
		t.Errorf("after the tokens are gone: %s", got)
	}
	write("tokens", "token-two-of-two\n")
	write("policy.json", `{}`)
	hangup("msg=reloaded")
	if got := state(); got != "401 200 2" {
		t.Errorf("after the first policy again: %s", got)
	}
	if err := s.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	for range s.lines {
	}
	if err := s.Wait(); err != nil {
		t.Error(err)
	}
}

// certificate returns a certificate and its key in PEM.
func certificate(t *testing.T, serial int64) (cert, key string) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	tmpl := &x509.Certificate{SerialNumber: big.NewInt(serial), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), DNSNames: []string{"localhost"}}
	der, err := x509.CreateCertificate(rand.Reader, tmpl, tmpl, &private.PublicKey, private)
	if err != nil {
		t.Fatal(err)
	}
	secret, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	block := func(kind string, data []byte) string {
		return string(pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: data}))
	}
	return block("CERTIFICATE", der), block("PRIVATE KEY", secret)
}
