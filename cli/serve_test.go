//go:build unix

package cli_test

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
)

// The service listens at the address that it prints, finishes started judgements when it is
// interrupted, and leaves no socket.
func TestServeAnswersAndEnds(t *testing.T) {
	dir := t.TempDir()
	socket := filepath.Join(dir, "clamd.sock")
	tokens := filepath.Join(dir, "tokens")
	if err := os.WriteFile(tokens, []byte("# of the host\n\nsecret-of-the-host\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	stale, err := net.ListenUnix("unix", &net.UnixAddr{Name: socket})
	if err != nil {
		t.Fatal(err)
	}
	stale.SetUnlinkOnClose(false) // as one that was killed leaves it
	stale.Close()
	cmd := process(t, "serve", "--listen", "localhost:0", "--clamd", "unix:"+socket, "--tokens", tokens, "--socket-mode", "0600", "--root", dir)
	log, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(log)
	addr := ""
	has := regexp.MustCompile(`(?m)^Sandbox: +(.*)$`).FindStringSubmatch(amn(t, nil, "version").out)
	for n := 0; n < 3 && lines.Scan(); n++ {
		if strings.Contains(lines.Text(), "msg=sandbox") && (has == nil || !strings.Contains(lines.Text(), has[1])) {
			t.Errorf("%s, where amn version says %q", lines.Text(), has)
		}
		if _, rest, ok := strings.Cut(lines.Text(), "msg=listening address=127"); ok {
			addr = "127" + rest
		}
	}
	status, text := put(t, "http://"+addr+"/v1/check?name=m.safetensors", "\x02\x00\x00\x00\x00\x00\x00\x00{}")
	if status != http.StatusOK || !strings.Contains(text, `"sha256":"`+emptyModel+`"`) {
		t.Errorf("an honest file: %d, %s", status, text)
	}
	if status, _ := put(t, "http://"+addr+"/v1/check", "cos\nsystem\n(S'id'\ntR."); status != http.StatusForbidden {
		t.Errorf("a hostile file: %d", status)
	}
	if info, err := os.Stat(socket); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the socket: %v, %v", info, err)
	}
	c, err := net.Dial("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	fmt.Fprint(c, "zPING\x00")
	if text, err := io.ReadAll(c); string(text) != "PONG\x00" {
		t.Errorf("clamd's ping: %q, %v", text, err)
	}
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	for lines.Scan() { // to the end
	}
	if err := lines.Err(); err != nil {
		t.Error(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Errorf("ended by SIGTERM: %v", err)
	}
	if _, err := os.Stat(socket); !os.IsNotExist(err) {
		t.Errorf("the socket stays: %v", err)
	}
}

// emptyModel is the SHA-256 of a safetensors file without tensors.
const emptyModel = "411a485216e432ece6b9af94fa32154cf79a2a56d4f81266baa50063f45092bd"

// put sends a file, and returns the answer.
func put(t *testing.T, url, data string) (status int, text string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPut, url, strings.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer secret-of-the-host")
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	answer, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res.StatusCode, string(answer)
}

func TestServeRefusesInvalidFlags(t *testing.T) {
	for _, tc := range []struct {
		args []string
		has  string
	}{
		{nil, "--listen or --clamd"},
		{[]string{"--listen", "0.0.0.0:0"}, "--anyone"},
		{[]string{"--listen", ":0"}, "--anyone"},
		{[]string{"--clamd", "0.0.0.0:0"}, "--anyone"},
		{[]string{"--listen", "localhost:0", "--memory", "much"}, "--memory much"},
		{[]string{"--listen", "localhost:0", "--queue", "0"}, "must be positive"},
		{[]string{"--listen", "unix:" + t.TempDir() + "/s", "--socket-mode", "99"}, "in octal"},
		{[]string{"--listen", "localhost:0", "--tls-cert", "none", "--tls-key", "none"}, "--tls-cert"},
		{[]string{"--listen", "localhost:0", "--tokens", os.DevNull}, "is not a regular file"},
	} {
		var errs bytes.Buffer
		code := run(t, nil, io.Discard, &errs, append([]string{"serve"}, tc.args...)...)
		if code != 2 || !strings.Contains(errs.String(), tc.has) {
			t.Errorf("%v: exit %d, %s", tc.args, code, &errs)
		}
	}
}

// With --json, its log has one object per line.
func TestServeLogsInJSON(t *testing.T) {
	cmd := process(t, "serve", "--listen", "localhost:0", "--json")
	log, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	listening := false
	for lines := bufio.NewScanner(log); !listening && lines.Scan(); {
		v := object(t, lines.Text())
		listening = v["msg"] == "listening" && strings.HasPrefix(fmt.Sprint(v["address"]), "127.0.0.1:")
	}
	cmd.Process.Signal(syscall.SIGTERM)
	if err := cmd.Wait(); err != nil || !listening {
		t.Errorf("%v; listening: %v", err, listening)
	}
}
