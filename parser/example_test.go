package parser_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"net/http/httptest"

	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser"
)

// host bounds what all uploads hold together.
var host = limits.Policy{MaxTotalBytes: 4 << 30}.Budget(context.Background())

// upload judges the model file that a form brings.
func upload(w http.ResponseWriter, r *http.Request) {
	file, head, err := r.FormFile("model")
	if err != nil {
		http.Error(w, "no file", http.StatusBadRequest)
		return
	}
	defer file.Close()

	// One account per request, under the host's: at most 64 MiB for this file.
	b := host.Child(limits.Policy{MaxTotalBytes: 64 << 20})
	defer b.Close()

	m, err := parser.Decode(b, file, head.Size) // the header
	if err == nil {
		defer m.Close()
		err = parser.Verify(b, m) // the bodies
	}
	if err != nil {
		class := parser.ClassOf(err)
		http.Error(w, fmt.Sprintf("%v: %v", class, err), class.HTTPStatus())
		return
	}
	fmt.Fprintf(w, "%s, %d tensors\n", m.Format(), m.Len())
}

// An upload handler: a verdict by status, and ceilings that hold for one file
// and for all of them together.
func Example() {
	post := func(content []byte) {
		var body bytes.Buffer
		form := multipart.NewWriter(&body)
		part, _ := form.CreateFormFile("model", "model.safetensors")
		part.Write(content)
		form.Close()
		r := httptest.NewRequest("POST", "/models", &body)
		r.Header.Set("Content-Type", form.FormDataContentType())
		w := httptest.NewRecorder()
		upload(w, r)
		text, _ := io.ReadAll(w.Body)
		fmt.Printf("%d %s", w.Code, text)
	}
	header := `{"w":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}}`
	model := append([]byte{byte(len(header)), 0, 0, 0, 0, 0, 0, 0}, header+"\x00\x00\x80\x3f"...)
	post(model)
	post(model[:len(model)-1])
	post([]byte("<!doctype html><title>Not found</title>"))
	// Output:
	// 200 safetensors, 1 tensors
	// 422 truncated: safetensors: data at 0x41: file ends too early: the tensors end at 0x42, but the file ends at 0x41
	// 415 unsupported: detect: at 0x0: not supported: this is an HTML page: the download got a web page instead of the file: check the address and whether it needs a login
}

// A file in memory, read tensor by tensor.
func ExampleDecode() {
	header := `{"w":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}}`
	data := append([]byte{byte(len(header)), 0, 0, 0, 0, 0, 0, 0}, header+"\x00\x00\x80\x3f"...)

	b := limits.Policy{}.Budget(context.Background())
	defer b.Close()
	m, err := parser.Decode(b, bytes.NewReader(data), int64(len(data)))
	if err != nil {
		fmt.Println(parser.ClassOf(err), err)
		return
	}
	defer m.Close()
	for info := range m.Tensors() {
		fmt.Println(info.Name, info.DType, info.Shape)
	}
	// Output:
	// w F32 [1]
}

// A program can read why an operation ended: the class, the ceiling and the place.
func ExampleClassOf() {
	header := `{"w":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}}`
	data := append([]byte{byte(len(header)), 0, 0, 0, 0, 0, 0, 0}, header+"\x00\x00\x80\x3f"...)
	b := limits.Policy{MaxItems: 2}.Budget(context.Background())
	defer b.Close()
	_, err := parser.Decode(b, bytes.NewReader(data), int64(len(data)))
	fmt.Println(parser.ClassOf(err), parser.ClassOf(err).ExitCode())
	if e, ok := errors.AsType[*limits.Error](err); ok {
		fmt.Println(e.Axis, e.Axis.Field())
	}
	if e, ok := errors.AsType[*parser.Error](err); ok {
		fmt.Println(e.Format)
	}
	// Output:
	// limit 6
	// items max_items
	// safetensors
}

// Many files under one account of a host: each has a child of it, with steps, ratios and a
// deadline of its own. The memory of a file is returned in every case.
func ExampleDecode_many() {
	host := limits.Policy{MaxTotalBytes: 1 << 30, Timeout: limits.NoTimeout}.Budget(context.Background())
	defer host.Close()
	header := `{"w":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}}`
	model := append([]byte{byte(len(header)), 0, 0, 0, 0, 0, 0, 0}, header+"\x00\x00\x80\x3f"...)
	read := func(data []byte) error {
		b := host.Child(limits.Policy{MaxTotalBytes: 64 << 20})
		defer b.Close()
		m, err := parser.Decode(b, bytes.NewReader(data), int64(len(data)))
		if err != nil {
			return err
		}
		defer m.Close()
		return parser.Verify(b, m)
	}
	for _, data := range [][]byte{model, model[:20], model} {
		fmt.Println(parser.ClassOf(read(data)), host.Usage()[limits.Total].Used)
	}
	// Output:
	// ok 0
	// truncated 0
	// ok 0
}
