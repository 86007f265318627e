package pth_test

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/pth"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// Programs whose operators only compute have no finding that a policy refuses, in a scan either.
func TestProgramsThatOnlyCompute(t *testing.T) {
	files, err := filepath.Glob("testdata/script/*.pt")
	if err != nil || len(files) < 3 {
		t.Fatalf("%v, %v", files, err)
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		b := limits.Policy{}.Budget(t.Context())
		f, err := pth.Decode(b, bytes.NewReader(data), int64(len(data)))
		if err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		for _, f := range f.Findings() {
			if f.Severity == tensor.Danger && f.Code != "pth.script-runs" {
				t.Errorf("%s: %s: %s: %s", file, f.Code, f.Where, f.Text)
			}
		}
		f.Close()
		b.Close()
	}
}
