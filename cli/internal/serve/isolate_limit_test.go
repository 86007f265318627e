//go:build linux && !race

package serve_test

import (
	"bufio"
	"io"
	"net/http"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// A bug of ours that takes all memory, or all time, or that writes, ends the child by the
// limits of its process, and one upload with an answer; the service goes on. The race
// detector takes address space of its own, which such a limit does not leave it.
func TestAChildBeyondItsLimitsEndsOneUpload(t *testing.T) {
	dir := t.TempDir()
	policy := filepath.Join(dir, "policy.json")
	write(t, policy, `{"timeout": "5s", "max_total_bytes": 1048576}`)
	cmd := process(t, "serve", "--listen", "localhost:0", "--isolate", "--limits", policy, "--spool-dir", dir)
	log, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	address, lines := "", bufio.NewScanner(log)
	for address == "" && lines.Scan() {
		if _, rest, ok := strings.Cut(lines.Text(), "msg=listening address="); ok {
			address = rest
		}
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
	said := make(chan string, 1)
	go func() {
		text, _ := io.ReadAll(log)
		said <- string(text)
	}()
	large := strings.Repeat("x", 600<<10) // what is small has no file to write to
	ask := func(name, body string) (int, string) {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPut, "http://"+address+"/v1/check?name="+name, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		res, err := http.DefaultClient.Do(r)
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
	for _, c := range []struct {
		name   string
		status int
		text   string
	}{
		{"memory.pt", http.StatusInternalServerError, `"detail":"the file could not be judged"`},
		{"write.pt", http.StatusInternalServerError, `"detail":"the file could not be judged"`},
		{"time.pt", http.StatusRequestEntityTooLarge, `limit.time`},
	} {
		if status, text := ask(c.name, large); status != c.status || !strings.Contains(text, c.text) {
			t.Errorf("%s: %d %s", c.name, status, text)
		}
		if status, text := ask("m.safetensors", emptyTensor); status != http.StatusOK {
			t.Errorf("after %s: %d %s", c.name, status, text)
		}
	}
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	text := <-said
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
	for _, how := range []string{"out of memory", "bad file descriptor"} {
		if !strings.Contains(text, how) {
			t.Errorf("no child ended by %q:\n%s", how, text)
		}
	}
}
