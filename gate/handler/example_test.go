package handler_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"

	"github.com/anamnesis-go/anamnesis/gate/handler"
)

// A gate before a handler that stores models.
func Example() {
	store := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintf(w, "stored %d bytes of %s", r.ContentLength, handler.Verdict(r.Context()).Format)
	})
	h, err := handler.New(store, handler.Options{})
	if err != nil {
		panic(err)
	}
	defer h.Close()
	for _, body := range []string{"\x02\x00\x00\x00\x00\x00\x00\x00{}", "cos\nsystem\n(S'id'\ntR."} {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest(http.MethodPut, "/models/m.safetensors", strings.NewReader(body)))
		text, _, _ := strings.Cut(w.Body.String(), `,"verdict"`)
		fmt.Println(w.Code, text)
	}
	// Output:
	// 200 stored 10 bytes of safetensors
	// 403 {"type":"about:blank","title":"The file is refused: forbidden","status":403,"detail":"pickle: GLOBAL at 0x0: forbidden: \"os.system\" is dangerous: starts programs","class":"forbidden","file":"m.safetensors","rules":["pickle.global","pickle.call"]
}
