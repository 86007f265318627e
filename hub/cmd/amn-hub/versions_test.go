package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/anamnesis-go/anamnesis/hub/hooks"
	"github.com/anamnesis-go/anamnesis/hub/internal/pgtest"
)

// databases runs a test on both.
func databases(t *testing.T, test func(t *testing.T, db string)) {
	t.Run("sqlite", func(t *testing.T) { test(t, filepath.Join(t.TempDir(), "hub.db")) })
	t.Run("postgres", func(t *testing.T) { test(t, pgtest.Start(t).Address()) })
}

// must runs a command that is to end with a code, and returns what it printed.
func must(t *testing.T, exit int, args ...string) string {
	t.Helper()
	got, out, errs := hub(t, args...)
	if got != exit {
		t.Fatalf("%q: exit %d, want %d\n%s\n%s", args, got, exit, out, errs)
	}
	return out
}

func folder(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

const evil = "cos\nsystem\n(S'id'\ntR."

// A policy is put, promoted for one tenant, and taken back; each run judges by what is in force.
func TestPoliciesByCommand(t *testing.T) {
	databases(t, func(t *testing.T, db string) {
		models := folder(t, map[string]string{"org/code/config.json": `{"model_type":"llama"}`, "org/code/setup.py": "print(1)\n"})
		run := func(exit int) string {
			t.Helper()
			return must(t, exit, "run", "--db", db, "--source", "acme="+models, "--source", "other="+models, "--json")
		}
		run(0)
		if out := must(t, 0, "policy", "put", "--db", db, "--note", "refuses code", "upload"); out != "version 1\n" {
			t.Errorf("%s", out)
		}
		must(t, 0, "policy", "put", "--db", db, "server")
		if out := must(t, 0, "policy", "diff", "--db", db, "1"); !strings.Contains(out, "ok to ") || !strings.Contains(out, "     1  tenant acme") {
			t.Errorf("%s", out)
		}
		if out := must(t, 0, "policy", "diff", "--db", db, "1", "2"); !strings.Contains(out, " to ok") || strings.Contains(out, "the same") {
			t.Errorf("%s", out)
		}
		must(t, 0, "policy", "promote", "--db", db, "--tenant", "acme", "--mode", "report", "--reason", "to look at it", "1")
		out := run(7)
		if strings.Count(out, `"accepted":true`) < 1 || !strings.Contains(out, `"mode":"report"`) || !strings.Contains(out, `"mode":"enforce"`) {
			t.Errorf("%s", out)
		}
		if out := must(t, 0, "events", "--db", db); strings.Contains(out, `"kind":"quarantine"`) {
			t.Errorf("a policy that only reports has quarantined:\n%s", out)
		}
		must(t, 0, "policy", "promote", "--db", db, "--tenant", "acme", "--reason", "it is right", "1")
		if out := must(t, 0, "policy", "list", "--db", db); !regexp.MustCompile(`(?m)^1 +\(all\) +[0-9a-f]{12} +acme enforce +refuses code$`).MatchString(out) {
			t.Errorf("%s", out)
		}
		if out := must(t, 7, "verdict", "--db", db, "--tenant", "acme", "org/code"); !strings.Contains(out, `"accepted":false`) {
			t.Errorf("%s", out)
		}
		must(t, 0, "verdict", "--db", db, "--tenant", "other", "org/code")
		for _, want := range []int{7, 0} {
			must(t, 0, "policy", "rollback", "--db", db, "--tenant", "acme", "--reason", "it was not")
			run(want)
		}
		must(t, 1, "policy", "rollback", "--db", db, "--tenant", "acme", "--reason", "further")
		must(t, 1, "policy", "promote", "--db", db, "--reason", "r", "99")
		must(t, 2, "policy", "promote", "--db", db, "1")
		if out := must(t, 0, "policy", "show", "--db", db, "1"); !json.Valid([]byte(out)) {
			t.Errorf("%s", out)
		}
	})
}

// An exception is for one content, and has a last day.
func TestExceptionsByCommand(t *testing.T) {
	databases(t, func(t *testing.T, db string) {
		models := folder(t, map[string]string{"m/model.bin": "\x00\x01 nobody knows"})
		must(t, 7, "run", "--db", db, "--source", models)
		line := must(t, 7, "verdict", "--db", db, "m")
		sum := regexp.MustCompile(`"sha256":"([0-9a-f]{64})"`).FindStringSubmatch(line)[1]
		day := time.Now().UTC().AddDate(0, 1, 0).Format(time.DateOnly)
		add := []string{"except", "add", "--db", db, "--rule", "detect.unknown", "--sha256", sum, "--reason", "we wrote it", "--expires"}
		must(t, 2, append(add, "2020-01-01")...)
		must(t, 2, append(add, "9999-01-01")...)
		must(t, 0, append(add, day)...)
		must(t, 0, "run", "--db", db, "--source", models)
		if out := must(t, 0, "except", "list", "--db", db); !strings.Contains(out, "granted") || !strings.Contains(out, day) {
			t.Errorf("%s", out)
		}
		must(t, 0, "except", "revoke", "--db", db, "--answer", "it was wrong", "1")
		must(t, 7, "run", "--db", db, "--source", models)
		must(t, 1, "except", "revoke", "--db", db, "--answer", "again", "1")
	})
}

// Every verdict is exported, one a line; what a tenant had is forgotten by command.
func TestExportRetainErase(t *testing.T) {
	databases(t, func(t *testing.T, db string) {
		models := folder(t, map[string]string{"good/config.json": `{"model_type":"llama"}`, "evil/model.pkl": evil})
		must(t, 7, "run", "--db", db, "--source", "a="+models, "--source", "b="+models)
		lines := strings.Split(strings.TrimSpace(must(t, 0, "export", "--db", db)), "\n")
		if len(lines) != 4 {
			t.Fatalf("%d lines", len(lines))
		}
		for _, line := range lines {
			var v struct {
				Schema, Tenant, Repo, Mode string
				Accepted, Current          bool
				Verdict                    map[string]any
			}
			if err := json.Unmarshal([]byte(line), &v); err != nil || v.Schema != "amn.revision/1" || v.Accepted != (v.Repo == "good") || !v.Current || v.Mode != "enforce" || v.Verdict["schema"] == nil {
				t.Errorf("%s: %v", line, err)
			}
		}
		blobs := t.TempDir()
		would := must(t, 0, "erase", "--db", db, "--blobs", blobs, "--tenant", "a", "--dry-run")
		if out := must(t, 0, "export", "--db", db); strings.Count(out, "\n") != 4 {
			t.Error("a dry run has erased")
		}
		if out := must(t, 0, "erase", "--db", db, "--blobs", blobs, "--tenant", "a"); strings.ReplaceAll(would, "would be ", "") != out {
			t.Errorf("%s\n%s", would, out)
		}
		if out := must(t, 0, "export", "--db", db); strings.Count(out, "\n") != 2 || strings.Contains(out, `"tenant":"a"`) {
			t.Errorf("%s", out)
		}
		must(t, 0, "retain", "--db", db, "--blobs", blobs, "--keep", "1ms")
		if out := must(t, 0, "export", "--db", db); strings.Count(out, "\n") != 2 {
			t.Errorf("the newest revisions are gone: %s", out)
		}
		if strings.Contains(db, "://") {
			must(t, 2, "erase", "--db", db, "--tenant", "a")
		}
	})
}

// Parts are looked for by as many processes, and are all repositories together.
func TestASweepInParts(t *testing.T) {
	files := map[string]string{}
	for i := range 20 {
		files[fmt.Sprintf("m%02d/config.json", i)] = `{"model_type":"llama"}`
	}
	files["evil/model.pkl"] = evil
	models := folder(t, files)
	databases(t, func(t *testing.T, db string) {
		total := 0
		for i := range 3 {
			n := strings.Count(must(t, 0, "run", "--db", db, "--source", models, "--sweep", "--json", "--part", fmt.Sprintf("%d/3", i)), "\n")
			if n == 0 || n == 21 {
				t.Errorf("part %d has %d", i, n)
			}
			total += n
		}
		if total != 21 {
			t.Errorf("%d repositories in all parts", total)
		}
		for _, bad := range []string{"3/3", "x", "1", "-1/3", "0/0"} {
			must(t, 2, "run", "--db", db, "--source", models, "--part", bad)
		}
	})
}

// service starts the program as a process, and returns its address.
func service(t *testing.T, args ...string) (*exec.Cmd, string, *sync.Mutex, *strings.Builder) {
	t.Helper()
	program := filepath.Join(t.TempDir(), "amn-hub.exe")
	if out, err := exec.Command("go", "build", "-o", program, ".").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	cmd := exec.Command(program, append([]string{"run", "--listen", "127.0.0.1:0"}, args...)...)
	cmd.Env = append(os.Environ(), "HOOK_SECRET=a secret of some thirty letters")
	says, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cmd.Process.Kill() })
	address := make(chan string, 1)
	var mu sync.Mutex
	var log strings.Builder
	go func() {
		for lines := bufio.NewScanner(says); lines.Scan(); {
			mu.Lock()
			log.WriteString(lines.Text() + "\n")
			mu.Unlock()
			if m := regexp.MustCompile(`address=(\S+)`).FindStringSubmatch(lines.Text()); m != nil {
				address <- m[1]
			}
		}
		close(address)
	}()
	at, ok := <-address
	if !ok {
		t.Fatalf("it does not listen:\n%s", log.String())
	}
	return cmd, at, &mu, &log
}

// A signal ends a service while a client sends a content and never comes to its end; the service
// ends by itself, with 0, and what waited is judged by the next one.
func TestASignalEndsAService(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the system lacks SIGTERM")
	}
	databases(t, func(t *testing.T, db string) {
		blobs := filepath.Join(t.TempDir(), "blobs")
		models := folder(t, map[string]string{"m/config.json": `{"model_type":"llama"}`})
		cmd, address, mu, log := service(t, "--db", db, "--blobs", blobs, "--source", models, "--watch", "1h")
		read, write := io.Pipe()
		defer write.Close()
		sent := make(chan struct{})
		go func() {
			write.Write([]byte("begun"))
			close(sent)
		}()
		r, err := http.NewRequest("PUT", "http://"+address+"/v1/blobs/"+strings.Repeat("0", 64), read)
		if err != nil {
			t.Fatal(err)
		}
		r.ContentLength = 1 << 20
		answered := make(chan error, 1)
		go func() {
			resp, err := http.DefaultClient.Do(r)
			if err == nil {
				if resp.StatusCode < 400 {
					err = fmt.Errorf("it is taken: %d", resp.StatusCode)
				}
				resp.Body.Close()
				answered <- err
				return
			}
			answered <- nil
		}()
		<-sent
		began := time.Now()
		if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
			t.Fatal(err)
		}
		if err := cmd.Wait(); err != nil {
			mu.Lock()
			defer mu.Unlock()
			t.Fatalf("%v\n%s", err, log)
		}
		t.Logf("it ended after %v", time.Since(began).Round(100*time.Millisecond))
		write.CloseWithError(io.ErrUnexpectedEOF)
		if err := <-answered; err != nil {
			t.Error(err)
		}
		if out := must(t, 0, "run", "--db", db, "--source", models); !strings.Contains(out, "1 accepted, 0 refused, 0 parked") {
			t.Errorf("%s", out)
		}
	})
}

// A service tells a hook of a refusal, and looks at a source when a message says so.
func TestHooksOfAService(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the system lacks SIGTERM")
	}
	databases(t, func(t *testing.T, db string) {
		key := hooks.Key{Secret: []byte("a secret of some thirty letters")}
		told := make(chan string, 100)
		receiver := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			body, _ := io.ReadAll(r.Body)
			if _, err := key.Verify(r.Header, time.Now(), body); err != nil {
				t.Error(err)
			}
			told <- string(body)
		}))
		defer receiver.Close()
		models := folder(t, map[string]string{"good/config.json": `{"model_type":"llama"}`})
		config := filepath.Join(t.TempDir(), "hooks.json")
		text, _ := json.Marshal(map[string]any{
			"out": []any{map[string]any{"name": "quarantine", "url": receiver.URL, "events": []string{"quarantine"}, "secret_env": "HOOK_SECRET"}},
			"in":  []any{map[string]any{"name": "store", "kind": "s3", "tenant": "local", "source": models, "secret_env": "HOOK_SECRET"}},
		})
		if err := os.WriteFile(config, text, 0o600); err != nil {
			t.Fatal(err)
		}
		cmd, address, mu, log := service(t, "--db", db, "--blobs", filepath.Join(t.TempDir(), "blobs"), "--hooks", config)
		if err := os.MkdirAll(filepath.Join(models, "evil"), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(models, "evil", "model.pkl"), []byte(evil), 0o644); err != nil {
			t.Fatal(err)
		}
		r, err := http.NewRequest("POST", "http://"+address+"/v1/incoming/store", strings.NewReader(`{"Records":[{"s3":{"bucket":{"name":"b"},"object":{"key":"k","sequencer":"1"}}}]}`))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Authorization", "Bearer a secret of some thirty letters")
		resp, err := http.DefaultClient.Do(r)
		if err != nil || resp.StatusCode != http.StatusAccepted {
			t.Fatal(resp, err)
		}
		resp.Body.Close()
		select {
		case body := <-told:
			if !strings.Contains(body, `"kind":"quarantine"`) || !strings.Contains(body, `"repo":"evil"`) || !strings.Contains(body, `"class":"forbidden"`) {
				t.Errorf("%s", body)
			}
		case <-time.After(time.Minute):
			mu.Lock()
			t.Errorf("the hook is not told\n%s", log)
			mu.Unlock()
		}
		cmd.Process.Signal(syscall.SIGTERM)
		cmd.Wait()
	})
}
