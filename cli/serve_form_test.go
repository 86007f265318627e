//go:build unix

package cli_test

import (
	"bytes"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io"
	"mime/multipart"
	"net/http"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/anamnesis-go/anamnesis/gate"
	"github.com/anamnesis-go/anamnesis/gate/receipt"
)

// detailOnly is what may differ: the sentence of a problem, which names the place only where the
// file was read.
var detailOnly = regexp.MustCompile(`"detail":"(?:[^"\\]|\\.)*",`)

// post sends files as a form; one whose name begins with field: is a field.
func post(t *testing.T, url string, files ...[2]string) (status int, text string) {
	t.Helper()
	var body bytes.Buffer
	m := multipart.NewWriter(&body)
	for _, f := range files {
		create := func() (io.Writer, error) { return m.CreateFormFile("file", f[0]) }
		if name, is := strings.CutPrefix(f[0], "field:"); is {
			create = func() (io.Writer, error) { return m.CreateFormField(name) }
		}
		w, err := create()
		if err == nil {
			_, err = io.WriteString(w, f[1])
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := m.Close(); err != nil {
		t.Fatal(err)
	}
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, &body)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", m.FormDataContentType())
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	out, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res.StatusCode, string(out)
}

// A form with several files is a folder, judged in the service or in a child: one verdict, and
// one receipt, which is about these files under these names.
func TestServeJudgesAFormAsAFolder(t *testing.T) {
	dir := t.TempDir()
	public, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	writeKey(t, filepath.Join(dir, "key.pem"), private)
	const model = "\x02\x00\x00\x00\x00\x00\x00\x00{}"
	honest := [][2]string{{"config.json", `{"model_type": "llama"}`}, {"model.safetensors", model}, {"sub/notes.txt", "a text\n"}}
	var list []gate.File
	size := int64(0)
	for _, f := range honest {
		sum := sha256.Sum256([]byte(f[1]))
		list = append(list, gate.File{Name: f[0], Size: int64(len(f[1])), SHA256: hex.EncodeToString(sum[:])})
		size += int64(len(f[1]))
	}
	answers := map[string]string{}
	for _, how := range [][]string{nil, {"--isolate"}} {
		url := "http://" + serving(t, append(how, "--receipt-key", filepath.Join(dir, "key.pem"))...) + "/v1/check"
		nonce := receipt.NewNonce()
		status, text := post(t, url+"?name=m&nonce="+nonce, honest...)
		var answer struct {
			Schema string
			Folder struct {
				Policy     string
				Format     string
				Receipt    json.RawMessage
				Acceptance struct {
					DirHash string `json:"dir_hash"`
				}
			}
		}
		if err := json.Unmarshal([]byte(text), &answer); err != nil || status != http.StatusOK || answer.Schema != "amn.check/1" || answer.Folder.Format != "folder" || answer.Folder.Acceptance.DirHash != gate.DirHash(list) {
			t.Fatalf("%v: %d, %v, %s", how, status, err, text)
		}
		want := receipt.Want{Name: "m", DirHash: gate.DirHash(list), Size: size, Nonce: nonce, Policy: answer.Folder.Policy, Now: time.Now()}
		if r, err := receipt.Check(answer.Folder.Receipt, public, want); err != nil || r.Name != "m" {
			t.Errorf("%v: %v, %+v", how, err, r)
		}
		for what, tc := range map[string]struct {
			query  string
			files  [][2]string
			status int
			has    string
		}{
			"a pickle beside them":         {"", append(honest[:2:2], [2]string{"sub/x.bin", runsCode}), 403, `"where":"\"sub/x.bin\"`},
			"the same, as modelscan":       {"?format=modelscan", append(honest[:2:2], [2]string{"sub/x.bin", runsCode}), 403, `"total_scanned":3`},
			"accepted, as modelscan":       {"?format=modelscan", honest, 200, `"scanned_files":["config.json","model.safetensors","sub/notes.txt"]`},
			"what was promised":            {"?promised=safetensors", honest, 200, `"accepted":true`},
			"something else":               {"?promised=gguf", honest, 403, "gate.promise"},
			"a name twice":                 {"", [][2]string{honest[0], honest[0]}, 400, "two files"},
			"a name that leads out":        {"", [][2]string{honest[1], {"../config.json", "{}"}}, 400, "../config.json"},
			"a text alone":                 {"", honest[:1], 415, `"class":"unsupported"`},
			"texts alone":                  {"", [][2]string{honest[0], honest[2]}, 415, "there is no model among the files"},
			"texts beside others":          {"?beside=true", [][2]string{honest[0], honest[2]}, 200, `"accepted":true`},
			"a text alone beside others":   {"?beside=true", honest[:1], 200, `"files":[{`},
			"a pickle alone beside others": {"?beside=true", [][2]string{{"x.json", runsCode}}, 403, "pickle.call"},
			"a model alone":                {"", honest[1:2], 200, `"files":[{`},
			"an index with another shard":  {"", [][2]string{{"model.safetensors.index.json", `{"weight_map":{"a":"model.safetensors"}}`}, honest[1]}, 422, `"class":"malformed"`},
			"a field":                      {"", append(honest[:3:3], [2]string{"field:note", "Is it good? Yes!"}), 200, `"accepted":true`},
			"a pickle in a field":          {"", append(honest[:3:3], [2]string{"field:note", "\x80\x02" + runsCode}), 400, "is text"},
			"a pickle in letters":          {"", append(honest[:3:3], [2]string{"field:note", "cos\nsystem\n(S'id'\ntR."}), 403, "pickle.call"},
			"beside what":                  {"?beside=yes", honest[:1], 400, "beside is true"},
		} {
			status, text := post(t, url+tc.query, tc.files...)
			if status != tc.status || !strings.Contains(text, tc.has) {
				t.Errorf("%v, %s: %d, %s", how, what, status, text)
			}
			if i := strings.Index(text, `"receipt`); i >= 0 {
				text = text[:i]
			}
			text = detailOnly.ReplaceAllString(text, "")
			if was, ok := answers[what]; ok && was != text {
				t.Errorf("%s: %s\nin a child: %s", what, was, text)
			}
			answers[what] = text
		}
		if status, text := put(t, url+"?name=config.json&beside=true", honest[0][1]); status != http.StatusOK || !strings.Contains(text, `"harmless"`) {
			t.Errorf("%v: %d, %s", how, status, text)
		}
	}
}
