package cli_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/anamnesis-go/anamnesis/digest"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser"
	"github.com/anamnesis-go/anamnesis/parser/gguf"
)

// sums are the digests of all tensors, by name, and the keys.
func sums(t *testing.T, path string) (map[string]string, map[string]any) {
	t.Helper()
	b := limits.Policy{}.Budget(t.Context())
	defer b.Close()
	m, err := parser.Open(b, path)
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	list, err := digest.Tensors(b, m, digest.Options{})
	if err != nil {
		t.Fatal(err)
	}
	all, keys := map[string]string{}, map[string]any{}
	for _, d := range list {
		all[d.Name] = d.Type + " " + d.Sum.String()
	}
	for k, v := range m.Meta() {
		keys[k] = v
		if array, ok := v.(gguf.Array); ok {
			list := []any{}
			for e, err := range array.All(b) {
				if err != nil {
					t.Fatal(err)
				}
				list = append(list, e)
			}
			keys[k] = list
		}
	}
	return all, keys
}

// An edit keeps everything that it does not name: the bytes of each tensor, each other key.
func TestEditChangesNoTensor(t *testing.T) {
	t.Chdir(workplace(t))
	for _, c := range []struct {
		file, args   string
		set          map[string]any
		deleted      string
		from, to     string
		inPlace, dir bool
	}{
		{file: "model.safetensors", args: "--set a=b=c --delete format", set: map[string]any{"a": "b=c"}, deleted: "format"},
		{file: "model.safetensors", args: "--rename layers.*=blocks.*", from: "layers.", to: "blocks."},
		{file: "tiny.gguf", args: "--set general.name=mine --set llama.context_length:u32=7 --delete tokenizer.ggml.pre", set: map[string]any{"general.name": "mine", "llama.context_length": uint32(7)}, deleted: "tokenizer.ggml.pre"},
		{file: "tiny.gguf", args: "--rename blk.*.attn_q.*=blk.*.q.*", from: ".attn_q.", to: ".q."},
		{file: "model.safetensors", args: "--set a=b", set: map[string]any{"a": "b"}, inPlace: true},
		{file: "tiny.gguf", args: "--set general.name=his", set: map[string]any{"general.name": "his"}, inPlace: true},
		{file: "models/tiny", args: "--rename *norm*=*ln*", from: "norm", to: "ln", dir: true},
	} {
		tensors, keys := sums(t, c.file)
		args, out := append([]string{"edit", "-q", c.file}, strings.Fields(c.args)...), c.file
		if c.inPlace {
			args = append(args, "--in-place")
		} else {
			out = "out-" + strings.ReplaceAll(c.file, "/", "-")
			args = append(args, "-f", "-o", out)
		}
		if r := amn(t, nil, args...); r.code != 0 {
			t.Fatalf("%v: exit %d: %s", args, r.code, r.err)
		}
		want := map[string]string{}
		for name, sum := range tensors {
			want[strings.Replace(name, c.from, c.to, 1)] = sum
		}
		delete(keys, c.deleted)
		for k, v := range c.set {
			keys[k] = v
		}
		got, has := sums(t, out)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%v: want -, got +:\n%s", args, diff)
		}
		if diff := cmp.Diff(keys, has); diff != "" && !c.dir {
			t.Errorf("%v: want -, got +:\n%s", args, diff)
		}
	}
}

// Impossible edits are refused, and nothing is written.
func TestEditRefuses(t *testing.T) {
	t.Chdir(workplace(t))
	before := load(t, "model.safetensors")
	for _, args := range []string{
		"model.safetensors", "--set x model.safetensors", "--delete nothing model.safetensors", "--set a=1 --delete a model.safetensors",
		"--rename nothing=x model.safetensors", "--rename a model.safetensors", "--rename layers.*=x model.safetensors", "--set general.name:u8=x tiny.gguf",
		"--set general.alignment:u32=64 tiny.gguf", "--delete split.no tiny.gguf", "--set a=b weights.npz", "--set a=b checkpoint.pt", "--set a=b split",
		"--set a=b --in-place models/tiny", "--set a=b --in-place -o x model.safetensors", "--set a=b -f -o model.safetensors model.safetensors", "--set a=b missing.gguf",
	} {
		r := amn(t, nil, append([]string{"edit"}, strings.Fields(args)...)...)
		if r.code == 0 || r.err == "" {
			t.Errorf("edit %s: exit %d, %q", args, r.code, r.err)
		}
	}
	if load(t, "model.safetensors") != before {
		t.Error("the model was changed")
	}
}
