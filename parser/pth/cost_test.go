package pth_test

import (
	"testing"

	"github.com/anamnesis-go/anamnesis/internal/faulty"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/pth"
)

// Inspecting reads the first bytes, the end records, the directory, each local header with the
// descriptor before it, the small records and the pickle. Of a storage it reads only bytes next to
// a header.
func TestDecodeReadsNoStorage(t *testing.T) {
	weights := resnet(1)
	h := archive(weights)
	for i := 0; h.size < 1<<30; i++ {
		weights[i].shape = []int64{1 << 26}
		h = archive(weights)
	}
	r := &faulty.Counter{ReaderAt: h}
	b := limits.Policy{}.Budget(t.Context())
	defer b.Close()
	f, err := pth.Decode(b, r, h.size)
	if err != nil {
		t.Fatal(err)
	}
	if f.Len() != len(weights) {
		t.Fatalf("%d tensors", f.Len())
	}
	if r.Bytes > h.size/100 {
		t.Errorf("%d bytes read of %d: more than one in a hundred", r.Bytes, h.size)
	}
	// Besides one read per member: first bytes (twice), end records, directory,
	// last descriptor, pickle, and five small records.
	members := int64(len(weights) + 6)
	if extra := r.Reads - members; extra > 13 {
		t.Errorf("%d reads of %d members, and %d more", r.Reads, members, extra)
	}
	t.Logf("%d members: %d reads, %d bytes of %d", members, r.Reads, r.Bytes, h.size)
}
