package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

func TestMain(m *testing.M) {
	if len(os.Args) == 2 && os.Args[1] == "child" { // of a second attempt
		os.Exit(run(context.Background(), os.Args[1:], streams{os.Stdin, os.Stdout, os.Stderr}))
	}
	os.Exit(m.Run())
}

func hub(t *testing.T, args ...string) (exit int, out, errs string) {
	t.Helper()
	var o, e bytes.Buffer
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	exit = run(ctx, args, streams{strings.NewReader(""), &o, &e})
	return exit, o.String(), e.String()
}

// The command of README.
func TestASweepOfTestdata(t *testing.T) {
	db := filepath.Join(t.TempDir(), "hub.db")
	exit, out, errs := hub(t, "run", "--db", db, "--source", filepath.Join("..", "..", "..", "testdata"))
	if exit != 7 || !strings.Contains(out, "REPOSITORY") || !regexp.MustCompile(`\n\d+ accepted, \d+ refused, 0 parked\n`).MatchString(out) {
		t.Fatalf("exit %d\n%s\n%s", exit, out, errs)
	}
	judged := strings.Count(errs, "msg=judged")
	// Nothing has changed, so nothing is judged again.
	again, out2, errs := hub(t, "run", "--db", db, "--source", filepath.Join("..", "..", "..", "testdata"))
	if again != 7 || out2 != out || judged == 0 || strings.Contains(errs, "msg=judged") {
		t.Errorf("exit %d, %d judged before\n%s\n%s", again, judged, out2, errs)
	}
	if exit, out, errs := hub(t, "verdict", "--db", db, "pth"); exit != 7 || !json.Valid([]byte(out)) {
		t.Errorf("verdict: %d %s %s", exit, out, errs)
	}
	if exit, out, _ := hub(t, "verdict", "--db", db, "safetensors"); exit != 0 || !strings.Contains(out, `"accepted":true`) {
		t.Errorf("verdict: %d %s", exit, out)
	}
	if exit, _, errs := hub(t, "verdict", "--db", db, "nobody"); exit != 1 || !strings.Contains(errs, "nothing is known") {
		t.Errorf("verdict: %d %s", exit, errs)
	}
	if exit, out, _ := hub(t, "status", "--db", db); exit != 0 || !strings.Contains(out, "local") {
		t.Errorf("status: %d %s", exit, out)
	}
	exit, out, _ = hub(t, "events", "--db", db)
	if n := strings.Count(out, `"kind":"judged"`); exit != 0 || n != judged {
		t.Errorf("%d events of %d verdicts", n, judged)
	}
	if exit, out, _ := hub(t, "rejudge", "--db", db, "--dry-run"); exit != 0 || out != "0 would be judged again\n" {
		t.Errorf("rejudge: %d %s", exit, out)
	}
	if exit, out, _ := hub(t, "rejudge", "--db", db, "--limits", "strict", "--dry-run"); exit != 0 || !strings.HasPrefix(out, fmt.Sprintf("%d would be judged again\n%6d  by another policy\n", judged, judged)) {
		t.Errorf("rejudge: %d %s", exit, out)
	}
}

// What another policy would change is told without the files, and is what then happens.
func TestAPolicyIsComparedBeforeItIsTaken(t *testing.T) {
	dir := t.TempDir()
	db, models := filepath.Join(dir, "hub.db"), filepath.Join(dir, "models")
	for name, text := range map[string]string{
		"org/code/config.json": `{"model_type":"llama"}`, "org/code/setup.py": "print(1)\n",
		"org/plain/config.json": `{"model_type":"llama"}`,
	} {
		path := filepath.Join(models, name)
		os.MkdirAll(filepath.Dir(path), 0o755)
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if exit, out, errs := hub(t, "run", "--db", db, "--source", models, "--limits", "server"); exit != 0 {
		t.Fatalf("%d %s %s", exit, out, errs)
	}
	if err := os.Rename(models, models+".away"); err != nil {
		t.Fatal(err)
	}
	exit, out, errs := hub(t, "policy", "diff", "--db", db, "upload")
	if exit != 0 || !strings.Contains(out, "org/code") || strings.Contains(out, "org/plain") || !strings.Contains(out, "1  the same") {
		t.Errorf("%d %s %s", exit, out, errs)
	}
	if exit, same, _ := hub(t, "policy", "diff", "--db", db, "server"); exit != 0 || same != "     2  the same\n" {
		t.Errorf("%d %s", exit, same)
	}
	exit, line, _ := hub(t, "policy", "diff", "--db", db, "--json", "upload")
	var c change
	if err := json.Unmarshal([]byte(line), &c); exit != 0 || err != nil || c.Repo != "org/code" || c.Before != "ok" || len(c.Rules) == 0 {
		t.Errorf("%d %s %v", exit, line, err)
	}
	if err := os.Rename(models+".away", models); err != nil {
		t.Fatal(err)
	}
	hub(t, "rejudge", "--db", db, "--limits", "upload")
	exit, out, errs = hub(t, "run", "--db", db, "--source", models, "--limits", "upload")
	if exit != 7 || !strings.Contains(out, c.After) || !strings.Contains(out, "1 accepted, 1 refused") {
		t.Errorf("%d %s %s", exit, out, errs)
	}
}

// A change of a file is another revision, which is judged; the old verdict stays that of the old.
func TestAChangeIsJudged(t *testing.T) {
	dir := t.TempDir()
	db, models := filepath.Join(dir, "hub.db"), filepath.Join(dir, "models")
	write := func(name, text string) {
		path := filepath.Join(models, name)
		os.MkdirAll(filepath.Dir(path), 0o755)
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write("org/good/config.json", `{"model_type":"llama"}`)
	if exit, out, errs := hub(t, "run", "--db", db, "--source", "acme="+models); exit != 0 || !strings.Contains(out, "org/good") {
		t.Fatalf("%d %s %s", exit, out, errs)
	}
	write("org/good/extra.pkl", "cos\nsystem\n(S'id'\ntR.")
	if exit, out, errs := hub(t, "run", "--db", db, "--source", "acme="+models); exit != 7 || !strings.Contains(out, "forbidden") {
		t.Errorf("%d %s %s", exit, out, errs)
	}
	if exit, out, _ := hub(t, "verdict", "--db", db, "--tenant", "acme", "org/good"); exit != 7 || !strings.Contains(out, `"accepted":false`) {
		t.Errorf("the newest revision: %d %s", exit, out)
	}
}

func TestWrongUsage(t *testing.T) {
	db := filepath.Join(t.TempDir(), "hub.db")
	for _, args := range [][]string{
		{}, {"fly"}, {"run", "--db", db}, {"run", "--db", db, "--source", ".", "--limits", "nobody"}, {"run", "--db", db, "--source", ".", "--timeout", "0s"},
		{"run", "--db", db, "--source", ".", "--memory", "x"}, {"run", "--db", db, "--source", ".", "--workers=-1"},
		{"run", "--db", db, "--listen", "0.0.0.0:0"}, {"run", "--db", db, "--listen", "127.0.0.1:0", "--tls-cert", "x"},
		{"run", "--db", "postgres://127.0.0.1:1/x", "--wait", "x", "--source", "."}, {"retry", "--db", db}, {"retry", "--db", db, "1", "--all"},
	} {
		if exit, _, errs := hub(t, args...); exit != 2 || errs == "" {
			t.Errorf("%q: exit %d, %s", args, exit, errs)
		}
	}
	for _, args := range [][]string{{"run", "--db", db, "--source", filepath.Join(t.TempDir(), "absent")}, {"run", "--db", "ftp://x", "--source", "."}, {"retry", "--db", db, "7"}} {
		if exit, _, errs := hub(t, args...); exit != 1 || errs == "" {
			t.Errorf("%q: exit %d, %s", args, exit, errs)
		}
	}
	if exit, out, _ := hub(t, "--help"); exit != 0 || !strings.Contains(out, "run") {
		t.Errorf("help: %d %s", exit, out)
	}
}

// A service answers, and an interrupt ends it.
func TestAServiceAnswers(t *testing.T) {
	dir := t.TempDir()
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan int)
	go func() {
		defer write.Close()
		done <- run(ctx, []string{"run", "--db", filepath.Join(dir, "hub.db"), "--listen", "127.0.0.1:0"}, streams{strings.NewReader(""), &bytes.Buffer{}, write})
	}()
	var address string
	lines := bufio.NewScanner(read)
	for lines.Scan() {
		if m := regexp.MustCompile(`address=(\S+)`).FindStringSubmatch(lines.Text()); m != nil {
			address = m[1]
			break
		}
	}
	go func() {
		for lines.Scan() {
		}
	}()
	resp, err := http.Get("http://" + address + "/readyz")
	if err != nil || resp.StatusCode != 200 {
		t.Errorf("%v %v", resp, err)
	}
	stop()
	select {
	case exit := <-done:
		if exit != 0 {
			t.Errorf("exit %d", exit)
		}
	case <-time.After(20 * time.Second):
		t.Error("it does not end")
	}
}
