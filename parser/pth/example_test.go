package pth_test

import (
	"bytes"
	"context"
	"fmt"
	"os"

	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/pth"
)

// A checkpoint whose weights are tied, and views of them.
func Example() {
	data, err := os.ReadFile("../../corpus/valid/pth/tied.pt")
	if err != nil {
		panic(err)
	}
	b := limits.Policy{}.Budget(context.Background())
	defer b.Close()
	f, err := pth.Decode(b, bytes.NewReader(data), int64(len(data)))
	if err != nil {
		panic(err)
	}
	for i := range f.Tensors() {
		fmt.Println(i.Name, i.DType, i.Shape, i.Strides, i.Storage)
	}
	fmt.Println("torch's restricted loader takes it:", f.Graph().WeightsOnly().OK)
	// Output:
	// wte.weight F32 [4 4] [] data/0
	// lm_head.weight F32 [4 4] [] data/0
	// row F32 [4] [] data/0
	// col F32 [4] [4] data/0
	// block F32 [2 2] [4 1] data/0
	// all F32 [16] [] data/0
	// torch's restricted loader takes it: true
}

// The requests of a hostile file.
func ExampleScan() {
	const data = "\x80\x02cos\nsystem\nX\x02\x00\x00\x00id\x85R."
	b := limits.Policy{}.Budget(context.Background())
	defer b.Close()
	r := pth.Scan(b, bytes.NewReader([]byte(data)), int64(len(data)))
	for _, g := range r.Pickles[0].Report.Graph.Globals() {
		fmt.Println(g, "is", g.Status, "and", g.Reason)
	}
	fmt.Println(r.Err)
	// Output:
	// os.system is dangerous and starts programs
	// pickle: GLOBAL at 0x2: forbidden: "os.system" is dangerous: starts programs
}
