package api

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/anamnesis-go/anamnesis/gate"
	"github.com/anamnesis-go/anamnesis/limits"
)

// What is taken for a manifest has names for one folder and digests for all of them, within the
// limits, and the account gives everything back.
func FuzzManifest(f *testing.F) {
	sum := strings.Repeat("0123456789abcdef", 4)
	for _, s := range []string{
		`{"schema":"amn.repo/1","repo":"a/b","revision":"r","files":[{"path":"a","size":1,"sha256":"` + sum + `"}]}`,
		`{"schema":"amn.repo/1","repo":"a","revision":"r","nonce":"12345678","files":[{"path":"a/b","size":0,"sha256":"` + sum + `"},{"path":"a/c","size":9,"sha256":"` + sum + `"}]}`,
		`{"files":[{}]}`, `[]`, ``,
	} {
		f.Add(s)
	}
	o := Options{MaxFiles: 4, MaxManifest: 1 << 16, MaxFile: 1000, TenantBytes: 2000}
	f.Fuzz(func(t *testing.T, text string) {
		b := limits.Policy{MaxTotalBytes: 1 << 22}.Budget(t.Context())
		defer b.Close()
		r := httptest.NewRequest(http.MethodPost, "/v1/repos", strings.NewReader(text))
		m, err := o.read(b, httptest.NewRecorder(), r)
		if err != nil {
			return
		}
		if len(m.Files) == 0 || len(m.Files) > o.MaxFiles || gate.DirHash(m.Files) == "" || !repoName.MatchString(m.Repo) || !revisionName.MatchString(m.Revision) {
			t.Fatalf("%+v", m)
		}
		var folder gate.Folder
		total := int64(0)
		for _, file := range m.Files {
			if err := folder.Add(file, strings.NewReader("")); err != nil {
				t.Fatal(err)
			}
			if total += file.Size; file.Size < 0 || file.Size > o.MaxFile || total > o.TenantBytes {
				t.Fatalf("%+v", m)
			}
		}
	})
}
