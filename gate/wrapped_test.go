package gate_test

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"compress/zlib"
	"encoding/base64"
	"io"
	"strings"
	"testing"

	"github.com/anamnesis-go/anamnesis/gate"
	"github.com/anamnesis-go/anamnesis/limits"
)

// A member is a file of an archive.
type member struct{ name, data string }

func zipped(t testing.TB, list ...member) string {
	t.Helper()
	var out bytes.Buffer
	z := zip.NewWriter(&out)
	for _, m := range list {
		w, err := z.Create(m.name)
		if err == nil {
			_, err = io.WriteString(w, m.data)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

func tarred(t testing.TB, list ...member) string {
	t.Helper()
	var out bytes.Buffer
	z := tar.NewWriter(&out)
	for _, m := range list {
		h := &tar.Header{Name: m.name, Mode: 0o644, Size: int64(len(m.data)), Typeflag: tar.TypeReg}
		if to, link := strings.CutPrefix(m.data, "-> "); link {
			h = &tar.Header{Name: m.name, Typeflag: tar.TypeSymlink, Linkname: to}
			m.data = ""
		}
		err := z.WriteHeader(h)
		if err == nil {
			_, err = io.WriteString(z, m.data)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

func squeezed(t testing.TB, data string, open func(io.Writer) io.WriteCloser) string {
	t.Helper()
	var out bytes.Buffer
	z := open(&out)
	if _, err := io.WriteString(z, data); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

func gzipped(t testing.TB, data string) string {
	return squeezed(t, data, func(w io.Writer) io.WriteCloser { return gzip.NewWriter(w) })
}

func deflated(t testing.TB, data string) string {
	return squeezed(t, data, func(w io.Writer) io.WriteCloser { return zlib.NewWriter(w) })
}

// zstded is a frame of raw blocks, or blocks of one repeated byte.
func zstded(data string) string {
	const most = 128 << 10
	out := "\x28\xb5\x2f\xfd\x00\x38"
	for last := 0; last == 0; {
		p := data[:min(most, len(data))]
		if data = data[len(p):]; data == "" {
			last = 1
		}
		same := strings.Count(p, p[:1]) == len(p)
		head := last | len(p)<<3
		if same {
			head, p = head|2, p[:1]
		}
		out += string([]byte{byte(head), byte(head >> 8), byte(head >> 16)}) + p
	}
	return out
}

// bzip2 -9 of the pickle evil.
const evilBzip2 = "QlpoOTFBWSZTWR8vIqUAAATTgAAQAMEYAA4ijCAgACIhobRPKYpgACi8jgQkuCV+mTWLuSKcKEgPl5FSgA=="

// evilXZ and evilLZMA are what Python 3.11.7 makes of the same.
const (
	evilXZ   = "/Td6WFoAAATm1rRGAgAhARYAAAB0L+WjAQAUY29zCnN5c3RlbQooUydpZCcKdFIuAAAAALWMMK4LlRasAAEtFS8LcW0ftvN9AQAAAAAEWVo="
	evilLZMA = "XQAAgAD//////////wAxm8rGsnxl39+RWZ+x1n4tcWoFcVZM8vMol///mM4AAA=="
)

// Packings of a pickle that runs code, with the name in the verdict.
func TestPackedContentIsJudgedLikeAPlainFile(t *testing.T) {
	one := member{"inner/model.bin", evil}
	read := member{"README.md", "a note\n"}
	bz, err := base64.StdEncoding.DecodeString(evilBzip2)
	if err != nil {
		t.Fatal(err)
	}
	xz, err := base64.StdEncoding.DecodeString(evilXZ)
	if err != nil {
		t.Fatal(err)
	}
	alone, err := base64.StdEncoding.DecodeString(evilLZMA)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ what, name, data, class, rule, where string }{
		{"a ZIP archive", "a.zip", zipped(t, read, one), "forbidden", "pickle.global", "a.zip!inner/model.bin"},
		{"one of a name that says nothing", "artifact", zipped(t, read, one), "forbidden", "pickle.global", "artifact!inner/model.bin"},
		{"a tar archive", "a.tar", tarred(t, read, one), "forbidden", "pickle.global", "a.tar!inner/model.bin"},
		{"a packed tar archive", "outer.tar.gz", gzipped(t, tarred(t, read, one)), "forbidden", "pickle.global", "outer.tar.gz!inner/model.bin"},
		{"one in an archive", "x.zip", zipped(t, member{"o.tgz", gzipped(t, tarred(t, one))}), "forbidden", "pickle.global", "x.zip!o.tgz!inner/model.bin"},
		{"gzip", "w.pkl.gz", gzipped(t, evil), "forbidden", "pickle.global", "w.pkl.gz!w.pkl"},
		{"zlib, as joblib packs", "w.joblib", deflated(t, evil), "forbidden", "pickle.global", "w.joblib!w.joblib"},
		{"zstd", "w.zst", zstded(evil), "forbidden", "pickle.global", "w.zst!w"},
		{"bzip2", "w.bz2", string(bz), "forbidden", "pickle.global", "w.bz2!w"},
		{"xz", "w.xz", string(xz), "forbidden", "pickle.global", "w.xz!w"},
		{"LZMA, as joblib packs", "w.pkl", string(alone), "forbidden", "pickle.global", "w.pkl!w.pkl"},
		{"xz that is cut", "w.xz", string(xz[:20]), "truncated", "xz.truncated", ""},
		{"lz4", "w.lz4", "\x04\x22\x4d\x18\x00\x00", "unsupported", "gate.unlooked", ""},
		{"a link in an archive", "a.tar", tarred(t, member{"l", "-> /etc/passwd"}), "unsupported", "gate.unlooked", "a.tar!l"},
		{"an honest archive", "a.tar", tarred(t, read, member{"m.safetensors", empty}), "ok", "", ""},
		{"an honest ZIP archive", "a.zip", zipped(t, read, member{"m.safetensors", empty}, member{"dir/", ""}), "ok", "", ""},
		{"an honest packed model", "m.safetensors.gz", gzipped(t, empty), "ok", "", ""},
		{"a packed text", "notes.gz", gzipped(t, "a note\n"), "ok", "", ""},
		{"nothing", "a.zip", zipped(t), "ok", "", ""},
		{"something behind the end", "a.tar", tarred(t, read) + "\x01", "malformed", "tar.hole", ""},
		{"something behind a stream", "a.joblib", deflated(t, "N.") + "\x01", "malformed", "stream.trailing", ""},
		{"a stream that is cut", "a.gz", gzipped(t, evil)[:20], "truncated", "gzip.truncated", ""},
		{"a name that promises a model", "m.safetensors", zipped(t, read), "unsupported", "detect.foreign", ""},
		{"a frame that zstd skips", "a.zst", zstded("x") + "\x50\x2a\x4d\x18\x01\x00\x00\x00x", "malformed", "zstd.skippable", ""},
		{"a name that appears twice", "a.tar", tarred(t, read, read), "malformed", "tar.name-twice", ""},
		{"a path that leaves the folder", "a.tar", tarred(t, member{"../x", "a"}), "malformed", "tar.path-escape", ""},
		{"a model in an archive that is refused", "a.zip", zipped(t, member{"m.gguf", "GGUF"}), "truncated", "gguf.truncated", "a.zip!m.gguf"},
	} {
		t.Run(c.what, func(t *testing.T) {
			for _, beside := range []bool{false, true} {
				if !beside && c.rule == "gate.unlooked" && c.where == "" {
					continue // what is given must be a model
				}
				v, text := check(t, gate.Gate{}, c.data, gate.Hint{Name: c.name, Beside: beside})
				rule, where := "", ""
				if list := v.Refusals(); len(list) > 0 {
					rule, where = list[0].Rule, list[0].Where
				}
				if v.Class().String() != c.class || !strings.HasPrefix(rule, c.rule) || c.rule == "" && rule != "" {
					if c.name == "m.safetensors" || v.Harmless == "" {
						t.Errorf("%v by rule %q in %s: %s", v.Class(), rule, where, text)
					}
				}
				if c.where != "" && !strings.Contains(where, `"`+c.where+`"`) {
					t.Errorf("%s is not in %s", c.where, where)
				}
				if rule != "" && !gate.IsRule(rule) {
					t.Errorf("no rule %s is listed", rule)
				}
			}
		})
	}
}

// A bomb costs little, however it is packed, and is a limit.
func TestBombsAreRefused(t *testing.T) {
	zeros := strings.Repeat("\x00", 65<<20)
	one, small := gzipped(t, zeros), gzipped(t, zeros[:8<<20])
	var many []member
	for i := range 12 {
		many = append(many, member{string(rune('a' + i)), small})
	}
	deep := "a note\n"
	for range 10 {
		deep = gzipped(t, deep)
	}
	for what, c := range map[string]struct{ data, rule string }{
		"gzip":            {one, "limit.inflate_ratio"},
		"gzip in gzip":    {gzipped(t, one), "limit.inflate_ratio"},
		"zlib":            {deflated(t, zeros), "limit.inflate_ratio"},
		"zstd":            {zstded(zeros), "limit.inflate_ratio"},
		"zip":             {zipped(t, member{"zeros", zeros}), "limit.inflate_ratio"},
		"many small ones": {tarred(t, many...), "limit.inflate_ratio"},
		"layers":          {deep, "limit.depth"},
	} {
		t.Run(what, func(t *testing.T) {
			v, _ := check(t, gate.Gate{}, c.data, gate.Hint{Name: "x"})
			if list := v.Refusals(); len(list) == 0 || list[len(list)-1].Rule != c.rule {
				t.Errorf("%v: %v", list, v.Err)
			}
		})
	}
}

// Every reader of what is inflated sees the same, and the account is bounded.
func TestALargeStreamIsReadInLittleMemory(t *testing.T) {
	const n = 48 << 20
	var data strings.Builder
	data.WriteString("\x80\x00\x00\x00\x00\x00\x00\x00")
	head := `{"w":{"dtype":"U8","shape":[50331648],"data_offsets":[0,50331648]}}`
	data.WriteString(head + strings.Repeat(" ", 128-len(head)))
	for x := uint32(1); data.Len() < n+136; { // what does not pack well
		x = x*1664525 + 1013904223
		data.WriteByte(byte(x >> 24))
	}
	g := gate.Gate{Policy: gate.Policy{Limits: limits.Policy{MaxTotalBytes: 20 << 20}}}
	v, text := check(t, g, gzipped(t, data.String()), gate.Hint{Name: "m.safetensors.gz"})
	if !v.Accepted() || v.Totals.Bytes != n || !v.Verified {
		t.Error(text)
	}
}

// A stream cannot tell more of what is packed than that it is.
func TestStreamsDoNotRefusePackedContent(t *testing.T) {
	data := gzipped(t, tarred(t, member{"m.safetensors", empty}, member{"big", strings.Repeat("a text of many words\n", 1<<14)}))
	for _, name := range []string{"a.tar.gz", "x"} {
		for _, size := range []int64{int64(len(data)), -1} {
			b := limits.Policy{}.Budget(t.Context())
			g := gate.Gate{}
			s := g.Stream(b, size, gate.Hint{Name: name})
			for p := data; p != ""; {
				n := min(len(p), 100)
				if _, err := s.Write([]byte(p[:n])); err != nil {
					t.Fatal(err, s.Verdict())
				}
				p = p[n:]
			}
			s.Close()
			b.Close()
		}
	}
}
