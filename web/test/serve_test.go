package test

import (
	"bufio"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// service starts amn serve --ui on a free port, and gives its address.
func service(t *testing.T, flags ...string) string {
	t.Helper()
	program := filepath.Join(t.TempDir(), "amn")
	build := exec.Command("go", "build", "-o", program, "./cli/amn")
	build.Dir = filepath.Join("..", "..")
	if text, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	cmd := exec.Command(program, append([]string{"serve", "--ui", "--listen", "localhost:0"}, flags...)...)
	log, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	lines := bufio.NewScanner(log)
	for lines.Scan() {
		if m := regexp.MustCompile(`msg=listening address=(\S+)`).FindStringSubmatch(lines.Text()); m != nil {
			go func() {
				for lines.Scan() { // so that it never waits for a reader
				}
			}()
			return m[1]
		}
	}
	t.Fatal("the service says no address")
	return ""
}

// The page of a service shows the view that the page without one shows.
func TestThePageOfAService(t *testing.T) {
	b := chromium(t)
	address := service(t)
	b.open("http://" + address + "/")
	for _, c := range []struct{ name, path, verdict, has string }{
		{"checkpoint", demo + "checkpoint.pt", "Accepted", "embed.weight"},
		{"gguf", demo + "tiny.gguf", "Accepted", "general.architecture"},
		{"evil", evil(t), "Refused", "os.system"},
		{"cut", write(t, "cut.safetensors", []byte("\x00\x10\x00\x00\x00\x00\x00\x00{\"a\":")), "Refused", "truncated"},
	} {
		t.Run(c.name, func(t *testing.T) {
			b.t = t
			b.drop(c.path)
			if got := b.text("document.querySelector('.verdict strong').textContent"); got != c.verdict {
				t.Errorf("%s, want %s", got, c.verdict)
			}
			if all := b.text("document.getElementById('view').textContent"); !strings.Contains(all, c.has) {
				t.Errorf("nothing of %s in %s", c.has, all)
			}
			b.shot("service-" + c.name)
		})
	}
	b.t = t
	// The status of a refusal is not that of success: the browser notes it in its console.
	for _, noted := range []string{`403 (Forbidden)","timestamp":`, `422 (Unprocessable Entity)","timestamp":`} {
		at := slices.IndexFunc(b.said, func(s string) bool {
			return strings.Contains(s, noted) && strings.Contains(s, "/v1/check?format=page&name=")
		})
		if at < 0 {
			t.Fatalf("no answer with %s among %q", noted, b.said)
		}
		b.said = slices.Delete(b.said, at, at+1)
	}
	b.quietBut("http://" + address + "/")
}

func TestThePageOfAServiceWithTokens(t *testing.T) {
	b := chromium(t)
	tokens := write(t, "tokens", []byte("a-secret-of-the-test\n"))
	if err := os.Chmod(tokens, 0o600); err != nil {
		t.Fatal(err)
	}
	address := service(t, "--tokens", tokens)
	b.open("http://" + address + "/")
	b.choose(demo + "tiny.gguf")
	b.until("document.getElementById('token')")
	b.eval(nil, "(() => { const i = document.getElementById('token'); i.value = 'a-secret-of-the-test'; i.nextElementSibling.click() })()")
	b.until("document.querySelector('.verdict strong')?.textContent === 'Accepted'")
}
