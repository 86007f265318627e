package parser_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"

	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser"
)

// gate answers an upload with the class of what was found. Its account lies under
// the host's: all uploads together hold no more than that allows.
func gate(host *limits.Budget) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		data, err := io.ReadAll(http.MaxBytesReader(w, r.Body, 1<<20))
		if err != nil {
			http.Error(w, err.Error(), http.StatusRequestEntityTooLarge)
			return
		}
		strict, _ := limits.Profile("strict")
		b := host.Child(strict)
		defer b.Close()
		m, err := parser.Decode(b, bytes.NewReader(data), int64(len(data)))
		if err == nil {
			defer m.Close()
			err = parser.Verify(b, m)
		}
		w.WriteHeader(parser.ClassOf(err).HTTPStatus())
		fmt.Fprintln(w, parser.ClassOf(err))
	}
}

// A gate in front of other handlers answers refused files with the status of their class.
func Example_gate() {
	host := limits.Policy{Timeout: limits.NoTimeout}.Budget(context.Background())
	defer host.Close()
	header := `{"w":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}}`
	good := string(rune(len(header))) + "\x00\x00\x00\x00\x00\x00\x00" + header + "\x00\x00\x80\x3f"
	for _, body := range []string{good, good[:60], "\x80\x02cos\nsystem\n.", ""} {
		answer := httptest.NewRecorder()
		gate(host)(answer, httptest.NewRequest(http.MethodPost, "/", strings.NewReader(body)))
		fmt.Print(answer.Code, " ", answer.Body)
	}
	// Output:
	// 200 ok
	// 422 truncated
	// 415 unsupported
	// 422 truncated
}
