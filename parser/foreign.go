package parser

import (
	"bytes"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/anamnesis-go/anamnesis/internal/polyglot"
	"github.com/anamnesis-go/anamnesis/internal/wire"
)

// foreign is a kind of content that people have instead of a model, with advice.
type foreign struct {
	what, advice string
	fits         func(h *head) bool
}

const unpack = "unpack it first"

// foreignKinds in order of precedence: magic bytes before text, and a single byte last.
var foreignKinds = append(modelTexts[:], []foreign{
	{"a Git LFS pointer, not the file itself", "run `git lfs pull` in its repository", startsWithWord("version https://git-lfs.github.com/spec/", "version https://hawser.github.com/spec/")},
	{"an HTML page", "the download got a web page instead of the file: check the address and whether it needs a login", startsWithWord("<!doctype html", "<html", "<head", "<body")},
	{"an XML document", "storage services answer with one when they refuse a download: read it as text", startsWithWord("<?xml", "<error>")},
	{"a JSON text", "a server may have answered with an error: read it as text", isJSON},
	{"gzip data", unpack + ": gunzip", magic("\x1f\x8b")},
	{"zstd data", unpack + ": unzstd", magic("\x28\xb5\x2f\xfd")},
	{"xz data", unpack + ": unxz", magic("\xfd7zXZ\x00")},
	{"bzip2 data", unpack + ": bunzip2", isBzip2},
	{"lz4 data", unpack + ": unlz4", magic("\x04\x22\x4d\x18")},
	{"a 7z archive", unpack + ": 7z x", magic("7z\xbc\xaf\x27\x1c")},
	{"a RAR archive", unpack + ": unrar x", magic("Rar!\x1a\x07")},
	{"a tar archive", unpack + ": tar xf (a checkpoint of PyTorch 0.1 is a tar of pickles: convert it with an old PyTorch)", func(h *head) bool { return polyglot.IsTar(h.p) }},
	{"a Keras model", "save its weights as safetensors or npz with Keras", func(h *head) bool { return looksZip(h) == yes && h.zipMembers().h5 > 0 }},
	{"a ZIP archive with neither arrays (.npy) nor a checkpoint (data.pkl)", unpack, func(h *head) bool { return looksZip(h) == yes }},
	{"an HDF5 file", "save its weights as safetensors or npz with the library that wrote it", magic("\x89HDF\r\n\x1a\n")},
	{"a TensorFlow Lite model", "save the weights as safetensors or npz with the library that wrote it", magicAt(4, "TFL3")},
	{"a model of ExecuTorch", "export the weights from the program that it was made of", magicAt(4, "ET1")},
	{"a model of LiteRT-LM", "ask for the weights as safetensors", magic("LITERTLM")},
	{"a TensorRT engine", "it is code for one kind of device: ask for the model that it was built from", magic("ptrt", "ftrt")},
	{"a table of Parquet or Arrow", "it is data, not a model: keep it in another folder", magic("PAR1", "ARROW1\x00\x00")},
	{"a Java object", "reading it in Java can run code: ask for the weights as safetensors", magic("\xac\xed\x00\x05")},
	{"an object of R", "reading it in R can run code: ask for the weights as safetensors", magic("X\n\x00\x00\x00", "RDX2\n", "RDX3\n")},
	{"a CatBoost model", "save it as JSON with CatBoost", magic("CBM1")},
	{"an array of Orbax (OCDBT)", "save the weights as safetensors or npz with Flax or Orbax", magic("\x0c\xdb\x3a\x2a", "\x0c\xdb\x20\xde", "\x0c\xdb\x1c\xc0")},
	{"a checkpoint of Flax (msgpack)", "save the weights as safetensors with Flax", isFlax},
	{"a GGML file from before GGUF", "convert it with convert_llama_ggml_to_gguf.py of llama.cpp", magic("lmgg", "fmgg", "tjgg", "algg")},
	{"a program", "a llamafile carries its GGUF inside: extract that", magic("\x7fELF", "MZ", "\xcf\xfa\xed\xfe", "\xfe\xed\xfa\xcf")},
	{"a PDF document", "look for the file itself", magic("%PDF-")},
	{"a SQLite database", "look for the file itself", magic("SQLite format 3\x00")},
	{"an ONNX model, or another protobuf message such as TensorFlow's saved_model.pb or Core ML's model", "save the weights as safetensors or npz with the library that wrote it", isONNX},
	{"a pickle that is not a PyTorch checkpoint", "loading it in Python runs its code; a scan judges it without running anything", isPickle},
	{"nothing but zeros at its beginning", "a preallocated download that did not finish: fetch it again", isZero},
	{"a text", "look for the file itself", func(h *head) bool { return isText(h.p) }},
}...)

// A Recognition is a kind of content that is recognized but not read.
type Recognition struct {
	What   string // "gzip data"
	Advice string // "unpack it first: gunzip"
}

// Recognized lists the kinds of content that an error names if a file has no supported
// format.
func Recognized() []Recognition {
	var list []Recognition
	for _, f := range foreignKinds {
		list = append(list, Recognition{f.what, f.advice})
	}
	return list
}

// foreign returns an error that says what the content is instead of a model.
func (h *head) foreign() error {
	for _, f := range foreignKinds {
		if f.fits(h) {
			return wire.ErrUnsupported.WithRule("detect.foreign").Errorf("this is %s: %s", f.what, f.advice)
		}
	}
	return wire.ErrUnsupported.WithRule("detect.unknown").Errorf("the content is of no known format; it begins with % x", h.p[:min(8, len(h.p))])
}

func magic(any ...string) func(*head) bool {
	return func(h *head) bool { return hasAnyMagic(h, any...) }
}

func magicAt(off int, m string) func(*head) bool {
	return func(h *head) bool { return len(h.p) >= off+len(m) && string(h.p[off:off+len(m)]) == m }
}

// startsWithWord returns a matcher for texts that begin with one of the words, in any
// case.
func startsWithWord(any ...string) func(*head) bool {
	return func(h *head) bool {
		start := strings.ToLower(string(trimText(h.p[:min(256, len(h.p))])))
		return slices.ContainsFunc(any, func(s string) bool { return strings.HasPrefix(start, s) })
	}
}

func trimText(p []byte) []byte {
	return bytes.TrimLeft(bytes.TrimPrefix(p, []byte("\xef\xbb\xbf")), " \t\r\n")
}

func isJSON(h *head) bool {
	p := trimText(h.p)
	if len(p) < 2 || p[0] != '{' && p[0] != '[' || !isText(p) {
		return false
	}
	next := bytes.TrimLeft(p[1:], " \t\r\n")
	return len(next) > 0 && strings.IndexByte(`"{}[]0123456789-tfn`, next[0]) >= 0
}

// isText reports whether p is UTF-8 without control characters. The last rune may be
// incomplete.
func isText(p []byte) bool {
	for len(p) > 0 {
		r, n := utf8.DecodeRune(p)
		if r == utf8.RuneError && n == 1 {
			return !utf8.FullRune(p)
		}
		if r < ' ' && strings.IndexByte("\t\n\v\f\r\x1b", byte(r)) < 0 || r == 0x7f {
			return false
		}
		p = p[n:]
	}
	return true
}

func isBzip2(h *head) bool {
	return h.hasMagic("BZh") == yes && len(h.p) > 9 && h.p[3] >= '1' && h.p[3] <= '9' && string(h.p[4:10]) == "1AY&SY"
}

// isONNX matches the beginning of a ModelProto: field 1, the version of the format, then
// field 2 with a name, or another field of that message.
func isONNX(h *head) bool {
	p := h.p
	if len(p) < 8 || p[0] != 0x08 || p[1] == 0 || p[1] > 31 {
		return false
	}
	switch p[2] {
	case 0x12, 0x1a, 0x22, 0x32, 0x3a, 0x42, 0x72:
		return p[3] > 0
	}
	return false
}

// isPickle matches protocols 2 to 5 of Python's pickles, and the shortest beginnings of 0
// and 1: an empty container, or a global.
func isPickle(h *head) bool {
	p := h.p
	if len(p) >= 3 && p[0] == 0x80 && p[1] >= 2 && p[1] <= 5 {
		return true
	}
	if h.size > headLen || p[len(p)-1] != '.' {
		return false
	}
	first, rest, _ := strings.Cut(string(p), "\n")
	first = strings.TrimPrefix(first, "(")
	if n := len(first); n > 2 && first[1] == 'p' && strings.IndexByte("dlt", first[0]) >= 0 {
		return strings.Trim(first[2:], "0123456789") == ""
	}
	name, _, more := strings.Cut(rest, "\n")
	return more && len(first) > 1 && first[0] == 'c' && isDotted(first[1:]) && isDotted(name)
}

// isDotted reports whether s is a Python name, which may have dots.
func isDotted(s string) bool {
	return s != "" && strings.IndexFunc(s, func(r rune) bool {
		return r != '_' && r != '.' && (r < '0' || r > '9') && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z')
	}) < 0
}

// isFlax matches the beginning of a map of msgpack whose first key is a name in lower case.
func isFlax(h *head) bool {
	p := h.p
	if len(p) < 4 || p[0]&0xf0 != 0x80 || p[0] == 0x80 || p[1]&0xe0 != 0xa0 {
		return false
	}
	n := int(p[1] & 31)
	return n >= 2 && len(p) > 2+n && strings.Trim(string(p[2:2+n]), "abcdefghijklmnopqrstuvwxyz_0123456789") == ""
}

func isZero(h *head) bool { return len(bytes.Trim(h.p, "\x00")) == 0 }
