package encode

import (
	"fmt"
	"io/fs"

	"github.com/anamnesis-go/anamnesis/internal/scheme"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// ConfigName is transformers' description of a model.
const ConfigName = "config.json"

// MaxConfig is the same bound as in package quant.
const MaxConfig = scheme.MaxConfig

// ReadText reads a file of a model's folder whole.
func ReadText(b *limits.Budget, files fs.FS, name string, most int64) (string, error) {
	h, err := tensor.OpenFile(files, name)
	if err != nil {
		return "", err
	}
	defer h.Close()
	if h.Size > most {
		return "", wire.At("convert", "file "+wire.Quote(name), wire.NoOffset, &limits.Error{Axis: limits.SingleAlloc, Want: h.Size, Left: most})
	}
	c := wire.NewCursor(b, "convert", h, h.Size)
	return c.String(uint64(h.Size))
}

// TorchNames are the targets as torch names them.
var TorchNames = map[scheme.Target]string{scheme.BF16: "bfloat16", scheme.F16: "float16", scheme.F32: "float32"}

// Recovered turns a panic, which is a bug, into an error of this stream.
func Recovered(err *error) {
	if p := recover(); p != nil {
		*err = wire.ErrInternal.Errorf("panic: %s", wire.Clean(fmt.Sprint(p), 512))
	}
}

// TorchTypes are the types of unquantized weights as torch names them.
var TorchTypes = map[tensor.DType]string{tensor.F32: "float32", tensor.F16: "float16", tensor.BF16: "bfloat16"}
