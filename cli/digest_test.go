package cli_test

import (
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestDigestsAreKeptAndChecked(t *testing.T) {
	t.Chdir(workplace(t))
	data, err := os.ReadFile("model.safetensors")
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256(data)
	plain := amn(t, nil, "digest", "model.safetensors")
	if plain.code != 0 || !strings.HasPrefix(plain.out, hex.EncodeToString(sum[:])+"  model.safetensors\n") {
		t.Errorf("exit %d, %s%s", plain.code, plain.out, plain.err)
	}
	for _, step := range []struct {
		args string
		code int
		has  string
	}{
		{"digest sharded", 0, "  sharded/model-00001-of-00002.safetensors\n"},
		{"digest -q -o m.json model.safetensors sharded", 0, ""},
		{"digest -q -o m.json model.safetensors", 2, "--force"},
		{"digest -q --check m.json", 0, "the same, 24 tensors"},
		{"digest -q --check m.json model.safetensors", 2, "several models"},
		{"digest -q -f -o m.json model.safetensors", 0, ""},
		{"digest -q --check m.json sharded", 8, "is not in the manifest"},
		{"digest -q --check m.json --tensors sharded", 0, "the same"},
		{"digest -q --check m.json --json weights.npz", 8, `"same":false`},
		{"digest -q --check model.safetensors", 2, "not a manifest"},
		{"digest -q --check none.json", 1, ""},
		{"digest -q -o llama-fp8/m.json model.safetensors sharded", 0, ""}, // in another folder
		{"digest -q --check llama-fp8/m.json", 0, "sharded: the same"},
		{"digest -q -o none/m.json model.safetensors", 2, "its folder does not exist"},
		{"digest", 2, "name a model"},
		{"digest --tensors model.safetensors", 2, "--check"},
		{"digest none.safetensors", 1, "no such file"},
	} {
		r := amn(t, nil, strings.Fields(step.args)...)
		if r.code != step.code || !strings.Contains(r.out+r.err, step.has) {
			t.Errorf("%s: exit %d, %s%s", step.args, r.code, r.out, r.err)
		}
	}
	if list, err := filepath.Glob(".amn-*"); err != nil || len(list) > 0 {
		t.Errorf("left: %v, %v", list, err)
	}
	data[len(data)-1] ^= 1
	write(t, "model.safetensors", string(data))
	r := amn(t, nil, "digest", "-q", "--check", "m.json")
	if r.code != 8 || !strings.Contains(r.out, "file model.safetensors differs") || strings.Count(r.out, "tensor ") != 1 {
		t.Errorf("exit %d, %s", r.code, r.out)
	}
}
