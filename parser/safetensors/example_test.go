package safetensors_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log"
	"os"
	"strings"

	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/safetensors"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// List what a file holds, and read one tensor.
func Example() {
	b := limits.Policy{}.Budget(context.Background())
	defer b.Close()
	f, err := os.Open("../../testdata/safetensors/tiny-llama.safetensors")
	if err != nil {
		log.Fatal(err)
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil {
		log.Fatal(err)
	}
	m, err := safetensors.Decode(b, f, st.Size())
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(m.Len(), "tensors")
	for i := range m.Tensors() {
		if !strings.Contains(i.Name, "layernorm") {
			continue
		}
		body, err := m.Body(b, i)
		if err != nil {
			log.Fatal(err)
		}
		n, _ := io.Copy(io.Discard, body)
		body.Close()
		fmt.Println(i.Name, i.DType, i.Shape, n, "bytes")
	}
	// Output:
	// 21 tensors
	// model.layers.0.input_layernorm.weight F32 [32] 128 bytes
	// model.layers.0.post_attention_layernorm.weight F32 [32] 128 bytes
	// model.layers.1.input_layernorm.weight F32 [32] 128 bytes
	// model.layers.1.post_attention_layernorm.weight F32 [32] 128 bytes
}

// A header is enough to know what a remote file holds: ask for its first bytes
// only.
func ExampleDecodeHeader() {
	b := limits.Policy{}.Budget(context.Background())
	defer b.Close()
	response := strings.NewReader("\x40\x00\x00\x00\x00\x00\x00\x00" + `{"w":{"dtype":"F8_E4M3","shape":[2,2],"data_offsets":[0,4]}}    ` + "data that nobody reads")
	h, err := safetensors.DecodeHeader(b, response)
	if err != nil {
		log.Fatal(err)
	}
	for _, i := range h.Infos {
		fmt.Println(i.Name, i.DType, i.Shape, "at", i.Span.Off)
	}
	fmt.Println("a file of", h.Len+h.Data, "bytes")
	// Output:
	// w F8_E4M3 [2 2] at 72
	// a file of 76 bytes
}

// Plan a file, write its header, then its tensors in the plan's order.
func ExampleLayout() {
	b := limits.Policy{}.Budget(context.Background())
	defer b.Close()
	bodies := []string{"\x01\x02", "\x00\x00\x80\x3f"}
	plan, err := safetensors.Layout(b, []tensor.Info{
		{Name: "steps", DType: tensor.U8, Shape: []int64{2}},
		{Name: "scale", DType: tensor.F32},
	}, []safetensors.Entry{{Key: "format", Value: "pt"}})
	if err != nil {
		log.Fatal(err)
	}
	var out bytes.Buffer
	out.Write(plan.Header)
	for _, i := range plan.Order {
		out.WriteString(bodies[i])
	}
	fmt.Printf("%s\n%d bytes, planned %d\n", out.Bytes()[8:len(plan.Header)], out.Len(), plan.Size)
	// Output:
	// {"__metadata__":{"format":"pt"},"scale":{"dtype":"F32","shape":[],"data_offsets":[0,4]},"steps":{"dtype":"U8","shape":[2],"data_offsets":[4,6]}}
	// 158 bytes, planned 158
}
