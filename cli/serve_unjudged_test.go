//go:build unix

package cli_test

import (
	"archive/zip"
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// slowly is a small archive whose pickle takes a while to read before it runs os.system.
func slowly(t *testing.T, ops int) string {
	t.Helper()
	var out bytes.Buffer
	z := zip.NewWriter(&out)
	w, err := z.Create("model.bin")
	if err == nil {
		_, err = io.WriteString(w, "\x80\x02"+strings.Repeat("K\x010", ops)+"cos\nsystem\n(S'id'\ntR.")
	}
	if err = errors.Join(err, z.Close()); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

// serving starts the service and returns its address. The service ends with the test.
func serving(t *testing.T, args ...string) string {
	t.Helper()
	cmd := process(t, append([]string{"serve", "--listen", "localhost:0"}, args...)...)
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
	if err := lines.Err(); address == "" {
		t.Fatal("it does not say where it listens", err)
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_, _ = io.Copy(io.Discard, log)
	}()
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		<-ended
		_ = cmd.Wait()
	})
	return address
}

// upload sends a file over a connection of its own, and returns the status and the body of
// the answer; 0 if the connection ended without one.
func upload(t *testing.T, address, name, data string, halfClose bool) (int, string) {
	t.Helper()
	c, err := net.Dial("tcp", address)
	if err != nil {
		t.Error(err)
		return 0, ""
	}
	defer c.Close()
	if err := c.SetDeadline(time.Now().Add(2 * time.Minute)); err != nil {
		t.Error(err)
	}
	fmt.Fprintf(c, "PUT /v1/check?name=%s HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: %d\r\n\r\n%s", name, len(data), data)
	if halfClose {
		_ = c.(*net.TCPConn).CloseWrite() // an error means that the service has ended it
	}
	text, _ := io.ReadAll(c)
	if len(text) == 0 {
		return 0, ""
	}
	res, err := http.ReadResponse(bufio.NewReader(bytes.NewReader(text)), nil)
	if err != nil {
		return 0, ""
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		return 0, ""
	}
	return res.StatusCode, string(body)
}

// A hostile file that waits, or is judged, for longer than a client may be silent is
// refused all the same.
func TestServeAcceptsNothingThatItHasNotJudged(t *testing.T) {
	for _, tc := range []struct {
		name         string
		uploads, ops int
		args         []string
	}{
		{"forty at once", 40, 1_500_000, []string{"--idle", "400ms", "--slots", "1"}},
		{"one slow judgement", 1, 3_000_000, []string{"--idle", "30ms"}},
		{"in children", 3, 3_000_000, []string{"--idle", "60ms", "--slots", "1", "--isolate"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			address, data := serving(t, tc.args...), slowly(t, tc.ops)
			statuses := map[int]int{}
			// On a busy machine a request may come too late for so short a time.
			for try := 0; try < 20 && statuses[http.StatusForbidden] == 0; try++ {
				var all sync.WaitGroup
				var mu sync.Mutex
				for range tc.uploads {
					all.Go(func() {
						status, body := upload(t, address, "upload.zip", data, false)
						if status != 0 && status < 400 {
							t.Errorf("a hostile file: %d %q", status, body)
						}
						mu.Lock()
						defer mu.Unlock()
						statuses[status]++
					})
				}
				all.Wait()
			}
			if statuses[http.StatusForbidden] == 0 {
				t.Errorf("no upload was judged: %v", statuses)
			}
		})
	}
}

// A client that has closed its sending side gets the verdict or no answer.
func TestAHalfClosedClientGetsTheVerdictOrNoAnswer(t *testing.T) {
	evil, honest := slowly(t, 20_000), "\x02\x00\x00\x00\x00\x00\x00\x00{}"
	address := serving(t, "--slots", "1")
	for n := range 40 {
		if status, body := upload(t, address, "upload.zip", evil, true); status != 0 && (status < 400 || !strings.Contains(body, `"accepted":false`)) {
			t.Fatalf("try %d, a hostile file: %d %q", n, status, body)
		}
		if status, body := upload(t, address, "m.safetensors", honest, true); status != 0 && (status != 200 || !strings.Contains(body, `"acceptance":{"sha256":"`+emptyModel)) {
			t.Fatalf("try %d, an honest file: %d %q", n, status, body)
		}
	}
	if status, _ := upload(t, address, "upload.zip", evil, false); status != http.StatusForbidden {
		t.Errorf("a hostile file of a client that waits: %d", status)
	}
}
