package pth_test

import (
	"io"
	"testing"

	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/pth"
)

// counting counts reads and the bytes that they ask for.
type counting struct {
	io.ReaderAt
	reads, bytes int64
}

func (c *counting) ReadAt(p []byte, off int64) (int, error) {
	c.reads++
	c.bytes += int64(len(p))
	return c.ReaderAt.ReadAt(p, off)
}

// Inspecting reads the first bytes, the end records, the directory, each local
// header with the descriptor before it, the small records and the pickle:
// nothing of a storage but what lies in the reach of a header.
func TestDecodeReadsNoStorage(t *testing.T) {
	weights := resnet(1)
	h := archive(weights)
	for i := 0; h.size < 1<<30; i++ {
		weights[i].shape = []int64{1 << 26}
		h = archive(weights)
	}
	r := &counting{ReaderAt: h}
	b := limits.Policy{}.Budget(t.Context())
	defer b.Close()
	f, err := pth.Decode(b, r, h.size)
	if err != nil {
		t.Fatal(err)
	}
	if f.Len() != len(weights) {
		t.Fatalf("%d tensors", f.Len())
	}
	if r.bytes > h.size/100 {
		t.Errorf("%d bytes read of %d: more than one in a hundred", r.bytes, h.size)
	}
	// Besides one read per member: first bytes (twice), end records, directory,
	// last descriptor, pickle, and five small records.
	members := int64(len(weights) + 6)
	if extra := r.reads - members; extra > 13 {
		t.Errorf("%d reads of %d members, and %d more", r.reads, members, extra)
	}
	t.Logf("%d members: %d reads, %d bytes of %d", members, r.reads, r.bytes, h.size)
}
