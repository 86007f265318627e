//go:build linux

package cli_test

import (
	"bufio"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// A child that is killed, or that crashes, ends its upload with an answer and nothing
// else: the service goes on.
func TestACrashEndsOnlyOneUpload(t *testing.T) {
	if testing.Short() {
		t.Skip("builds the program")
	}
	dir := workplace(t)
	cmd := exec.CommandContext(t.Context(), filepath.Join(built(t), "amn"), "serve", "--listen", "localhost:0", "--isolate")
	log, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	address := ""
	for lines := bufio.NewScanner(log); address == "" && lines.Scan(); {
		if m := regexp.MustCompile(`msg=listening address=(\S+)`).FindStringSubmatch(lines.Text()); m != nil {
			address = m[1]
		}
	}
	go func() { _, _ = io.Copy(io.Discard, log) }()
	put := func(name, body string) (int, string, error) {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPut, "http://"+address+"/v1/check?name="+name, strings.NewReader(body))
		if err != nil {
			return 0, "", err
		}
		res, err := http.DefaultClient.Do(r)
		if err != nil {
			return 0, "", err
		}
		defer res.Body.Close()
		text, err := io.ReadAll(res.Body)
		return res.StatusCode, string(text), err
	}
	slow := "\x80\x02" + strings.Repeat("N0", 24<<20) + "N." // half a second of work
	honest := load(t, filepath.Join(dir, "model.safetensors"))
	for _, sig := range []syscall.Signal{syscall.SIGKILL, syscall.SIGABRT, syscall.SIGSEGV} {
		type answer struct {
			status int
			text   string
			err    error
		}
		answers := make(chan answer, 1)
		go func() {
			status, text, err := put("slow.pkl", slow)
			answers <- answer{status, text, err}
		}()
		child := childOf(t, cmd.Process.Pid)
		readsOnly(t, child)
		if err := syscall.Kill(child, sig); err != nil {
			t.Fatal(err)
		}
		if a := <-answers; a.err != nil || a.status != http.StatusInternalServerError || !strings.Contains(a.text, `"detail":"the file could not be judged"`) {
			t.Errorf("%v: %+v", sig, a)
		}
		if status, text, err := put("model.safetensors", honest); err != nil || status != http.StatusOK {
			t.Errorf("after %v: %d %s %v", sig, status, text, err)
		}
	}
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
}

// readsOnly fails the test if a process has a file open for writing: the judged file is open for
// reading, and all other descriptors are pipes.
func readsOnly(t *testing.T, pid int) {
	t.Helper()
	list, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", pid))
	if err != nil {
		t.Fatal(err)
	}
	judged := false
	for _, d := range list {
		target, _ := os.Readlink(fmt.Sprintf("/proc/%d/fd/%s", pid, d.Name()))
		text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/fdinfo/%s", pid, d.Name()))
		m := regexp.MustCompile(`flags:\s+([0-7]+)`).FindSubmatch(text)
		if m == nil {
			continue // closed meanwhile
		}
		flags, err := strconv.ParseUint(string(m[1]), 8, 32)
		if err != nil {
			t.Fatal(err)
		}
		if strings.HasPrefix(target, "/") && flags&syscall.O_ACCMODE != syscall.O_RDONLY {
			t.Errorf("descriptor %s of the child, %s, is open with flags %o", d.Name(), target, flags)
		}
		judged = judged || d.Name() == "3" && strings.HasPrefix(target, "/")
	}
	if !judged {
		t.Error("the child has no file to judge")
	}
}

// childOf waits for a child of a process that runs the command judge-one.
func childOf(t *testing.T, parent int) int {
	t.Helper()
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(time.Millisecond) {
		lists, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", parent))
		if err != nil {
			t.Fatal(err)
		}
		for _, list := range lists {
			text, _ := os.ReadFile(list) // a thread that has ended has none
			for _, child := range strings.Fields(string(text)) {
				line, _ := os.ReadFile("/proc/" + child + "/cmdline")
				if pid, err := strconv.Atoi(child); err == nil && strings.Contains(string(line), "judge-one") {
					return pid
				}
			}
		}
	}
	t.Fatal("no child")
	return 0
}
