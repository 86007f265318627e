//go:build unix

package cli_test

import (
	"bytes"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/anamnesis-go/anamnesis/internal/effort"
)

// ends runs a program that must end by itself; one that waits is killed after a minute.
func ends(t *testing.T, cmd *exec.Cmd) result {
	t.Helper()
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	late := time.AfterFunc(time.Minute, func() { cmd.Process.Kill() })
	err := cmd.Wait()
	if !late.Stop() {
		t.Errorf("%q waits for ever", cmd.Args[1:])
	}
	return result{out.String(), errs.String(), exitCode(t, err)}
}

func fifo(t *testing.T, path string) string {
	t.Helper()
	os.Remove(path)
	if err := syscall.Mkfifo(path, 0o666); err != nil {
		t.Skip("no FIFO here: ", err)
	}
	return path
}

// A pipe, a folder or a device where a flag wants a file kept the program waiting for ever.
func TestAFlagThatNamesNoFileIsWrongUsage(t *testing.T) {
	bench, dir := newBench(t), t.TempDir()
	model := filepath.Join(dir, "model.safetensors")
	write(t, model, tensorOf("w", 1))
	if ok, r := bench.attest(t, model); !ok {
		t.Fatal(r.err)
	}
	pipe := fifo(t, filepath.Join(dir, "pipe"))
	for what, path := range map[string]string{"not a regular file": pipe, "is a folder": dir} {
		for _, args := range [][]string{
			{"verify", "--attestation", path, "--key", bench.public, model},
			{"verify", "--attestation", bench.statement, "--key", path, model},
			{"scan", "--attest", filepath.Join(dir, "new"), "--key", path, model},
			{"hash", "--check", path},
			{"scan", "--baseline", path, model},
			{"scan", "--files-from", path},
			{"scan", "--limits", path, model},
			{"policy", "check", path},
			{"serve", "--listen", "localhost:0", "--limits", path},
			{"serve", "--listen", "localhost:0", "--tokens", path},
			{"serve", "--listen", "localhost:0", "--tls-cert", path, "--tls-key", bench.key},
			{"serve", "--listen", "localhost:0", "--tls-cert", bench.public, "--tls-key", path},
			{"serve", "--listen", "localhost:0", "--receipt-key", path},
		} {
			if r := ends(t, process(t, args...)); r.code != 2 || !strings.Contains(strings.Join(strings.Fields(r.err), " "), what) {
				t.Errorf("%q: exit %d, %s%s", args, r.code, r.out, r.err)
			}
		}
	}
	if r := ends(t, process(t, "scan", "--baseline", "/dev/zero", model)); r.code != 2 {
		t.Errorf("a device: exit %d, %s", r.code, r.err)
	}
}

// A list may come through a pipe that the caller has open: /dev/stdin, or <(command).
func TestAListMayComeThroughAnOpenPipe(t *testing.T) {
	model := filepath.Join(t.TempDir(), "model.safetensors")
	write(t, model, tensorOf("w", 1))
	for _, path := range []string{"-", "/dev/stdin", "/dev/fd/3"} {
		if _, err := os.Stat("/dev/fd"); err != nil {
			t.Skip("no /dev/fd here: ", err)
		}
		r, w, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		cmd := process(t, "scan", "--sandbox", "off", "--files-from", path)
		cmd.Stdin, cmd.ExtraFiles = r, []*os.File{r}
		go func() {
			time.Sleep(20 * time.Millisecond) // it waits for one who writes late
			fmt.Fprintln(w, model)
			w.Close()
		}()
		if got := ends(t, cmd); got.code != 0 || !strings.Contains(got.out+got.err, "model.safetensors") {
			t.Errorf("%s: exit %d, %s%s", path, got.code, got.out, got.err)
		}
		r.Close()
	}
}

// An excluded file may have become a pipe since the statement; the verification used to open it.
func TestVerifyRefusesAPipeUnderAnExcludedName(t *testing.T) {
	bench := newBench(t)
	for _, name := range []string{".gitignore", ".gitattributes", ".git/config", ".git/fifo", ".github"} {
		root := filepath.Join(t.TempDir(), "root")
		layFiles(t, root, map[string]string{"model.safetensors": tensorOf("w", 1)})
		write(t, bench.statement, modelSigning(t, root))
		if r := bench.verify(t, root); r.code != 0 {
			t.Fatal(r.err)
		}
		if err := os.MkdirAll(filepath.Dir(filepath.Join(root, name)), 0o777); err != nil {
			t.Fatal(err)
		}
		fifo(t, filepath.Join(root, name))
		if r := ends(t, process(t, "verify", "--attestation", bench.statement, "--key", bench.public, root)); r.code != 8 {
			t.Errorf("%s: exit %d, %s%s", name, r.code, r.out, r.err)
		}
	}
}

// Every word of the file was a credential, also those of comments.
func TestOnlyWholeLinesOfTheTokenFileAreTokens(t *testing.T) {
	dir := t.TempDir()
	tokens := filepath.Join(dir, "tokens")
	const good = "0123456789abcdef"
	for text, says := range map[string]string{
		"":                                   "no token",
		"# alice-has-a-long-name laptop\n\n": "no token",
		good + "\nalice laptop-of-alice-1\n": "line 2 has white space",
		good + "\n" + good + " # alice\n":    "line 2 has white space",
		"  " + good + "\n":                   "line 1 has white space",
		good + "\t\n":                        "line 1 has white space",
		"#\n\n" + good + "\x00\n":            "line 3 has a control character",
		good + "\x1b[1m\n":                   "line 1 has a control character",
		"# old\r" + good + "\n":              "line 1 has a control character",
		"\ufeff" + good + "\n":               "line 1 begins with a byte order mark",
		good + "\n\u00e9" + good + "\n":      "line 2 has a character that is not ASCII",
		good + "\xff\n":                      "line 1 has a character that is not ASCII",
		"\xff\xfe0\x001\x00":                 "control character",
		good + "\n0123456789abcde\n":         "line 2 has a token of 15 characters",
	} {
		write(t, tokens, text)
		r := ends(t, process(t, "serve", "--listen", "localhost:0", "--drain", "100ms", "--tokens", tokens))
		if got := strings.Join(strings.Fields(r.err), " "); r.code != 2 || !strings.Contains(got, says) || strings.Contains(got, "0123456789abcde") {
			t.Errorf("%q: exit %d, %s", text, r.code, r.err)
		}
	}
	write(t, tokens, "# alice-has-a-long-name laptop-of-alice-1\r\n\r\n \n"+good+"\r\nanother-long-token\n#no-token-this-one")
	s := startService(t, "--tokens", tokens, "--drain", "100ms")
	const honest = "\x02\x00\x00\x00\x00\x00\x00\x00{}"
	for token, want := range map[string]int{
		good: 200, "another-long-token": 200, "#": 401, "alice-has-a-long-name": 401, "laptop-of-alice-1": 401, "#no-token-this-one": 401, "": 401,
	} {
		if got := s.check(t, http.DefaultClient, token, honest); got != want {
			t.Errorf("%q: %d, not %d", token, got, want)
		}
	}
	write(t, tokens, good+"\nanother-long-token laptop\n")
	if err := s.Process.Signal(syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
	if line := s.says(t, "eloaded"); !strings.Contains(line, "not reloaded") || !strings.Contains(line, "line 2 has white space") {
		t.Error(line)
	}
	if got := s.check(t, http.DefaultClient, "another-long-token", honest); got != 200 {
		t.Errorf("after a reload that failed: %d", got)
	}
	s.end(t)
}

// end ends the service by SIGTERM, which must be its normal end.
func (s *running) end(t *testing.T) {
	t.Helper()
	if err := s.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	for range s.lines {
	}
	if err := s.Wait(); err != nil {
		t.Errorf("ended by SIGTERM: %v", err)
	}
}

// A pipe in the place of one of its files kept a service from ever reading them again, and its
// helper outlived it.
func TestAReloadDoesNotWaitForAPipe(t *testing.T) {
	dir := t.TempDir()
	path := func(name string) string { return filepath.Join(dir, name) }
	cert, key := certificate(t, 1)
	text := map[string]string{"policy.json": `{}`, "tokens": "token-one-of-two\n", "cert.pem": cert, "key.pem": key}
	for name, text := range text {
		write(t, path(name), text)
	}
	socket := path("socket")
	s := startService(t, "--limits", path("policy.json"), "--tokens", path("tokens"), "--tls-cert", path("cert.pem"), "--tls-key", path("key.pem"), "--clamd", "unix:"+socket, "--drain", "500ms")
	helper := helperOf(s.Process.Pid)
	for name := range text {
		for what, make := range map[string]func(string){
			"is not a regular file": func(path string) { fifo(t, path) },
			"is a folder":           func(path string) { os.Remove(path); os.Mkdir(path, 0o777) },
		} {
			make(path(name))
			if err := s.Process.Signal(syscall.SIGHUP); err != nil {
				t.Fatal(err)
			}
			if line := s.says(t, "eloaded"); !strings.Contains(line, "not reloaded") || !strings.Contains(line, what) {
				t.Errorf("%s: %s", name, line)
			}
			if got := reloadByClamd(t, socket); !strings.HasPrefix(got, "Not reloaded: ") || !strings.Contains(got, name) {
				t.Errorf("%s: %q", name, got)
			}
			s.says(t, "not reloaded")
			os.Remove(path(name))
			write(t, path(name), text[name])
		}
		if got := reloadByClamd(t, socket); got != "RELOADING\x00" {
			t.Errorf("%s is a file again: %q", name, got)
		}
		s.says(t, "msg=reloaded")
	}
	s.end(t)
	gone(t, helper)
}

func reloadByClamd(t *testing.T, socket string) string {
	t.Helper()
	c, err := net.Dial("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	fmt.Fprint(c, "zRELOAD\x00")
	var got bytes.Buffer
	if _, err := got.ReadFrom(c); err != nil {
		t.Fatal(err)
	}
	return got.String()
}

// If a helper does not answer, reloads still report an error, and the service can still end.
func TestAReloadDoesNotWaitForAHelper(t *testing.T) {
	if !effort.Whole() {
		t.Skip("takes 7 seconds, which is the deadline of the helper")
	}
	policy := filepath.Join(t.TempDir(), "policy.json")
	write(t, policy, "{}")
	s := startService(t, "--limits", policy, "--drain", "500ms")
	helper := helperOf(s.Process.Pid)
	if helper == 0 {
		s.end(t)
		t.Skip("no list of processes here")
	}
	if err := syscall.Kill(helper, syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := s.Process.Signal(syscall.SIGHUP); err != nil {
			t.Fatal(err)
		}
		if line := s.says(t, "eloaded"); !strings.Contains(line, "not reloaded") || !strings.Contains(line, "restart the service") {
			t.Error(line)
		}
	}
	s.end(t)
	if err := syscall.Kill(helper, syscall.SIGCONT); err != nil {
		t.Error(err)
	}
	gone(t, helper)
}

// helperOf returns a child of a process, or 0.
func helperOf(pid int) int {
	list, _ := filepath.Glob("/proc/[0-9]*/stat")
	for _, at := range list {
		text, err := os.ReadFile(at)
		if err != nil {
			continue
		}
		rest := strings.Fields(string(text[bytes.LastIndexByte(text, ')')+1:]))
		if parent, err := strconv.Atoi(rest[1]); err == nil && parent == pid {
			child, _ := strconv.Atoi(filepath.Base(filepath.Dir(at)))
			return child
		}
	}
	return 0
}

// gone waits until a process has ended.
func gone(t *testing.T, pid int) {
	t.Helper()
	for end := time.Now().Add(30 * time.Second); pid != 0; time.Sleep(5 * time.Millisecond) {
		text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		if err != nil || bytes.Contains(text, []byte(") Z ")) {
			return
		}
		if time.Now().After(end) {
			t.Errorf("process %d stays", pid)
			return
		}
	}
}
