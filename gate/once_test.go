package gate_test

import (
	"bytes"
	"fmt"

	"strings"
	"testing"

	"github.com/anamnesis-go/anamnesis/corpus"
	"github.com/anamnesis-go/anamnesis/gate"
	"github.com/anamnesis-go/anamnesis/parser/hdf5"
)

// A tallied file counts how often it is read at its beginning, and each byte of it. Eight
// bytes at 512, 1024, ... are where h5py looks for its magic in any file, and no structure.
type tallied struct {
	data  []byte
	first int    // reads at offset 0
	times []byte // how often each byte was read
}

func (c *tallied) ReadAt(p []byte, off int64) (int, error) {
	if off == 0 {
		c.first++
	}
	n, err := bytes.NewReader(c.data).ReadAt(p, off)
	for i := range n {
		if len(p) == len(hdf5.Magic) {
			break
		}
		c.times[int(off)+i] = min(c.times[int(off)+i]+1, 250)
	}
	return n, err
}

// often returns how often data[from:to] was read. A read that crosses the border of two buffers
// uses both.
func (c *tallied) often(from, to int) float64 {
	sum := 0
	for _, n := range c.times[from:to] {
		sum += int(n)
	}
	return float64(sum) / float64(to-from)
}

// counting judges a file through a counting reader, with no cache in between.
func counting(t *testing.T, data []byte, h gate.Hint) *tallied {
	t.Helper()
	c := &tallied{data: data, times: make([]byte, len(data))}
	var g gate.Gate
	b := g.Policy.Limits.Budget(t.Context())
	defer b.Close()
	v, err := g.Check(b, c, int64(len(data)), h)
	if err != nil {
		t.Fatal(err)
	}
	v.Close()
	return c
}

// The beginning of a file is identified only once, whatever the file is.
func TestAFileIsIdentifiedOnce(t *testing.T) {
	one := func(path string, data []byte, name string) {
		for _, h := range []gate.Hint{{}, {Name: name}, {Name: name, Beside: true}, {Name: "m.bin", Beside: true}, {Name: "m.onnx", Beside: true}, {Name: "m.pkl"}} {
			if c := counting(t, data, h); c.first > 2 {
				t.Errorf("%s, called %q (beside %v): %d reads at its first byte", path, h.Name, h.Beside, c.first)
			}
		}
	}
	for _, format := range corpus.Formats() {
		for _, r := range corpus.Hostile(format) {
			if data := r.Bytes(); len(data) < 1<<20 {
				one(r.Path(), data, r.Name+"."+format)
			}
		}
		for _, s := range corpus.Valid(format) {
			one(format+"/"+s.Name, s.Data, s.Name)
		}
	}
	for _, r := range corpus.Gate() {
		one(r.Path(), r.Bytes(), "m.zip")
	}
}

// A structure that does not fit into what an identity keeps is decoded once, whether the
// file is accepted or refused.
func TestEachStructureIsDecodedOnce(t *testing.T) {
	const (
		kept = 4 << 10
		end  = 22 + 1<<16 // where an identity looks for the end of an archive
		foot = 22 + 20 + 56
	)
	var tensors strings.Builder
	for i := range 3000 {
		fmt.Fprintf(&tensors, `,"t%d":{"dtype":"U8","shape":[1],"data_offsets":[%d,%d]}`, i, i, i+1)
	}
	index := `{` + tensors.String()[1:] + `}`
	safe := header(uint64(len(index)), index) + strings.Repeat("x", 3000)

	var pairs strings.Builder
	for i := range 5000 {
		key := fmt.Sprintf("test.key.%d", i)
		pairs.WriteString(le64(uint64(len(key))) + key + "\x04\x00\x00\x00\x07\x00\x00\x00")
	}
	gguf := "GGUF\x03\x00\x00\x00" + le64(0) + le64(5000) + pairs.String()

	var members []member
	for i := range 1000 {
		members = append(members, member{fmt.Sprintf("a%d.npy", i), npy(t)})
	}
	npz := zipped(t, members...)
	packed := zipped(t, append(members, member{"README.txt", "a note\n"})...)
	broken := strings.Replace(npz, "a7.npy", "a7.npx", 1) // only in its local header
	for _, c := range []struct {
		what, name, data string
		from, to         int // the structure
	}{
		{"the header of safetensors", "m.safetensors", safe, kept, len(safe) - end},
		{"the header of GGUF", "m.gguf", gguf, kept, len(gguf) - end},
		{"the directory of arrays", "m.npz", npz, directoryOf(npz), len(npz) - foot},
		{"the directory of arrays with a note", "m.npz", packed, directoryOf(packed), len(packed) - foot},
		{"the same without the name", "m", packed, directoryOf(packed), len(packed) - foot},
		{"the directory of a refused archive", "m.npz", broken, directoryOf(broken), len(broken) - foot},
		{"the same as an archive of anything", "m", broken, directoryOf(broken), len(broken) - foot},
		{"the directory of an archive around texts", "m.zip", texts(t), directoryOf(texts(t)), len(texts(t)) - foot},
	} {
		if got := counting(t, []byte(c.data), gate.Hint{Name: c.name, Beside: true}); got.often(c.from, c.to) < 0.9 || got.often(c.from, c.to) > 1.1 {
			t.Errorf("%s is read %.2f times", c.what, got.often(c.from, c.to))
		}
	}
	for _, s := range corpus.Valid("pth") {
		at := directoryOf(string(s.Data))
		if at < kept {
			continue
		}
		if got := counting(t, s.Data, gate.Hint{Name: "m.pt"}); got.often(at, len(s.Data)-foot) > 1.1 {
			t.Errorf("the directory of %s is read %.2f times", s.Name, got.often(at, len(s.Data)-foot))
		}
	}
}

// texts is a ZIP archive of texts.
func texts(t *testing.T) string {
	var list []member
	for i := range 1000 {
		list = append(list, member{fmt.Sprintf("%d.txt", i), "a note\n"})
	}
	return zipped(t, list...)
}

func le64(n uint64) string { return header(n, "") }

// directoryOf returns where the directory of a ZIP archive begins, or -1.
func directoryOf(data string) int { return strings.Index(data, "PK\x01\x02") }
