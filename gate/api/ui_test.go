package api_test

import (
	"strings"
	"testing"

	"github.com/anamnesis-go/anamnesis/gate/api"
)

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
		{"nor of a form", true, "POST", "/v1/check?format=page", "one", honest, 400, "no such format"},
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
