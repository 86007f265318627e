package remote_test

import (
	"errors"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/parser"
	"github.com/anamnesis-go/anamnesis/remote"
	"github.com/aws/aws-sdk-go-v2/credentials"
)

// A file that a server does not have, or refuses, gives the same error as a file on a disk, and the
// message has the address once.
func TestAnEmptyAnswerIsAnError(t *testing.T) {
	for status, want := range map[int]error{
		http.StatusNotFound: fs.ErrNotExist, http.StatusGone: fs.ErrNotExist, http.StatusUnauthorized: fs.ErrPermission, http.StatusForbidden: fs.ErrPermission,
		http.StatusBadRequest: nil, http.StatusTeapot: nil,
	} {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(status) }))
		defer s.Close()
		host := strings.TrimPrefix(s.URL, "http://")
		o := remote.Options{AllowPrivate: true, Hub: s.URL, S3: remote.S3{Endpoint: s.URL, Region: "x", Keys: credentials.NewStaticCredentialsProvider("me", "s", "")}}
		for _, address := range []string{s.URL + "/m.gguf", "hf://me/m", "hf://me/m/a.gguf", "s3://models/m.gguf", "s3://models/all/", "oci://" + host + "/me/m:latest", "ollama://" + host + "/me/m:latest"} {
			_, err := open(t, address, o)
			if err == nil {
				t.Fatalf("%d: %s is read", status, address)
			}
			for _, is := range []error{fs.ErrNotExist, fs.ErrPermission} {
				if errors.Is(err, is) != (is == want) {
					t.Errorf("%d: %s: %v: is it %v?", status, address, err, is)
				}
			}
			if (parser.ClassOf(err) == wire.Usage) != (want == fs.ErrNotExist) {
				t.Errorf("%d: %s: class %s: %v", status, address, parser.ClassOf(err), err)
			}
			if says := err.Error(); !strings.Contains(says, http.StatusText(status)) || strings.Count(says, host) > 1 {
				t.Errorf("%d: %s: %s", status, address, says)
			}
		}
	}
}
