package gate_test

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/anamnesis-go/anamnesis/gate"
)

// A layer of a model in a store of ollama.
type layer struct{ kind, name, data string }

// store lays out a store with one model, library/m:latest, and returns the names of
// its blobs.
func store(t *testing.T, layers ...layer) (names []string) {
	t.Helper()
	var rows []string
	config := "{}"
	files := map[string]string{}
	for _, l := range layers {
		sum := sha256.Sum256([]byte(l.data))
		digest := hex.EncodeToString(sum[:])
		names = append(names, "sha256-"+digest)
		files["blobs/sha256-"+digest] = l.data
		row := fmt.Sprintf(`{"mediaType": "application/vnd.ollama.image.%s", "digest": "sha256:%s", "size": %d, "name": %q}`, l.kind, digest, len(l.data), l.name)
		if l.kind == "config" {
			config = row
			continue
		}
		rows = append(rows, row)
	}
	files["manifests/registry.ollama.ai/library/m/latest"] = `{"schemaVersion": 2, "config": ` + config + `, "layers": [` + strings.Join(rows, ",") + `]}`
	dir := t.TempDir()
	for name, data := range files {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(data), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("OLLAMA_MODELS", dir)
	return names
}

// Every layer of a model in a store is judged, whatever the manifest calls it: a runner
// loads adapters and projectors as it loads the weights.
func TestEveryLayerOfAStoreIsJudged(t *testing.T) {
	const evil = "cos\nsystem\n(S'true'\ntR."
	weights := seed(t, "safetensors", "tied.safetensors")
	for _, kind := range []string{"adapter", "projector", "license", "params", "template", "unheard-of", "json"} {
		names := store(t, layer{"model", "", weights}, layer{kind, "", evil})
		got := strings.Join(walked(t, gate.New(gate.Policy{}), "ollama:m"), "\n")
		if want := "ollama:m: ok\n" + names[1] + ": forbidden pickle.global pickle.call"; got != want {
			t.Errorf("%s: %q, want %q", kind, got, want)
		}
	}
	names := store(t, layer{"model", "", weights}, layer{"config", "", evil}) // the model's configuration, which is no layer
	want := "ollama:m: ok\n" + names[1] + ": forbidden pickle.global pickle.call"
	if got := strings.Join(walked(t, gate.New(gate.Policy{}), "ollama:m"), "\n"); got != want {
		t.Errorf("a configuration: %q, want %q", got, want)
	}
	names = store(t, layer{"model", "", weights}, layer{"license", "", "Do what you want.\n"}, layer{"json", "config.json", `{"model_type": "llama"}`})
	want = "ollama:m: ok\n" + names[1] + ": ok a text\nconfig.json: ok a JSON text"
	if got := strings.Join(walked(t, gate.New(gate.Policy{}), "ollama:m"), "\n"); got != want {
		t.Errorf("an honest model: %q, want %q", got, want)
	}
}

// Layers of weights in two formats are no model that a runner reads as one.
func TestLayersOfTwoFormatsAreRefused(t *testing.T) {
	store(t, layer{"model", "", seed(t, "safetensors", "tied.safetensors")}, layer{"model", "", seed(t, "gguf", "llama.gguf")})
	if got := strings.Join(walked(t, gate.New(gate.Policy{}), "ollama:m"), "\n"); !strings.HasPrefix(got, "ollama:m: malformed ollama.layers") {
		t.Error(got)
	}
}
