package api_test

import (
	"fmt"
	"net/http/httptest"
	"strings"

	"github.com/anamnesis-go/anamnesis/gate/api"
)

// The service as a handler in another server.
func Example() {
	a, err := api.New(api.Options{Tokens: []string{"secret"}})
	if err != nil {
		panic(err)
	}
	defer a.Close()
	r := httptest.NewRequest("PUT", "/v1/check?name=m.safetensors", strings.NewReader("\x02\x00\x00\x00\x00\x00\x00\x00{}"))
	r.Header.Set("Authorization", "Bearer secret")
	w := httptest.NewRecorder()
	a.ServeHTTP(w, r)
	fmt.Println(w.Code, strings.Contains(w.Body.String(), `"accepted":true`))
	// Output: 200 true
}
