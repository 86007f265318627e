package gate_test

import (
	"io"
	"testing"

	"github.com/anamnesis-go/anamnesis/gate"
)

// zeros is a file of a header and of zeros that were never written, as a sparse file is.
type zeros struct {
	head string
	read int64
}

func (z *zeros) ReadAt(p []byte, off int64) (int, error) {
	clear(p)
	if off < int64(len(z.head)) {
		copy(p, z.head[off:])
	}
	z.read += int64(len(p))
	return len(p), nil
}

var _ io.ReaderAt = (*zeros)(nil)

// Data is called verified only if it was read and compared with a checksum.
func TestDataIsCalledVerifiedOnlyIfItWasChecked(t *testing.T) {
	const n = 6 << 30
	text := `{"a":{"dtype":"U8","shape":[6442450944],"data_offsets":[0,6442450944]}}`
	file := &zeros{head: header(uint64(len(text)), text)}
	g := gate.Gate{}
	b := g.Policy.Limits.Budget(t.Context())
	defer b.Close()
	v, err := g.Check(b, file, int64(len(file.head))+n, gate.Hint{Name: "m.safetensors"})
	if err != nil || !v.Accepted() || v.Bodies() != "not read" || file.read > 1<<20 {
		t.Errorf("%v, %v, %d bytes read of %d: %s", err, v.Err, file.read, int64(n), v.Bodies())
	}
	small := header(54, `{"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}}`) + "\x00\x00\x00\x00"
	for _, tc := range []struct {
		what, data, name, bodies string
		digest                   bool
	}{
		{"safetensors", small, "m.safetensors", "not read", false},
		{"safetensors, read for its digest", small, "m.safetensors", "read", true},
		{"a checkpoint, which has checksums", valid(t, "pth", "tied.pt"), "m.pt", "verified", false},
		{"arrays, which have checksums", valid(t, "npz", ""), "m.npz", "verified", false},
		{"GGUF", valid(t, "gguf", ""), "m.gguf", "not read", false},
		{"a plain pickle, read to its end", "\x80\x02}q\x00.", "m.pkl", "verified", false},
	} {
		v, _ := check(t, gate.Gate{Digest: tc.digest, Policy: gate.Policy{FailOn: gate.FailNever}}, tc.data, gate.Hint{Name: tc.name})
		if v.Bodies() != tc.bodies {
			t.Errorf("%s: %s (%v)", tc.what, v.Bodies(), v.Err)
		}
	}
}
