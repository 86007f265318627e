package parser_test

import (
	"archive/zip"
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/anamnesis-go/anamnesis/corpus"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// account is an open account under the default policy, laid over by p.
func account(t testing.TB, p limits.Policy) *limits.Budget {
	t.Helper()
	b := p.Budget(context.Background())
	t.Cleanup(b.Close)
	return b
}

// policyOf returns the policy of a recipe; nil is a file without a recipe.
func policyOf(t testing.TB, r *corpus.Recipe) limits.Policy {
	t.Helper()
	if r == nil || r.Policy == nil {
		return limits.Policy{}
	}
	p, err := limits.ParsePolicy(r.Policy)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// detect asks under an account of its own.
func detect(t testing.TB, data []byte) (string, error) {
	return parser.Detect(account(t, limits.Policy{}), bytes.NewReader(data), int64(len(data)))
}

// safetensors builds a file of one tensor that holds body.
func safetensors(body string) []byte {
	header := `{"body":{"dtype":"U8","shape":[` + decimal(len(body)) + `],"data_offsets":[0,` + decimal(len(body)) + `]}}`
	return append(binary.LittleEndian.AppendUint64(nil, uint64(len(header))), header+body...)
}

func decimal(n int) string {
	if n < 10 {
		return string(rune('0' + n))
	}
	return decimal(n/10) + decimal(n%10)
}

// archiveContents builds a ZIP archive of these members, stored.
func archiveContents(t testing.TB, members map[string]string) []byte {
	t.Helper()
	var buf bytes.Buffer
	w := zip.NewWriter(&buf)
	names := make([]string, 0, len(members))
	for name := range members {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		f, err := w.CreateHeader(&zip.FileHeader{Name: name, Method: zip.Store})
		if err == nil {
			_, err = f.Write([]byte(members[name]))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return buf.Bytes()
}

// tarHeader is the first block of a tar archive, as tar writes it.
func tarHeader(name string) []byte {
	block := make([]byte, 1024)
	copy(block, name)
	copy(block[100:], "0000644\x000001750\x000001750\x0000000000005\x0014700000000\x00        0")
	copy(block[257:], "ustar  \x00")
	sum := 0
	for _, c := range block[:512] {
		sum += int(c)
	}
	copy(block[148:], octal(sum)+"\x00 ")
	return block
}

func octal(n int) string {
	s := ""
	for range 6 {
		s = string(rune('0'+n&7)) + s
		n >>= 3
	}
	return s
}

// Every valid file of the corpus has the format of its folder.
func TestDetectKnowsEveryHonestFile(t *testing.T) {
	seen := 0
	for _, f := range parser.Formats() {
		for _, seed := range corpus.Valid(f.Name) {
			seen++
			if got, err := detect(t, seed.Data); err != nil || got != f.Name {
				t.Errorf("%s/%s: %q, %v", f.Name, seed.Name, got, err)
			}
		}
	}
	if seen < 50 {
		t.Errorf("only %d honest files", seen)
	}
}

// Files that people have instead of a model, by the row of Recognized that names them.
func TestFilesThatAreNotModelsAreNamed(t *testing.T) {
	zeros := strings.Repeat("\x00", 64)
	cases := []struct{ name, what, data string }{
		{"a Git LFS pointer", "Git LFS pointer", "version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 132735\n"},
		{"a web page", "HTML page", "\xef\xbb\xbf\n <!DOCTYPE html>\n<html lang=en>"},
		{"a storage service's refusal", "XML", "<?xml version=\"1.0\"?><Error><Code>AccessDenied</Code></Error>"},
		{"a server's JSON error", "JSON", "{\"error\":\"Repository not found\"}"},
		{"JSON with a brace where a header would begin", "JSON", "{\"data\":{\"message\":\"gone\"}}"},
		{"tokenizer.json", "tokenizer.json", `{"version": "1.0", "truncation": null, "padding": null, "added_tokens": [{"id": 0`},
		{"adapter_config.json", "adapter_config.json", `{"alpha_pattern": {}, "peft_type": "LORA"}`},
		{"an index without its name", "index of shards", `{"metadata": {"total_size": 4}, "weight_map": {"a": "b"}}`},
		{"model_index.json", "model_index.json", `{"_class_name": "FluxPipeline"}`},
		{"tokenizer_config.json", "tokenizer_config.json", `{"added_tokens_decoder": {"0": {}}, "bos_token": "<s>"}`},
		{"preprocessor_config.json", "preprocessor_config.json", `{"image_processor_type": "ViTImageProcessor"}`},
		{"config.json", "a model's configuration", `{"quantization_config": {"quant_method": "gptq"}, "model_type": "llama"}`},
		{"quantize_config.json", "quantization", `{"bits": 4, "group_size": 128, "model_file": "model_type"}`},
		{"generation_config.json", "generation_config.json", `{"do_sample": true, "text": "\"model_type\": {"}`},
		{"special_tokens_map.json", "special_tokens_map.json", `{"bos_token": {"content": "<s>"}}`},
		{"trainer_state.json", "trainer_state.json", `{"best_metric": null, "global_step": 7, "log_history": []}`},
		{"modules.json", "modules.json", `[{"idx": 0, "name": "0", "path": "", "type": "sentence_transformers.models.Transformer"}]`},
		{"JSON whose members are below", "a JSON text", `{"error": {"model_type": 1, "peft_type": "LORA", "do_sample": 0}}`},
		{"gzip", "gzip", "\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x03\xcbH"},
		{"zstd", "zstd", "\x28\xb5\x2f\xfd\x04\x58\x19\x00\x00abc"},
		{"xz", "xz", "\xfd7zXZ\x00\x00\x04\xe6\xd6\xb4F"},
		{"bzip2", "bzip2", "BZh91AY&SY\x19\x31\x65\x3d"},
		{"lz4", "lz4", "\x04\x22\x4d\x18\x64\x40\xa7\x05\x00"},
		{"7z", "7z", "7z\xbc\xaf\x27\x1c\x00\x04\x8d\x9b\xd5\x0f"},
		{"RAR", "RAR", "Rar!\x1a\x07\x01\x00\x33\x92\xb5\xe5"},
		{"tar", "tar archive", string(tarHeader("sys_info"))},
		{"any other ZIP archive", "ZIP archive with neither", string(archiveContents(t, map[string]string{"readme.txt": "hello"}))},
		{"ExecuTorch", "ExecuTorch", "\x40\x00\x00\x00ET12\x00\x00\x00\x00"},
		{"LiteRT-LM", "LiteRT-LM", "LITERTLM\x01\x00\x00\x00"},
		{"TensorRT", "TensorRT", "ftrt\x00\x00\x00\x00\x01\x00"},
		{"Parquet", "Parquet", "PAR1\x15\x04\x15\x10"},
		{"Arrow", "Parquet or Arrow", "ARROW1\x00\x00\xff\xff\xff\xff"},
		{"Java's serialization", "Java", "\xac\xed\x00\x05sr\x00\x11"},
		{"R", "object of R", "X\n\x00\x00\x00\x03\x00\x04\x02\x01"},
		{"CatBoost", "CatBoost", "CBM1\x10\x27\x00\x00"},
		{"Orbax", "OCDBT", "\x0c\xdb\x3a\x2a\x00\x00\x00\x00"},
		{"Flax", "Flax", "\x81\xa6params\x82\xa5Dense\x81"},
		{"GGML before GGUF", "GGML", "tjgg\x03\x00\x00\x00\x00\x7d\x00\x00"},
		{"an ELF program", "program", "\x7fELF\x02\x01\x01\x00\x00\x00\x00\x00"},
		{"a llamafile", "program", "MZqFpD='\n\n\x00\x10\x00\xf8"},
		{"PDF", "PDF", "%PDF-1.7\n%\xe2\xe3\xcf\xd3"},
		{"SQLite", "SQLite", "SQLite format 3\x00\x10\x00\x01\x01"},
		{"ONNX", "ONNX", "\x08\x08\x12\x07pytorch\x1a\x052.3.0:"},
		{"a pickle of protocol 4", "pickle", "\x80\x04\x95\x0b\x00\x00\x00\x00\x00\x00\x00\x8c\x01a\x94."},
		{"a pickle of protocol 0", "pickle", "(dp0\nVa\np1\nI1\ns."},
		{"a pickle that calls", "pickle", "cposix\nsystem\n(S'id'\ntR."},
		{"zeros", "zeros", zeros},
		{"a text", "text", "# Model card\n\nThis model was trained on.\n"},
	}
	named := map[string]bool{}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			_, err := parser.Decode(account(t, limits.Policy{}), bytes.NewReader([]byte(c.data)), int64(len(c.data)))
			if parser.ClassOf(err) != parser.Unsupported || !strings.Contains(err.Error(), c.what) {
				t.Fatalf("%v: %v", parser.ClassOf(err), err)
			}
			for _, r := range parser.Recognized() {
				if strings.Contains(err.Error(), "this is "+r.What+": "+r.Advice) {
					named[r.What] = true
				}
			}
		})
	}
	for _, r := range parser.Recognized() {
		if !named[r.What] {
			t.Errorf("no case for %q", r.What)
		}
	}
	t.Run("nothing known", func(t *testing.T) {
		_, err := detect(t, []byte("\xde\xad\xbe\xef\x00\x01\x02\x03\x04\x05"))
		if parser.ClassOf(err) != parser.Unsupported || !strings.Contains(err.Error(), "de ad be ef 00 01 02 03") {
			t.Errorf("%v", err)
		}
	})
}

// A file that is too short to be recognized is truncated, because a longer file may be valid.
func TestTooFewBytesAreTruncated(t *testing.T) {
	for _, data := range []string{
		"", "G", "GGU", "\x93NUM", "PK", "PK\x05", "PK\x03",
		"\x80\x00\x00\x00", "\x80\x00\x00\x00\x00\x00\x00\x00",
	} {
		if _, err := detect(t, []byte(data)); parser.ClassOf(err) != parser.Truncated {
			t.Errorf("%q: %v", data, err)
		}
	}
	for _, data := range []string{"\xff\xff\xff\xff\xff", "hello", "\x01\xe1\xf5\x05\x00\x00\x00\x00"} {
		if _, err := detect(t, []byte(data)); parser.ClassOf(err) != parser.Unsupported {
			t.Errorf("%q: %v", data, err)
		}
	}
}

// A header length beyond the limit of safetensors is refused by its parser, unless the file is a
// text.
func TestALongHeaderIsSafetensors(t *testing.T) {
	data := append(binary.LittleEndian.AppendUint64(nil, 1<<63-1), "{}"...)
	if got, err := detect(t, data); got != "safetensors" {
		t.Errorf("%q, %v", got, err)
	}
	if _, err := parser.Decode(account(t, limits.Policy{}), bytes.NewReader(data), int64(len(data))); parser.ClassOf(err) != parser.Malformed {
		t.Errorf("%v", err)
	}
}

// A file that two loaders read as two formats has no verdict.
func TestPolyglotsAreRefused(t *testing.T) {
	inner := archiveContents(t, map[string]string{"archive/data.pkl": "\x80\x02}."})
	comment := bytes.Clone(inner)
	comment[len(comment)-2] = 5
	comment = append(comment, "12345"...)
	// The record crosses the edge of a read, for every position.
	far := map[int][]byte{}
	for n := 16350; n < 16400; n++ {
		long := bytes.Clone(inner)
		binary.LittleEndian.PutUint16(long[len(long)-2:], uint16(n))
		far[n] = safetensors(strings.Repeat("x", 70_000) + string(long) + strings.Repeat(".", n))
	}
	text := bytes.Repeat([]byte(" "), 1024)
	copy(text, safetensors("")[8:])
	block := append(binary.LittleEndian.AppendUint64(nil, uint64(len(text))), text...)
	tar := tarHeader("")
	copy(tar, block[:100])
	for i := 100; i < 512; i++ { // the header's own fields look like JSON white space: invalid, but recognized first
		if tar[i] == 0 {
			tar[i] = ' '
		}
	}
	sum := 0
	copy(tar[148:156], "        ")
	for _, c := range tar[:512] {
		sum += int(c)
	}
	copy(tar[148:], octal(sum)+"\x00 ")
	cases := []struct {
		name, what string
		data       []byte
		off        int64
	}{
		{"a tensor that ends in a ZIP archive", "ZIP archive from its end", safetensors(string(inner)), -1},
		{"an archive with a comment", "ZIP archive from its end", safetensors(string(comment)), -1},
		{"a tar header around a safetensors header", "tar archive", tar, 0},
		{"arrays and a checkpoint", "npz or pth", archiveContents(t, map[string]string{"archive/data.pkl": "\x80\x02}.", "archive/a.npy": "\x93NUMPY"}), 0},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			if strings.Contains(c.what, "pth") && !slices.ContainsFunc(parser.Formats(), func(f parser.Format) bool { return f.Name == "pth" }) {
				t.Skip("pth is not read here")
			}
			_, err := detect(t, c.data)
			e, ok := errors.AsType[*parser.Error](err)
			if !ok || parser.ClassOf(err) != parser.Unsupported || !strings.Contains(err.Error(), c.what) {
				t.Fatalf("%v", err)
			}
			if c.off >= 0 && e.Off != c.off {
				t.Errorf("offset %d, want %d", e.Off, c.off)
			}
		})
	}
	t.Run("an archive with a long comment", func(t *testing.T) {
		for n, data := range far {
			if _, err := detect(t, data); parser.ClassOf(err) != parser.Unsupported {
				t.Errorf("comment of %d bytes: %v", n, err)
			}
		}
	})
	t.Run("the quirk makes it a finding", func(t *testing.T) {
		m, err := parser.Decode(account(t, limits.Policy{Quirks: []string{"detect.polyglot"}}), bytes.NewReader(cases[0].data), int64(len(cases[0].data)))
		if err != nil {
			t.Fatal(err)
		}
		want := []string{"detect.polyglot"}
		if diff := cmp.Diff(want, codes(m)); diff != "" {
			t.Error(diff)
		}
	})
	t.Run("an end record that leads nowhere is data", func(t *testing.T) {
		stray := safetensors("PK\x05\x06\x00\x00\x00\x00\x01\x00\x01\x00\x2e\x00\x00\x00\x00\x00\x00\x00\x00\x00")
		if _, err := detect(t, stray); err != nil {
			t.Error(err)
		}
	})
}

func codes(m tensor.Model) []string {
	var list []string
	for _, f := range m.Findings() {
		list = append(list, f.Code)
	}
	return list
}

// Detection charges nothing that stays, whatever the directory of the archive contains. A shard is
// opened by the parser of its set, and is not an archive either.
func TestAShardOfASetIsNotAnArchive(t *testing.T) {
	const name, index = "model-00001-of-00001.safetensors", "model.safetensors.index.json"
	end := "PK\x05\x06" + strings.Repeat("\x00", 18) + "x"
	dir := t.TempDir()
	put(t, dir, map[string]string{name: string(safetensors(end)), index: `{"weight_map":{"body":"` + name + `"}}`})
	for _, path := range []string{index, name, "."} {
		_, err := parser.Open(account(t, limits.Policy{}), filepath.Join(dir, path))
		if parser.ClassOf(err) != parser.Unsupported || !strings.Contains(err.Error(), "ZIP archive") {
			t.Errorf("%s: %v", path, err)
		}
		m, err := parser.Open(account(t, limits.Policy{Quirks: []string{"detect.polyglot"}}), filepath.Join(dir, path))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff([]string{"detect.polyglot"}, codes(m)); diff != "" {
			t.Errorf("%s: %s", path, diff)
		}
		m.Close()
	}
}

func TestDetectionLeavesNoCharge(t *testing.T) {
	data := archiveContents(t, map[string]string{"a.txt": "x", "b.txt": "y"})
	b := account(t, limits.Policy{})
	if _, err := parser.Decode(b, bytes.NewReader(data), int64(len(data))); parser.ClassOf(err) != parser.Unsupported {
		t.Fatal(err)
	}
	for _, u := range b.Usage() {
		if u.Axis != limits.Time && u.Axis != limits.SingleAlloc && u.Used != 0 {
			t.Errorf("%v: %d used", u.Axis, u.Used)
		}
	}
}

func TestAWrongSizeIsUsage(t *testing.T) {
	if _, err := parser.Detect(account(t, limits.Policy{}), bytes.NewReader(nil), -1); parser.ClassOf(err) != parser.Usage {
		t.Error(err)
	}
}

// An error of the reader is returned unchanged.
func TestAReadersErrorIsInternal(t *testing.T) {
	if _, err := parser.Detect(account(t, limits.Policy{}), failing{}, 100); parser.ClassOf(err) != parser.Internal || !errors.Is(err, io.ErrClosedPipe) {
		t.Error(err)
	}
}

type failing struct{}

func (failing) ReadAt([]byte, int64) (int, error) { return 0, io.ErrClosedPipe }
