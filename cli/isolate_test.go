//go:build linux

package cli_test

import (
	"bufio"
	"io"
	"net/http"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
)

// detail is what may differ: the sentence of a problem, which names the place only where
// the file was read, and the digest, which a file that is refused while it comes does not have.
var detail = regexp.MustCompile(`"detail":"(?:[^"\\]|\\.)*",|"sha256":"[0-9a-f]*",`)

// A service that judges in children says what one that does not says.
func TestJudgingInChildren(t *testing.T) {
	if testing.Short() {
		t.Skip("builds the program")
	}
	bin, dir := built(t), workplace(t)
	write(t, filepath.Join(dir, "a.pkl"), runsCode)
	write(t, filepath.Join(dir, "large.pt"), strings.Repeat("x", 600<<10))
	answers := map[string][]string{}
	for _, flags := range [][]string{{"--isolate"}, nil} {
		cmd := exec.CommandContext(t.Context(), filepath.Join(bin, "amn"), append([]string{"serve", "--listen", "localhost:0"}, flags...)...)
		log, err := cmd.StderrPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		address := ""
		lines := bufio.NewScanner(log)
		for address == "" && lines.Scan() {
			if m := regexp.MustCompile(`msg=listening address=(\S+)`).FindStringSubmatch(lines.Text()); m != nil {
				address = m[1]
			}
		}
		if err := lines.Err(); err != nil {
			t.Fatal(err)
		}
		go func() { _, _ = io.Copy(io.Discard, log) }()
		for _, name := range []string{"a.pkl", "model.safetensors", "cut.safetensors", "page.gguf", "large.pt", "weights.npz"} {
			r, err := http.NewRequestWithContext(t.Context(), http.MethodPut, "http://"+address+"/v1/check?name="+name, strings.NewReader(load(t, filepath.Join(dir, name))))
			if err != nil {
				t.Fatal(err)
			}
			res, err := http.DefaultClient.Do(r)
			if err != nil {
				t.Fatal(name, err)
			}
			body, err := io.ReadAll(res.Body)
			res.Body.Close()
			if err != nil {
				t.Fatal(err)
			}
			answers[name] = append(answers[name], res.Status+"\n"+detail.ReplaceAllString(string(body), ""))
		}
		if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
			t.Fatal(err)
		}
		if err := cmd.Wait(); err != nil {
			t.Errorf("%v: %v", flags, err)
		}
	}
	for name, a := range answers {
		if a[0] != a[1] || strings.HasPrefix(a[0], "5") {
			t.Errorf("%s: in a child %s\nhere %s", name, a[0], a[1])
		}
	}
}

// judge-one without a hand-over is refused.
func TestOnlyAServiceHandsOver(t *testing.T) {
	for _, in := range []string{"", "x\n", "{}\n", `{"Policy":{"no":1}}` + "\n"} {
		if r := amn(t, strings.NewReader(in), "judge-one", "--sandbox", "off"); r.code != 2 {
			t.Errorf("%q: exit %d, %s", in, r.code, r.err)
		}
	}
}
