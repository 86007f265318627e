package cli_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/anamnesis-go/anamnesis/corpus"
)

// corpusFile puts a file of the corpus where a command can open it.
func corpusFile(t *testing.T, name string, data []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func honestGGUF(t *testing.T, name string) string {
	t.Helper()
	for _, s := range corpus.Valid("gguf") {
		if s.Name == name {
			return corpusFile(t, strings.TrimSuffix(name, ".txt"), s.Data)
		}
	}
	t.Fatalf("no %s", name)
	return ""
}

func TestMetadataIsPrintedOneKeyPerLine(t *testing.T) {
	r := amn(t, nil, "parse", "--metadata", honestGGUF(t, "llama.gguf"))
	want := `general.architecture str "llama"
general.name str "tiny"
llama.context_length u32 64
llama.embedding_length u32 32
llama.block_count u32 1
llama.feed_forward_length u32 64
llama.attention.head_count u32 4
llama.attention.head_count_kv u32 2
llama.attention.layer_norm_rms_epsilon f32 1e-05
llama.rope.freq_base f32 10000
general.file_type u32 0
tokenizer.ggml.model str "llama"
tokenizer.ggml.tokens arr[str,262] ["<unk>", "<s>", "</s>", "<0x00>", "<0x01>", ...]
tokenizer.ggml.scores arr[f32,262] [0, 0, 0, 0, 0, ...]
tokenizer.ggml.token_type arr[i32,262] [2, 3, 3, 6, 6, ...]
tokenizer.ggml.bos_token_id u32 1
tokenizer.ggml.eos_token_id u32 2
tokenizer.ggml.add_bos_token bool true
`
	if diff := cmp.Diff(want, r.out); diff != "" || r.code != 0 {
		t.Errorf("exit %d, %s%s", r.code, r.err, diff)
	}
}

// Values that GGUF does not have are printed in the same words, none as Go has it.
func TestMetadataOfEveryFormatHasAKind(t *testing.T) {
	kinds := regexp.MustCompile(`^(none|bool|str|[iu](8|16|32|64)|f32|f64|c128|array|hollow|sparse|arr\[.*|(bytes|list|fields)\[\d+\])$`)
	for _, format := range []string{"npy", "npz", "pth"} {
		for _, seed := range corpus.Valid(format) {
			r := amn(t, nil, "parse", "--metadata", corpusFile(t, "a"+extension(format), seed.Data))
			for line := range strings.Lines(r.out) {
				if words := strings.Fields(line); len(words) < 3 || !kinds.MatchString(words[1]) && !kinds.MatchString(words[2]) {
					t.Errorf("%s %s: %s", format, seed.Name, line)
				}
			}
		}
	}
	for _, c := range []struct{ format, file, key, line, whole string }{
		{"npy", "struct.npy", "arr_0.fields", "fields[2] [a <f4, b >i4 [2, 3]]", "a <f4\nb >i4 [2, 3]\n"},
		{"npy", "struct-nested.npy", "arr_0.fields", "fields[2] [x [y >f2, z |S3 [2]] [2], w |b1]", "x [y >f2, z |S3 [2]] [2]\nw |b1\n"},
		{"pth", "numpy.pt", "array", "array <f4 [2, 3]", "<f4 [2, 3]\n"},
		{"pth", "sparse-coo.pt", "s", "sparse torch.sparse_coo [4, 4]", "torch.sparse_coo [4, 4]\n"},
	} {
		for _, seed := range corpus.Valid(c.format) {
			if seed.Name != c.file {
				continue
			}
			path := corpusFile(t, "a"+extension(c.format), seed.Data)
			if r := amn(t, nil, "parse", "--metadata", path); !strings.Contains(r.out, c.key+" "+c.line+"\n") {
				t.Errorf("%s: no %q in\n%s", c.file, c.line, r.out)
			}
			if r := amn(t, nil, "parse", "--key", c.key, path); r.out != c.whole {
				t.Errorf("%s: %q instead of %q", c.file, r.out, c.whole)
			}
		}
	}
}

func TestAKeyIsPrintedWhole(t *testing.T) {
	for _, c := range []struct{ file, key, want string }{
		{"nested.gguf", "words", "[0] \"a\"\n[0] \"b\"\n[1] \"c\"\n"},
		{"nested.gguf", "deep", "[0][0] 1\n[0][0] 2\n[0][1] 3\n[1][0] 4\n"},
		{"array-nested.txt", "k", "[0][0] \"a\"\n[0][0] \"b\"\n[0][1] arr[str,0]\n[1] 1\n[1] 2\n[1] 3\n[2] arr[arr,0]\n"},
		{"kinds-le.gguf", "many.uint64", strings.Repeat("0\n18446744073709551615\n", 3)},
		{"kinds-le.gguf", "many.float32", strings.Repeat("0.5\n-1e+30\n", 3)},
		{"kinds-be.gguf", "many.bool", strings.Repeat("true\nfalse\n", 3)},
		{"kinds-le.gguf", "one.float64.1", "-0.1\n"},
		{"llama.gguf", "general.name", "tiny\n"},
	} {
		r := amn(t, nil, "parse", "--key", c.key, honestGGUF(t, c.file))
		if diff := cmp.Diff(c.want, r.out); diff != "" || r.code != 0 {
			t.Errorf("%s of %s: exit %d, %s%s", c.key, c.file, r.code, r.err, diff)
		}
	}
	if r := amn(t, nil, "parse", "--key", "nobody", honestGGUF(t, "llama.gguf")); r.code != 2 || !strings.Contains(r.err, `no key "nobody"`) {
		t.Errorf("a key that is not there: exit %d, %s", r.code, r.err)
	}
	if r := amn(t, nil, "parse", "--json", "--metadata", honestGGUF(t, "llama.gguf")); r.code != 2 {
		t.Errorf("--metadata as JSON: exit %d, %s", r.code, r.err)
	}
}

func TestTheDumpShowsWhatComesBeforeTheError(t *testing.T) {
	for _, h := range corpus.Hostile("gguf") {
		if h.Name != "offset-gap" {
			continue
		}
		r := amn(t, nil, "inspect", "--wire", corpusFile(t, "a.gguf", h.Bytes()))
		if r.code != 3 || !strings.Contains(r.out, `00000052  40 00 00 00 00 00 00 00                             offset 64`) {
			t.Errorf("exit %d\n%s%s", r.code, r.out, r.err)
		}
	}
	if r := amn(t, nil, "inspect", "--wire", honestGGUF(t, "plain-le.gguf"), honestGGUF(t, "plain-be.gguf")); r.code != 0 || strings.Count(r.out, `magic "GGUF"`) != 2 {
		t.Errorf("two files: exit %d, %s", r.code, r.err)
	}
	for _, s := range corpus.Valid("npy")[:1] {
		if r := amn(t, nil, "inspect", "--wire", corpusFile(t, "a.npy", s.Data)); r.code != 5 || !strings.Contains(r.err, "GGUF only") {
			t.Errorf("another format: exit %d, %s", r.code, r.err)
		}
	}
	if r := amn(t, nil, "inspect", "--wire", corpusFile(t, "text.gguf", []byte("hello, world"))); r.code == 0 {
		t.Errorf("no model: exit %d, %s", r.code, r.err)
	}
	if r := amn(t, nil, "inspect", "--wire", "--json", honestGGUF(t, "plain-le.gguf")); r.code != 2 {
		t.Errorf("--wire as JSON: exit %d, %s", r.code, r.err)
	}
}
