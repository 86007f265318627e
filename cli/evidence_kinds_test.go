//go:build unix

package cli_test

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"compress/zlib"
	"crypto/sha1"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/anamnesis-go/anamnesis/corpus"
	"github.com/anamnesis-go/anamnesis/internal/effort"
	"github.com/anamnesis-go/anamnesis/parser"
)

// ofEachKind returns an honest file of each kind of content that is opened or passed, by the name
// of the kind, under a name that fits.
func ofEachKind(t *testing.T) map[string][2]string {
	t.Helper()
	media := func(name string) string {
		p, err := os.ReadFile("../testdata/media/" + name)
		if err != nil {
			t.Fatal(err)
		}
		return string(p)
	}
	var tarred, zipped, gzipped, zlibbed bytes.Buffer
	packed := func(err error) {
		if err != nil {
			t.Fatal(err)
		}
	}
	tw := tar.NewWriter(&tarred)
	packed(tw.WriteHeader(&tar.Header{Name: "a.txt", Mode: 0o644, Size: 2, Typeflag: tar.TypeReg}))
	_, err := tw.Write([]byte("a\n"))
	packed(err)
	packed(tw.Close())
	zw := zip.NewWriter(&zipped)
	f, err := zw.CreateHeader(&zip.FileHeader{Name: "a.txt", Method: zip.Store})
	packed(err)
	_, err = f.Write([]byte("a\n"))
	packed(err)
	packed(zw.Close())
	gz, zl := gzip.NewWriter(&gzipped), zlib.NewWriter(&zlibbed)
	for _, w := range []interface {
		Write([]byte) (int, error)
		Close() error
	}{gz, zl} {
		_, err := w.Write([]byte("a\n"))
		packed(err)
		packed(w.Close())
	}
	index := "DIRC\x00\x00\x00\x02\x00\x00\x00\x00"
	sum := sha1.Sum([]byte(index))
	all := map[string][2]string{
		"pickle": {"x.pkl", "\x80\x04]\x94."}, "tar": {"x.tar", tarred.String()}, "zip": {"x.zip", zipped.String()},
		"gzip": {"x.gz", gzipped.String()}, "zlib": {"x.zlib", zlibbed.String()}, "zstd": {"x.zst", "\x28\xb5\x2f\xfd\x20\x02\x11\x00\x00a\n"}, // one block as it is
		// The output of Python's bz2 and lzma for "a\n".
		"bzip2":     {"x.bz2", "\x42\x5a\x68\x39\x31\x41\x59\x26\x53\x59\x63\x3e\xd6\xe2\x00\x00\x00\xc1\x00\x00\x10\x20\x00\x20\x00\x21\x00\x82\xb1\x77\x24\x53\x85\x09\x06\x33\xed\x6e\x20"},
		"xz":        {"x.xz", "\xfd\x37\x7a\x58\x5a\x00\x00\x04\xe6\xd6\xb4\x46\x02\x00\x21\x01\x16\x00\x00\x00\x74\x2f\xe5\xa3\x01\x00\x01\x61\x0a\x00\x00\x00\x13\x47\x3f\xb8\x93\x9d\x45\xd4\x00\x01\x1a\x02\xdc\x2e\xa5\x7e\x1f\xb6\xf3\x7d\x01\x00\x00\x00\x00\x04\x59\x5a"},
		"lzma":      {"x.lzma", "\x5d\x00\x00\x80\x00\xff\xff\xff\xff\xff\xff\xff\xff\x00\x30\x82\x9c\xff\xff\xff\xff\xf0\x00\x00\x00"},
		"tokenizer": {"tokenizer.json", "{}"}, "adapter-config": {"adapter_config.json", "{}"}, "diffusers-config": {"model_index.json", "{}"},
		"tokenizer-config": {"tokenizer_config.json", "{}"}, "processor-config": {"preprocessor_config.json", "{}"}, "config": {"config.json", "{}"},
		"quantization-config": {"quantize_config.json", "{}"}, "generation-config": {"generation_config.json", "{}"}, "special-tokens": {"special_tokens_map.json", "{}"},
		"trainer-state": {"trainer_state.json", "{}"}, "modules": {"modules.json", "[]"}, "html": {"x.html", "<html></html>\n"}, "xml": {"x.xml", "<a/>\n"},
		"git-lfs": {"x.txt", "version https://git-lfs.github.com/spec/v1\noid sha256:" + strings.Repeat("0", 64) + "\nsize 1\n"}, "joblib": {"x.joblib", "\x80\x04]\x94."},
		"nemo": {"x.nemo", tarred.String()}, "mar": {"x.mar", zipped.String()}, "skops": {"x.skops", zipped.String()}, "keras": {"x.keras", zipped.String()},
		"dcp": {"__0_0.distcp", "part"}, "deepspeed": {"latest", "global_step1\n"}, "tfbundle": {"x.index", strings.Repeat("\x00", 40) + "\x57\xfb\x80\x8b\x24\x75\x47\xdb"}, "index": {"x.safetensors.index.json", `{"weight_map":{"w":"w.safetensors"}}`},
		"empty": {"__init__", ""}, "json": {"x.json", "{}"}, "text": {"x.txt", "a text\n"},
		"png": {"x.png", media("image.png")}, "jpeg": {"x.jpg", media("image.jpg")}, "gif": {"x.gif", media("image.gif")},
		"webp": {"x.webp", media("image.webp")}, "wav": {"x.wav", media("sound.wav")}, "avi": {"x.avi", media("film.avi")},
		"bmp": {"x.bmp", media("image.bmp")}, "tiff": {"x.tiff", media("image.tiff")},
		"ico": {"x.ico", media("image.ico")}, "font": {"x.ttf", "\x00\x01\x00\x00\x00\x00" + strings.Repeat("\x00", 6)}, "mp4": {"x.mp4", media("film.mp4")},
		"flac": {"x.flac", media("sound.flac")}, "ogg": {"x.ogg", media("sound.ogg")}, "mp3": {"x.mp3", media("sound.mp3")}, "pdf": {"x.pdf", media("page.pdf")},
		"tensorboard":   {"events.out.tfevents.1", "\x18\x00\x00\x00\x00\x00\x00\x00\xa3\x7f\x4b\x22\x09\xa2\xcf\xcb\xd2\xa9\xc2\xda\x41\x1a\x0dbrain.Event:2" + "\x69\x46\xdc\x5e"},
		"sentencepiece": {"spiece.model", strings.Repeat("\n\x0c\n\x03<s>\x15\x00\x00\x00\x00\x18\x03", 3)},
		"git":           {"index", index + string(sum[:])}, "git-object": {"object", "blob 3\x00abc"},
	}
	for _, kind := range []string{"ggml", "gguf", "npy", "npz", "pth", "safetensors", "onnx", "hdf5", "tflite"} {
		var best *corpus.Seed
		for _, s := range corpus.Valid(kind) {
			if (s.Recipe == nil || s.Recipe.Policy == nil) && (best == nil || len(s.Data) < len(best.Data)) {
				best = &s
			}
		}
		if best != nil {
			all[kind] = [2]string{"x-" + kind + filepath.Ext(best.Name), string(best.Data)}
		}
	}
	return all
}

// A statement notices whatever happens to a file of each kind that the gate knows, before it is
// made or after.
func TestChangesOfEveryKindOfFileInvalidateAStatement(t *testing.T) {
	kinds, bench := ofEachKind(t), newBench(t)
	var without []string
	for _, k := range parser.Kinds() {
		if _, ok := kinds[k.Name]; !ok && k.Opens != parser.NotOpened {
			without = append(without, k.Name)
		}
	}
	if len(without) > 0 {
		t.Errorf("no file of %q", without)
	}
	base := map[string]string{"model.safetensors": tensorOf("w", 1), "sub/w.safetensors": tensorOf("w", 2)}
	changes := map[string]func(path string) error{
		"added": func(path string) error {
			return os.WriteFile(filepath.Join(filepath.Dir(path), "2"+filepath.Base(path)), []byte(load(t, path)), 0o666)
		},
		"removed": os.Remove,
		"swapped": func(path string) error { return os.WriteFile(path, []byte(load(t, path)+"\n"), 0o666) },
		"renamed": func(path string) error { return os.Rename(path, path+"2") },
		"linked": func(path string) error {
			return errorsOf(os.Rename(path, path+"2"), os.Symlink(filepath.Base(path)+"2", path))
		},
		"folded": func(path string) error {
			return os.Rename(path, filepath.Join(filepath.Dir(path), strings.ToUpper(filepath.Base(path))+"."))
		},
	}
	count, refused := 0, []string{}
	for i, kind := range slices.Sorted(maps.Keys(kinds)) {
		files := maps.Clone(base)
		files["sub/"+kinds[kind][0]] = kinds[kind][1]
		for j, what := range slices.Sorted(maps.Keys(changes)) {
			if !effort.Whole() && (i+j)%3 != 0 || !effort.Some((i+j)/3) {
				continue
			}
			before, after := t.TempDir(), t.TempDir()
			layFiles(t, before, files)
			layFiles(t, after, files)
			if err := changes[what](filepath.Join(after, "sub", kinds[kind][0])); err != nil {
				t.Fatal(err)
			}
			for from, to := range map[string]string{before: after, after: before} {
				if ok, _ := bench.attest(t, from); ok {
					if r := bench.verify(t, from); r.code != 0 {
						t.Errorf("%s: as it was: exit %d: %s", kind, r.code, r.err)
					}
					count++
					if r := bench.verify(t, to); r.code != 8 {
						t.Errorf("%s, %s: exit %d: %s%s", kind, what, r.code, r.out, r.err)
					}
				} else if from == before {
					refused = append(refused, kind)
				}
				write(t, bench.statement, modelSigning(t, from))
				count++
				if r := bench.verify(t, to); r.code != 8 {
					t.Errorf("model.sig, %s, %s: exit %d: %s%s", kind, what, r.code, r.out, r.err)
				}
			}
		}
	}
	// A pointer to a missing file, or a part without what it is a part of, is not a model, so its folder gets
	// no statement.
	if refused = slices.Compact(refused); !slices.Equal(refused, []string{"dcp", "git-lfs", "tfbundle"}) && !effort.Race {
		t.Errorf("not attested: %q", refused)
	}
	t.Logf("%d changes of files of %d kinds", count, len(kinds))
}

func errorsOf(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}
