package convert

import (
	"fmt"

	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
)

// A Split says how a GGUF model is written as several files, as llama-gguf-split does: each
// has the keys with its number, and the first has all other keys.
type Split struct {
	Stem    string // of the files' names
	Tensors int    // maximum in a file; 0 for no bound
	Bytes   int64  // maximum size of a file's tensors, each padded; 0 for no bound
	// KeysAlone writes no tensors to the first file.
	KeysAlone bool
	// Kept puts each tensor in the file of the same number as in the source, regardless of
	// the bounds.
	Kept bool
}

// maxSplit is the largest number of files that the key can state.
const maxSplit = 1<<16 - 1

// The keys of split files, in the order in which llama-gguf-split writes them.
const (
	splitNo      = "split.no"
	splitTensors = "split.tensors.count"
	splitCount   = "split.count"
)

// splitKeys returns the keys that number a file.
func splitKeys(no, tensors, count int) []Entry {
	return []Entry{{Key: splitNo, Value: uint16(no)}, {Key: splitTensors, Value: int32(tensors)}, {Key: splitCount, Value: uint16(count)}}
}

// Joined returns the keys of a file that was joined from several: the count of files is
// zero, so that no loader looks for more.
func Joined(tensors int) []Entry { return splitKeys(0, tensors, 0) }

// splitGGUF distributes the outs to files.
func (p *Plan) splitGGUF() ([][]int32, error) {
	o := p.o.Split
	if o.Kept {
		return p.keptFiles()
	}
	var files [][]int32
	var now []int32
	var size int64
	end := func() (err error) {
		files, err = limits.Append(p.b, files, now)
		now, size = nil, 0
		return err
	}
	if o.KeysAlone {
		if err := end(); err != nil {
			return nil, err
		}
	}
	for i := range p.Outs {
		padded := (p.Outs[i].Size + 31) &^ 31
		full := o.Tensors > 0 && i > 0 && i%o.Tensors == 0 || o.Bytes > 0 && size+padded > o.Bytes
		if full {
			if len(now) == 0 {
				return nil, wire.ErrUnsupported.Errorf("tensor %s alone is larger than a file may be", wire.Quote(p.Outs[i].Name))
			}
			if err := end(); err != nil {
				return nil, err
			}
		}
		var err error
		if now, err = limits.Append(p.b, now, int32(i)); err != nil {
			return nil, err
		}
		size += padded
	}
	err := end()
	if len(files) > maxSplit {
		return nil, wire.ErrUnsupported.Errorf("%d files, but at most %d can be numbered", len(files), maxSplit)
	}
	return files, err
}

// keptFiles returns the outs by the files of the source.
func (p *Plan) keptFiles() ([][]int32, error) {
	last := int32(0)
	for i := range p.Outs {
		last = max(last, p.Outs[i].part)
	}
	if last >= maxSplit {
		return nil, wire.ErrUnsupported.Errorf("%d files, but at most %d can be numbered", last+1, maxSplit)
	}
	files, err := limits.Make[[]int32](p.b, int(last)+1)
	for i := 0; err == nil && i < len(p.Outs); i++ {
		f := &files[p.Outs[i].part]
		*f, err = limits.Append(p.b, *f, int32(i))
	}
	return files, err
}

// splitMeta returns the keys of one of the files.
func (p *Plan) splitMeta(k, count int, meta []Entry) ([]Entry, error) {
	own := splitKeys(k, len(p.Outs), count)
	if k > 0 {
		return own, nil
	}
	var err error
	for _, e := range own {
		if meta, err = limits.Append(p.b, meta, e); err != nil {
			return nil, err
		}
	}
	return meta, nil
}

// splitName returns the name of one of the files.
func (p *Plan) splitName(k, count int) string {
	return fmt.Sprintf("%s-%05d-of-%05d.gguf", p.o.Split.Stem, k+1, count)
}
