package api_test

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"mime/multipart"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/anamnesis-go/anamnesis/gate/api"
)

// A folder that the page sends is reported as one: its files, and its model from all of its shards.
func TestThePageSendsAFolder(t *testing.T) {
	shard := func(name string) string {
		head := fmt.Sprintf(`{%q:{"dtype":"U8","shape":[1],"data_offsets":[0,1]}}`, name)
		return string(binary.LittleEndian.AppendUint64(nil, uint64(len(head)))) + head + "x"
	}
	index := `{"metadata":{"total_size":2},"weight_map":{"a":"1.safetensors","b":"2.safetensors"}}`
	for _, tc := range []struct {
		name, second string
		status       int
		has          []string
	}{
		{"honest", shard("b"), 200, []string{`"accepted":true`, `["a",0,[1],1,`, `["b",0,[1],1,`, `{"name":"2.safetensors","size":62,"kind":"safetensors","class":"ok"}`}},
		{"hostile", evil, 403, []string{`"accepted":false`, `"class":"forbidden"`, `"tensors":[]`}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			a, err := api.New(api.Options{UI: true})
			if err != nil {
				t.Fatal(err)
			}
			defer a.Close()
			var body strings.Builder
			form := multipart.NewWriter(&body)
			err = form.SetBoundary("----WebKitFormBoundary7MA4YWxkTrZu0gW")
			for _, file := range [][2]string{{"1.safetensors", shard("a")}, {"2.safetensors", tc.second}, {"model.safetensors.index.json", index}} {
				w, failed := form.CreateFormFile("file", file[0])
				if failed == nil {
					_, failed = io.WriteString(w, file[1])
				}
				err = errors.Join(err, failed)
			}
			if err := errors.Join(err, form.Close()); err != nil {
				t.Fatal(err)
			}
			r := httptest.NewRequest("POST", "/v1/check?format=page", strings.NewReader(body.String()))
			r.Header.Set("Content-Type", form.FormDataContentType())
			w := httptest.NewRecorder()
			a.ServeHTTP(w, r)
			for _, has := range tc.has {
				if w.Code != tc.status || !strings.Contains(w.Body.String(), has) {
					t.Errorf("%d, want %d and %s: %s", w.Code, tc.status, has, w.Body)
				}
			}
		})
	}
}

// The page is served if it is enabled, and its reports only with a token.
func TestThePage(t *testing.T) {
	for _, tc := range []struct {
		name                        string
		ui                          bool
		method, target, token, body string
		status                      int
		has                         string
	}{
		{"the page", true, "GET", "/", "", "", 200, "connect-src 'self'"},
		{"nothing below it", true, "GET", "/other", "", "", 404, ""},
		{"no page that was not asked for", false, "GET", "/", "", "", 404, ""},
		{"a report", true, "PUT", "/v1/check?name=m.safetensors&format=page", "one", honest, 200, `"schema":"amn.page/1","name":"m.safetensors","size":10,"format":"safetensors"`},
		{"of what is refused", true, "PUT", "/v1/check?name=m.pkl&format=page", "one", evil, 403, `"accepted":false`},
		{"not without a token", true, "PUT", "/v1/check?name=m.safetensors&format=page", "", honest, 401, "a token is needed"},
		{"no report where there is no page", false, "PUT", "/v1/check?name=m.pkl&format=page", "one", evil, 400, "no such format"},
		{"nor of a form", false, "POST", "/v1/check?format=page", "one", honest, 400, "no such format"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			a, err := api.New(api.Options{Tokens: []string{"one"}, UI: tc.ui})
			if err != nil {
				t.Fatal(err)
			}
			defer a.Close()
			status, text := ask(t, a, tc.method, tc.target, tc.token, tc.body)
			if status != tc.status || !strings.Contains(text, tc.has) {
				t.Errorf("%d %s, want %d and %s", status, text[:min(len(text), 600)], tc.status, tc.has)
			}
		})
	}
}
