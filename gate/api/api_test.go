package api_test

import (
	"bytes"
	"encoding/json"
	"io"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/anamnesis-go/anamnesis/gate/api"
)

const (
	evil   = "cos\nsystem\n(S'id'\ntR."
	honest = "\x02\x00\x00\x00\x00\x00\x00\x00{}"
)

// ask sends a request with a token, and gives status and text.
func ask(t *testing.T, h http.Handler, method, target, token, body string) (int, string) {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), method, target, strings.NewReader(body))
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w.Code, w.Body.String()
}

func TestAnswers(t *testing.T) {
	a, err := api.New(api.Options{Tokens: []string{"one", "two"}, Version: "1"})
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	for _, tc := range []struct {
		method, target, token, body string
		status                      int
		has                         string
	}{
		{"PUT", "/v1/check?name=m.safetensors", "two", honest, 200, `"accepted":true`},
		{"PUT", "/v1/check?name=m.safetensors", "", honest, 401, "a token is needed"},
		{"PUT", "/v1/check?name=m.safetensors", "three", honest, 401, "a token is needed"},
		{"PUT", "/v1/check?name=m.pkl", "one", evil, 403, `"rules":["pickle.global"`},
		{"PUT", "/v1/check?promised=gguf", "one", honest, 403, `"rules":["gate.promise"]`},
		{"PUT", "/v1/check?name=m.pkl&format=modelscan", "one", evil, 403, `"operator":"system","module":"os"`},
		{"PUT", "/v1/check?name=m.safetensors&format=modelscan", "one", honest, 200, `"total_issues":0`},
		{"PUT", "/v1/check?nmae=m.pkl", "one", honest, 400, "not known"},
		{"PUT", "/v1/check?name=m.txt&name=m.pkl", "one", honest, 400, "appears twice"},
		{"PUT", "/v1/check?name=m.pkl;promised=gguf", "one", honest, 400, "cannot be read"},
		{"PUT", "/v1/check?format=sarif", "one", honest, 400, "no such format"},
		{"GET", "/v1/check", "one", "", 405, "PUT or POST"},
		{"GET", "/v1/rules", "one", "", 200, `{"id":"pickle.global"`},
		{"GET", "/v1/rules", "", "", 401, "a token is needed"},
		{"GET", "/metrics", "one", "", 200, `anamnesis_uploads_total{status="200"}`},
		{"GET", "/healthz", "", "", 200, "ok"},
		{"GET", "/readyz", "", "", 200, "ready"},
		{"GET", "/none", "one", "", 404, ""},
	} {
		status, text := ask(t, a, tc.method, tc.target, tc.token, tc.body)
		if status != tc.status || !strings.Contains(text, tc.has) {
			t.Errorf("%s %s as %q: %d %s", tc.method, tc.target, tc.token, status, text)
		}
	}
	a.Drain()
	if status, _ := ask(t, a, "GET", "/readyz", "", ""); status != http.StatusServiceUnavailable {
		t.Errorf("ready while it ends: %d", status)
	}
}

func TestAFormIsAnsweredWithOneVerdict(t *testing.T) {
	a, err := api.New(api.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	var body bytes.Buffer
	m := multipart.NewWriter(&body)
	for _, name := range []string{"a.safetensors", "b.safetensors"} {
		w, err := m.CreateFormFile("file", name)
		if err == nil {
			_, err = io.WriteString(w, honest)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := m.Close(); err != nil {
		t.Fatal(err)
	}
	r := httptest.NewRequestWithContext(t.Context(), "POST", "/v1/check", &body)
	r.Header.Set("Content-Type", m.FormDataContentType())
	w := httptest.NewRecorder()
	a.ServeHTTP(w, r)
	var out struct {
		Schema string
		Folder struct {
			Accepted bool
			Files    []struct{ Name, SHA256 string }
			DirHash  string `json:"dir_hash"`
		}
	}
	if err := json.Unmarshal(w.Body.Bytes(), &out); err != nil || out.Schema != "amn.check/1" || !out.Folder.Accepted || len(out.Folder.Files) != 2 || out.Folder.Files[1].Name != "b.safetensors" || out.Folder.DirHash == "" {
		t.Errorf("%v, %s", err, w.Body)
	}
}

// Each path of the description is answered, and the verdict has the members that it describes.
func TestTheDescriptionIsTrue(t *testing.T) {
	a, err := api.New(api.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	_, text := ask(t, a, "GET", "/openapi.json", "", "")
	var doc struct {
		OpenAPI    string
		Paths      map[string]map[string]any
		Components struct {
			Schemas map[string]struct {
				Required   []string
				Properties map[string]any
			}
		}
	}
	if err := json.Unmarshal([]byte(text), &doc); err != nil || doc.OpenAPI != "3.1.0" {
		t.Fatal(err, doc.OpenAPI)
	}
	for path, methods := range doc.Paths {
		for method := range methods {
			if status, text := ask(t, a, strings.ToUpper(method), path, "", honest); status == 404 || status == 405 {
				t.Errorf("%s %s: %d %s", method, path, status, text)
			}
		}
	}
	_, text = ask(t, a, "PUT", "/v1/check?name=m.pkl", "", evil)
	var problem map[string]any
	if err := json.Unmarshal([]byte(text), &problem); err != nil {
		t.Fatal(err)
	}
	verdict, _ := problem["verdict"].(map[string]any)
	for name, got := range map[string]map[string]any{"Problem": problem, "Verdict": verdict} {
		schema := doc.Components.Schemas[name]
		for _, field := range schema.Required {
			if _, ok := got[field]; !ok {
				t.Errorf("%s: %q is required and not there: %s", name, field, text)
			}
		}
		for field := range got {
			if _, ok := schema.Properties[field]; !ok {
				t.Errorf("%s: the description does not know %q", name, field)
			}
		}
	}
}
