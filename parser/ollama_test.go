package parser_test

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser"
)

// ollamaStore builds a store whose model m:latest is one blob.
func ollamaStore(t *testing.T, body []byte) (dir, digest string) {
	t.Helper()
	dir = t.TempDir()
	sum := sha256.Sum256(body)
	digest = hex.EncodeToString(sum[:])
	manifest := fmt.Sprintf(`{"schemaVersion":2,"layers":[{"mediaType":"application/vnd.ollama.image.model","digest":"sha256:%s","size":%d}]}`,
		digest, len(body))
	for path, data := range map[string][]byte{
		"manifests/registry.ollama.ai/library/m/latest": []byte(manifest),
		"blobs/sha256-" + digest:                        body,
	} {
		path = filepath.Join(dir, path)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, data, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("OLLAMA_MODELS", dir)
	return dir, digest
}

func TestANameInTheOllamaStore(t *testing.T) {
	gguf := append([]byte("GGUF\x03\x00\x00\x00"), make([]byte, 24)...)
	dir, digest := ollamaStore(t, gguf)
	b := limits.Policy{}.Budget(t.Context())
	defer b.Close()
	m, err := parser.Open(b, "ollama:m")
	if err != nil {
		t.Fatal(err)
	}
	if err := parser.Verify(b, m); err != nil || m.Format() != "gguf" {
		t.Errorf("%s, %v", m.Format(), err)
	}
	if err := m.Close(); err != nil {
		t.Error(err)
	}
	changed := append([]byte(nil), gguf...)
	changed[4] = 2
	if err := os.WriteFile(filepath.Join(dir, "blobs/sha256-"+digest), changed, 0o644); err != nil {
		t.Fatal(err)
	}
	if m, err = parser.Open(b, "ollama:m:latest"); err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	if err := parser.Verify(b, m); parser.ClassOf(err).ExitCode() != 3 {
		t.Errorf("a blob that is not its digest: %v", err)
	}
	for s, err := range parser.Find("ollama:m", false) {
		if err != nil || s.Path != "ollama:m" {
			t.Errorf("%+v, %v", s, err)
		}
	}
}

func TestNamesOutsideOfTheStoreAreRefused(t *testing.T) {
	ollamaStore(t, []byte("GGUF"))
	b := limits.Policy{}.Budget(t.Context())
	defer b.Close()
	for _, name := range []string{"ollama:other", "ollama:../../etc/passwd", "ollama:", "ollama:m:../x"} {
		if _, err := parser.Open(b, name); parser.ClassOf(err).ExitCode() != 2 {
			t.Errorf("%s: %v", name, err)
		}
	}
}
