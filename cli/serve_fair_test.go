//go:build unix

package cli_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// tinyMembers is a packed archive of many texts, which takes long to judge for its size.
func tinyMembers(t *testing.T) string {
	t.Helper()
	var out bytes.Buffer
	z := gzip.NewWriter(&out)
	w := tar.NewWriter(z)
	for i := range 7000 {
		if err := w.WriteHeader(&tar.Header{Name: fmt.Sprintf("t/%d.txt", i), Mode: 0o644, Size: 6}); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write([]byte("hello\n")); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

// While one tenant has 90 expensive uploads, those of another are judged. Before, it was answered
// with "busy" until the backlog was done.
func TestNinetyUploadsOfOneTenantDelayNoOther(t *testing.T) {
	tokens := filepath.Join(t.TempDir(), "tokens")
	if err := os.WriteFile(tokens, []byte("token-of-tenant-one\ntoken-of-tenant-two\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	s := startService(t, "--tokens", tokens, "--drain", "100ms")
	defer func() { s.Process.Kill(); s.Wait() }() // its backlog need not be judged
	dear, client := tinyMembers(t), &http.Client{}
	for range 90 {
		go func() {
			r, err := http.NewRequestWithContext(t.Context(), http.MethodPut, "http://"+s.addr+"/v1/check", strings.NewReader(dear))
			if err != nil {
				t.Error(err)
				return
			}
			r.Header.Set("Authorization", "Bearer token-of-tenant-one")
			if res, err := client.Do(r); err == nil { // the service is killed
				res.Body.Close()
			}
		}()
	}
	waiting := func() int {
		n := 0
		fmt.Sscan(s.metric(t, client, "token-of-tenant-two", "anamnesis_waiting"), &n)
		return n
	}
	for waiting() < 40 {
	}
	for range 3 {
		if status := s.check(t, client, "token-of-tenant-two", "\x02\x00\x00\x00\x00\x00\x00\x00{}"); status != http.StatusOK {
			t.Errorf("the other tenant: %d", status)
		}
	}
	if waiting() < 10 {
		t.Errorf("%d files of the first tenant waited when those of the other one were judged", waiting())
	}
}
