package convert

import (
	"strings"
	"time"

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
	// Meta changes the metadata that is written; nil leaves it as it is.
	Meta func([]Entry) ([]Entry, error)
	// Keep chooses tensors by the names that are written; nil keeps all.
	Keep func(name string) bool
	// AsIs copies quantized weights as they are stored, where the sink has their
	// types.
	AsIs bool
	// Cast chooses tensors of floating-point numbers that are rounded to Quant.Target
	// although nothing quantized them; nil leaves them all as they are.
	Cast func(*tensor.Info) bool
	// CastTo is the type that Cast rounds to where that is none to which weights are
	// decoded: F8E4M3 or F8E5M2, without a scale. A model that is quantized is refused
	// then. The zero value is Quant.Target.
	CastTo tensor.DType
	// Quantize says how weights are quantized; nil quantizes none.
	Quantize Quantizer
	// Requantize decodes weights that are quantized already and quantizes them anew.
	// Without it they are refused.
	Requantize bool
	// NaN says what becomes of weights that are quantized and hold what is not finite.
	NaN NaN
	// NoSync leaves it to the system when what was written reaches the disk: after a
	// crash of the machine the target may be anything.
	NoSync bool
	// FailOnOverflow ends a conversion in which a finite number became infinite: its
	// target stays what it was.
	FailOnOverflow bool
	// InPlace lets [Plan.Write] replace the file that the model is read from, once the
	// new one is whole; it keeps its permissions.
	InPlace bool
	// Shard is the most bytes of tensors in one file; 0 is one file for all. Only
	// safetensors is written in shards.
	Shard int64
	// Split writes several GGUF files; nil is one.
	Split *Split
	// Alone says that the source is a file that was named, not a folder: what lies
	// beside it belongs to it only if a config.json does too.
	Alone bool
	// Source is the name of the weights in the folder, where they are not those that
	// its library reads: what is written is named after it.
	Source string
	// Threads is the most workers; 0 is one for each processor. They are fastest
	// where GOMAXPROCS is greater: a worker that writes keeps its place then.
	Threads int
	// Memory is the most bytes of buffers, 0 for what the account grants.
	Memory int64
	// Tile is the bytes of output that a worker writes at once; 0 is 1 MiB.
	Tile int
}

// A Result is what a conversion came to.
type Result struct {
	Bytes   int64 // written, headers counted
	Workers int
	Synced  time.Duration // what it took until the disk had everything
	// Special lists the decoded weights that hold numbers which are none.
	Special []Special
	// Beside is the files beside the weights, of a folder.
	Beside *Beside
}

// A Special counts what is no number in one decoded weight.
type Special struct {
	Name string
	// Overflow is how many finite numbers became infinite in the target's type.
	Overflow int64
	NaN, Inf int64 // as they were stored
}

// Failed reports that precision was lost to the range of the target.
func (r *Result) Failed() bool {
	for i := range r.Special {
		if r.Special[i].Overflow > 0 {
			return true
		}
	}
	return false
}

// A Count is tensors and their bytes.
type Count struct {
	Tensors int
	Bytes   int64
}

func (c *Count) add(n int64) { c.Tensors, c.Bytes = c.Tensors+1, c.Bytes+n }

// A task fills one out or several.
type task interface {
	// units is how much there is to do; ranges of them may be done in any order
	// and by several workers at once.
	units() int64
	// cut is where a range that begins at lo ends, so that it makes about tile
	// bytes of output.
	cut(lo, tile int64) int64
	// whole is how many bytes must be in memory while any range is done.
	whole() int64
	// open prepares the task; whole bytes of memory are given to it, which it may
	// keep until close.
	open(s *stream, memory []byte) error
	// run does the units [lo, hi).
	run(w *worker, lo, hi int64) error
	// close is called once, when no range is under way.
	close()
	// name is the tensor's, for errors.
	name() string
	// first is where its first byte goes: an out, and an offset in it.
	first() (out int32, off int64)
}

// IsNorm reports the weight or bias of a normalization by its name: a vector, which
// models keep in full precision.
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
