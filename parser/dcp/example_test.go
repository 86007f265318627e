package dcp_test

import (
	"context"
	"fmt"
	"io"
	"os"

	"github.com/anamnesis-go/anamnesis/internal/unpack"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/dcp"
)

// The tensors of a checkpoint that four processes wrote, put together; it is in an archive here.
func ExampleOpen() {
	file, err := os.Open("../../corpus/valid/dcp/few.zip")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		fmt.Println(err)
		return
	}
	b := limits.Policy{}.Budget(context.Background())
	defer b.Close()
	folder, err := unpack.Named("zip").Files(b, file, info.Size(), nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	m, err := dcp.Open(b, folder, dcp.Index)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer m.Close()
	for i := range m.Tensors() {
		r, err := m.Body(b, i)
		if err != nil {
			fmt.Println(err)
			return
		}
		p, err := io.ReadAll(r)
		r.Close()
		fmt.Println(i.Name, i.DType, i.Shape, len(p), "bytes", err)
	}
	// Output:
	// line.1.0 F32 [5 6] 120 bytes <nil>
	// line.2.0 F32 [3 2] 24 bytes <nil>
	// square.0.10 BF16 [8 4] 64 bytes <nil>
	// square.4.01 F32 [4 7 6] 672 bytes <nil>
	// turned.0 F32 [8 4] 128 bytes <nil>
}
