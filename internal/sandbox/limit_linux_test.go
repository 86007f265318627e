package sandbox_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/anamnesis-go/anamnesis/internal/sandbox"
)

// beyond bounds this process, and takes more.
func beyond(how string) {
	open, err := os.OpenFile(os.Getenv("SANDBOX_FILE"), os.O_RDWR, 0)
	if err != nil {
		panic(err)
	}
	if err := sandbox.Limit(256<<20, 0); err != nil {
		panic(err)
	}
	switch how {
	case "memory":
		for kept := [][]byte{}; ; {
			kept = append(kept, bytes.Repeat([]byte{1}, 16<<20))
		}
	case "time":
		for n := uint64(0); ; n++ {
			if n == 1<<63 {
				os.Exit(0)
			}
		}
	case "file":
		_, err = open.Write([]byte("x"))
	case "descriptors":
		for err == nil {
			_, err = os.Open(open.Name())
		}
	}
	if err != nil {
		_, _ = os.Stderr.WriteString(err.Error())
		os.Exit(1)
	}
	os.Exit(0)
}

// A process that takes more than its limit ends, or gets an error.
func TestLimitsEndAProcess(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for how, want := range map[string]string{"memory": "out of memory", "time": "", "file": "file too large", "descriptors": "too many open files"} {
		cmd := exec.CommandContext(t.Context(), os.Args[0])
		cmd.Env = append(os.Environ(), "SANDBOX_LIMIT="+how, "SANDBOX_FILE="+file, "GOMAXPROCS=1")
		var text strings.Builder
		cmd.Stderr = &text
		err := cmd.Run()
		if err == nil || !strings.Contains(text.String(), want) {
			t.Errorf("%s: %v %.300s", how, err, text.String())
		}
		if how == "time" && (err == nil || !strings.Contains(err.Error(), "signal: killed") && !strings.Contains(text.String(), "SIGXCPU")) {
			t.Errorf("time: %v %.300s", err, text.String())
		}
	}
	if text, err := os.ReadFile(file); err != nil || len(text) > 0 {
		t.Errorf("%q %v", text, err)
	}
}
