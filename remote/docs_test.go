package remote_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
)

var documented = regexp.MustCompile(`(?m)^amn(?:-remote)? (.* hf://(\S+).*)$`)

var buildOnce = sync.OnceValues(func() (string, error) {
	build := exec.Command("go", "build", "-o", programFile, "./cmd/amn")
	build.Env = append(os.Environ(), "CGO_ENABLED=0") // as releases are built: Go can lock no thread of C
	out, err := build.CombinedOutput()
	return string(out), err
})

// programFile is the program that tests build. TestMain removes it.
var programFile string

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "amn-remote-*")
	if err != nil {
		panic(err)
	}
	programFile = filepath.Join(dir, "amn")
	code := m.Run()
	os.RemoveAll(dir)
	os.Exit(code)
}

// program returns the program of this module, which is built once.
func program(t *testing.T) string {
	t.Helper()
	if out, err := buildOnce(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return programFile
}

// The commands that the documents show with addresses of the hub run, by the program itself,
// against a hub on loopback: it has the endpoints, and every repository there is.
func TestTheCommandsOfTheDocumentsRun(t *testing.T) {
	bin := program(t)
	help, err := exec.CommandContext(t.Context(), bin, "--help").Output()
	if err != nil || !strings.Contains(string(help), "hf://OWNER/REPO") || !strings.Contains(string(help), "--allow-private") {
		t.Errorf("the help tells nothing of addresses: %v\n%s", err, help)
	}
	ran := 0
	for _, doc := range []string{"../docs/remote.md", "../docs/start-ml.md", "../docs/dequantize-deepseek.md"} {
		text, err := os.ReadFile(doc)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range documented.FindAllStringSubmatch(string(text), -1) {
			ran++
			dir := demo + "sharded"
			if strings.Contains(m[1], "dequantize") {
				dir = demo + "llama-fp8"
			}
			if file := filepath.Base(m[2]); strings.Contains(file, "-of-") {
				dir = t.TempDir()
				data, err := os.ReadFile(demo + "model.safetensors")
				if err != nil {
					t.Fatal(err)
				}
				write(t, filepath.Join(dir, file), data)
			}
			h := newHub(t, dir)
			h.mu.Lock()
			h.any = true
			h.mu.Unlock()
			run := exec.CommandContext(t.Context(), bin, append([]string{"--allow-private"}, strings.Fields(m[1])...)...)
			run.Env = append(os.Environ(), "HF_ENDPOINT="+h.URL, "HF_TOKEN=hf_secret")
			run.Dir = t.TempDir()
			out, err := run.CombinedOutput()
			if err != nil || h.count() < 2 {
				t.Errorf("%s: %v, %d requests\n%s", m[0], err, h.count(), out)
			}
			if strings.Contains(string(out), "hf_secret") {
				t.Errorf("%s prints the token", m[0])
			}
			t.Logf("%s: %d requests", m[0], h.count())
		}
	}
	if ran < 6 {
		t.Errorf("only %d commands", ran)
	}
}
