package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"fmt"
	"io"
	"strings"

	"github.com/anamnesis-go/anamnesis/corpus"
	"github.com/klauspost/compress/flate"
	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zlib"
	"github.com/klauspost/compress/zstd"
)

// names are those that the gate judges by more than their bytes.
var names = []string{
	"config.json", "tokenizer.json", "tokenizer_config.json", "model_index.json", "generation_config.json", "MAR-INF/MANIFEST.json", "modules.json",
	"model.safetensors.index.json", "adapter_config.json", "params.json", "a.yaml", "config.yml", "chat_template.jinja", "a.j2", "a.txt", "README.md", "vocab.txt",
	"merges.txt", "a.py", "a.toml", "a.xml", "a.bin", "a.pkl", "a.npy", "a.npz", "a.pt", "a.pth", "a.gguf", "a.onnx", "a.h5", "a.keras", "a.zip", "a.tar", "a.mar",
	"a.safetensors", "tokenizer.model", "a.csv", "a.html", "a.ipynb", "a.joblib", "a",
}

// tokens are parts of which texts are made that a reader looks at twice.
var tokens = []string{
	"activation,", "activation: ", "x: {", "- ", "a: ", "? ", "&a *a ", "!!python/object/apply:os.system ", "|\n ", "'", "\"", "\\", "\\u0041", "[", "{", "}", "]", "{{", "}}",
	"{%", "%}", "{{ a.b }}", "{% if a %}", "{% endif %}", "{% for a in b %}", "__class__", "|attr('x')", "(", ")", "\n", " ", "\t", "\r\n", "0", "1,", "1e9", "true,", "null,",
	"\"a\":", "{\"a\":", "[[", "{},", "[],", "auto_map", "trust_remote_code", "_target_: ", "import os\n", "http://a/", "../", "/", ".", ":", ",", ";", "#", "é", "\x00", "\xff",
	"(lp0\n", "(dp0\n", "I1\n", "S'a'\n", "cos\nsystem\n", "(", "l", "t", "0", "}", "]", "N.", "K\x01", "\x8c\x01a", "q\x00", "h\x00", "\x94", "a", "s", "e", "u",
	"\"chat_template\":\"", "{\"\": ", "<a>", "</a>", "<!--", "---\n", "...\n", "%YAML ", "<<: *a\n", "a.b.c.", "torch.nn.", "lambda: ", "\"model\":{\"vocab\":{", "\"merges\":[",
}

// shapes are inputs that are known to be dear, and such that no recipe has.
func shapes() (list []*input) {
	add := func(name, format string, data []byte) {
		list = append(list, &input{name: name, format: format, data: data})
	}
	text := func(name, begin, part string, n int, end string) {
		add(name, "text", []byte(begin+strings.Repeat(part, n)+end))
	}
	text("a.yaml", "x: {", "activation,", 20_000, "}\n")
	text("a.yaml", "", "a: activation\n", 20_000, "")
	text("config.json", `{"a":[`, "1,", 100_000, "1]}")
	text("config.json", "", "[", 60, strings.Repeat("]", 60))
	text("a.jinja", "", "{{ a }}", 20_000, "")
	text("a.jinja", "{{ ", "a.b", 20_000, " }}")
	text("a.txt", "", "word ", 20_000, "")
	text("a.py", "", "import os\n", 20_000, "")
	text("vocab.txt", "", "a\n", 20_000, "")
	text("tokenizer.json", `{"model":{"type":"BPE","vocab":{"a":0},"merges":["a b"`, `,"a b"`, 10_000, `]}}`)
	text("tokenizer_config.json", `{"chat_template":"`, "{% if a %}{% endif %}", 5_000, `"}`)
	// What the grid found dearest for a step, before it was charged.
	text("tokenizer.json", `{"a":"`, `\\`, gridLen/2, `"}`)
	text("config.json", "{{ ", "(", gridLen, " }}")
	text("config.json", "x: {", "import os\n", gridLen/10, "}\n")
	imports := "a\ncos\nsystem\n" // may begin a pickle anywhere
	text("a.txt", imports, strings.Repeat("V", 4_000)+" b\n", 16, "")
	text("a.txt", imports, strings.Repeat("I", 2_000)+"\n", 32, "")
	text("a.txt", imports, strings.Repeat("(I", 100)+"\n", 320, "")
	text("a.txt", imports, "]", 65_000, "")
	text("config.json", `{"a":"`, "cos\nsystem\n", 20_000, `"}`)
	add("a.tar", "wrap", members(16, []byte(imports+strings.Repeat(strings.Repeat("V", 4_000)+" b\n", 16))))
	small := members(1_000, []byte("x"))
	add("a.tar", "wrap", small)
	add("a.zip", "zip", zipped(2_000, []byte("x"), zip.Store))
	add("a.zip", "zip", zipped(5_000, []byte("\x89PNG\r\n\x1a\n"), zip.Store)) // each asks whether a model beside it explains it
	add("a.yaml", "text", []byte(strings.Repeat(`"$a" `, 40_000)))
	add("a.zip", "zip", zipped(500, bytes.Repeat([]byte("x"), 1_000), zip.Deflate))
	for _, p := range packers {
		add("a.tar"+p.ext, "wrap", p.pack(small))
		add("config.json"+p.ext, "wrap", p.pack([]byte(`{"a":[`+strings.Repeat("1,", 1<<20)+"1]}")))
		add("a.tar"+p.ext, "wrap", p.pack(archive("config.json", []byte(`{"a":[`+strings.Repeat("1,", 1<<20)+"1]}"))))
		for _, content := range []string{"", `{"a":1}`} { // many streams, each by itself and in another one
			one := p.pack([]byte(content))
			if len(one) == 0 || string(one) == content {
				continue
			}
			add("a.zip", "wrap", zipped(mebi/(len(one)+92), one, zip.Store))
			add("a.tar"+p.ext, "wrap", p.pack(members(7_000, one)))
			twice := p.pack(one)
			add("a.zip", "wrap", zipped(mebi/(len(twice)+92), twice, zip.Store))
		}
	}
	for _, s := range corpus.Valid("wrap") {
		if strings.HasPrefix(s.Name, "bzip2-tables") {
			many := bytes.Repeat(s.Data, mebi/len(s.Data))
			add("a.bz2", "wrap", many)
			add("a.bz2.gz", "wrap", packers[0].pack(bytes.Repeat(many, 16)))
			add("a.zip", "wrap", zipped(mebi/(len(s.Data)/200+92), s.Data[:len(s.Data)/200], zip.Store))
		}
	}
	return list
}

// A packer compresses.
type packer struct {
	ext  string
	pack func([]byte) []byte
}

// packers are those that can be written here.
var packers = []packer{
	{".gz", func(p []byte) []byte {
		return packed(p, func(w io.Writer) io.WriteCloser { z, _ := gzip.NewWriterLevel(w, 9); return z })
	}},
	{".zz", func(p []byte) []byte {
		return packed(p, func(w io.Writer) io.WriteCloser { z, _ := zlib.NewWriterLevel(w, 9); return z })
	}},
	{".zst", func(p []byte) []byte {
		return packed(p, func(w io.Writer) io.WriteCloser { z, _ := zstd.NewWriter(w, zstd.WithEncoderConcurrency(1)); return z })
	}},
	{".xz", packedBy("xz", "-c", "-1")},
	{".lzma", packedBy("xz", "-c", "-1", "--format=lzma")},
	{".bz2", packedBy("bzip2", "-c")},
}

func packed(p []byte, open func(io.Writer) io.WriteCloser) []byte {
	var out bytes.Buffer
	z := open(&out)
	z.Write(p)
	z.Close()
	return out.Bytes()
}

// members returns a tar of n files of the same content.
func members(n int, content []byte) []byte {
	var out bytes.Buffer
	t := tar.NewWriter(&out)
	for i := range n {
		t.WriteHeader(&tar.Header{Name: fmt.Sprintf("f%d", i), Size: int64(len(content)), Mode: 0o644, Format: tar.FormatUSTAR})
		t.Write(content)
	}
	t.Close()
	return out.Bytes()
}

// archive returns a tar of one file.
func archive(name string, content []byte) []byte {
	var out bytes.Buffer
	t := tar.NewWriter(&out)
	t.WriteHeader(&tar.Header{Name: name, Size: int64(len(content)), Mode: 0o644, Format: tar.FormatUSTAR})
	t.Write(content)
	t.Close()
	return out.Bytes()
}

// zipped returns a ZIP archive of n files of the same content.
func zipped(n int, content []byte, method uint16) []byte {
	var out bytes.Buffer
	z := zip.NewWriter(&out)
	z.RegisterCompressor(zip.Deflate, func(w io.Writer) (io.WriteCloser, error) { return flate.NewWriter(w, 9) })
	for i := range n {
		w, err := z.CreateHeader(&zip.FileHeader{Name: fmt.Sprintf("f%d", i), Method: method})
		if err == nil {
			w.Write(content)
		}
	}
	z.Close()
	return out.Bytes()
}

// gridLen is the size of an input of the grid: large enough that what grows with the square
// of the size is seen.
const gridLen = 192 << 10

// frames are what stands around the tokens of the grid.
var frames = [][2]string{{"", ""}, {"x: {", "}\n"}, {`{"a":"`, `"}`}, {`{"a":[`, `""]}`}, {"{{ ", " }}"}, {`{"chat_template":"{{ `, ` }}"}`}}

// grid visits each token under each name that has a reader of its own.
func grid(visit func(*input)) {
	for _, name := range names {
		for _, token := range tokens {
			for _, f := range frames {
				visit(&input{name: name, format: "text", data: []byte(f[0] + strings.Repeat(token, gridLen/len(token)) + f[1])})
			}
		}
	}
}
