package convert

import (
	"strings"
	"time"

	"github.com/anamnesis-go/anamnesis/internal/encode"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
	"github.com/anamnesis-go/anamnesis/quant"
)

// Options of a conversion. The zero value writes one safetensors file, weights
// decoded to BF16.
type Options struct {
	// Quant says how quantized weights are read and what they are decoded to.
	Quant quant.Options
	// Sink is the format; nil is [Safetensors].
	Sink Sink
	// Meta changes the metadata of the output; nil copies it.
	Meta func([]Entry) ([]Entry, error)
	// Keep selects tensors by their names in the output; nil keeps all.
	Keep func(name string) bool
	// AsIs copies quantized weights as they are stored, if the sink has their types.
	AsIs bool
	// Lean leaves out dimensions of one before the others, which ggml does not count:
	// llama-gguf-split writes the shapes of a GGUF file so.
	Lean bool
	// Cast selects tensors of floating-point numbers, not quantized, that are rounded to
	// Quant.Target; nil selects none.
	Cast func(*tensor.Info) bool
	// CastTo overrides the type that Cast rounds to: F8E4M3 or F8E5M2, without a scale. A
	// quantized model is then refused. The zero value is Quant.Target.
	CastTo tensor.DType
	// Quantize is the quantization target; nil quantizes nothing.
	Quantize encode.Quantizer
	// Requantize decodes weights that are already quantized and quantizes them again.
	// Without it they are refused.
	Requantize bool
	// NaN decides about weights to be quantized that contain numbers which are not finite.
	NaN NaN
	// NoSync does not wait until the output is on the disk. After a crash of the machine
	// the output may be damaged.
	NoSync bool
	// Resume continues from what an interrupted run of the same conversion has written; nil starts
	// over, and leaves nothing behind after a failure.
	Resume *Resume
	// FailOnOverflow fails a conversion in which a finite number becomes infinite; an
	// existing output file stays unchanged.
	FailOnOverflow bool
	// InPlace lets [Plan.Write] replace the source file once the new file is complete; its
	// owner and its permissions are kept.
	InPlace bool
	// Guard lists folders that may be a stranger's, such as that of the source: no link in
	// them leads to an output. Neither does one in the current folder.
	Guard []string
	// Shard is the maximum size of tensors in one file; 0 writes one file. Only safetensors
	// is written in shards.
	Shard int64
	// Split writes several GGUF files; nil writes one.
	Split *Split
	// Alone says that the source was named as a file, not as a folder. Files beside it
	// belong to it only if there is a config.json.
	Alone bool
	// Source is the name of the weights in the folder, if they are not those that its
	// library reads. Output names are derived from it.
	Source string
	// Threads is the maximum number of workers; 0 is one per processor. They are fastest if
	// GOMAXPROCS is greater, because then a worker keeps its processor while it writes.
	Threads int
	// Memory is the maximum size of buffers; 0 for as much as the account allows.
	Memory int64
	// Tile is the number of output bytes that a worker writes at once; 0 is 1 MiB.
	Tile int
}

// A Result describes a finished conversion.
type Result struct {
	Bytes   int64 // written, headers counted
	Workers int
	Synced  time.Duration // what it took until the disk had everything
	// Special lists the decoded weights that contain NaN or infinities.
	Special []Special
	// Beside lists the other files of a folder.
	Beside *Beside
	// Resumed says what an earlier run had written; nil if there was nothing, or
	// [Options].Resume is nil.
	Resumed *Resumed
}

// A Special counts the NaN and infinities of one decoded weight.
type Special struct {
	Name string
	// Overflow is how many finite numbers became infinite in the target's type.
	Overflow int64
	NaN, Inf int64 // as they were stored
}

// Failed reports whether a finite number became infinite.
func (r *Result) Failed() bool {
	for i := range r.Special {
		if r.Special[i].Overflow > 0 {
			return true
		}
	}
	return false
}

// A Count is a number of tensors and their bytes.
type Count struct {
	Tensors int
	Bytes   int64
}

func (c *Count) add(n int64) { c.Tensors, c.Bytes = c.Tensors+1, c.Bytes+n }

// A task writes one out or several.
type task interface {
	// units is the amount of work. Ranges of units may be done in any order,
	// concurrently.
	units() int64
	// cut returns the end of a range that begins at lo and produces about tile bytes.
	cut(lo, tile int64) int64
	// whole is how many bytes must stay in memory during the task.
	whole() int64
	// open prepares the task. It gets memory of whole bytes, which it may use until
	// close.
	open(s *stream, memory []byte) error
	// run does the units [lo, hi).
	run(w *worker, lo, hi int64) error
	// close is called once, when no range is running.
	close()
	// name returns the tensor's name for errors.
	name() string
	// first returns where the task writes first: an out, and an offset in it.
	first() (out int32, off int64)
}

// IsNorm reports by name whether a tensor is the weight or bias of a normalization, a
// vector that models keep in full precision.
func IsNorm(i *tensor.Info) bool {
	if len(i.Shape) > 1 {
		return false
	}
	parts := strings.Split(strings.ToLower(i.Name), ".")
	for k := max(0, len(parts)-3); k < len(parts); k++ {
		short, ok := strings.CutPrefix(parts[k], "ln")
		if strings.Contains(parts[k], "norm") || ok && strings.Trim(short, "_f0123456789") == "" {
			return true
		}
	}
	return false
}
