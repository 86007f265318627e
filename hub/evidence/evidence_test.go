package evidence_test

import (
	"bytes"
	"errors"
	"io"
	"math/rand/v2"
	"testing"

	"github.com/anamnesis-go/anamnesis/hub/evidence"
)

// broken fails.
type broken struct{}

func (broken) ReadAt([]byte, int64) (int, error) { return 0, io.ErrUnexpectedEOF }

// Whatever is read in whatever order reads the same from the evidence; what was not read is missed.
func TestWhatWasReadReadsAgain(t *testing.T) {
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 1))
		data := make([]byte, r.IntN(5000))
		for i := range data {
			data[i] = byte(r.Uint32())
		}
		known := make([]bool, len(data))
		rec := evidence.Record(bytes.NewReader(data), int64(len(data)))
		for range r.IntN(40) {
			p := make([]byte, r.IntN(300))
			off := r.IntN(len(data) + 10)
			n, err := rec.ReadAt(p, int64(off))
			wantN, wantErr := bytes.NewReader(data).ReadAt(make([]byte, len(p)), int64(off))
			if n != wantN || err != wantErr {
				t.Fatalf("seed %d: %d, %v", seed, n, err)
			}
			for i := off; i < min(off+n, len(data)); i++ {
				known[i] = true
			}
		}
		blob, ok := rec.Blob()
		if !ok {
			t.Fatalf("seed %d: no evidence", seed)
		}
		c, err := evidence.Open(blob)
		if err != nil || c.Size != int64(len(data)) {
			t.Fatalf("seed %d: %v", seed, err)
		}
		for range 200 {
			p := make([]byte, r.IntN(100))
			off := r.IntN(len(data) + 10)
			all := true
			for i := off; i < min(off+len(p), len(data)); i++ {
				all = all && known[i]
			}
			n, err := c.ReadAt(p, int64(off))
			if !all {
				if !errors.Is(err, evidence.ErrMissed) || !c.Missed() {
					t.Fatalf("seed %d: %d bytes at %d: %d, %v", seed, len(p), off, n, err)
				}
				continue
			}
			want := make([]byte, len(p))
			wantN, wantErr := bytes.NewReader(data).ReadAt(want, int64(off))
			if n != wantN || err != wantErr && len(p) > 0 || !bytes.Equal(p[:n], want[:n]) {
				t.Fatalf("seed %d: %d bytes at %d: %d, %v, want %d, %v", seed, len(p), off, n, err, wantN, wantErr)
			}
		}
	}
}

func TestThereIsNoEvidence(t *testing.T) {
	rec := evidence.Record(broken{}, 10)
	rec.ReadAt(make([]byte, 1), 0)
	if _, ok := rec.Blob(); ok {
		t.Error("of a content that could not be read")
	}
	large := bytes.NewReader(make([]byte, evidence.MaxBytes+1))
	rec = evidence.Record(large, large.Size())
	io.Copy(io.Discard, io.NewSectionReader(rec, 0, large.Size()))
	if _, ok := rec.Blob(); ok {
		t.Error("of a content that was read whole and is too large")
	}
	rec = evidence.Record(large, large.Size())
	if _, err := rec.ReadAt(make([]byte, 10), evidence.MaxBytes-5); err != nil && !errors.Is(err, io.EOF) {
		t.Fatal(err)
	}
	if blob, ok := rec.Blob(); !ok || len(blob) > 100 {
		t.Errorf("%d bytes, %v", len(blob), ok)
	}
}

func FuzzOpen(f *testing.F) {
	rec := evidence.Record(bytes.NewReader([]byte("0123456789")), 10)
	rec.ReadAt(make([]byte, 2), 1)
	rec.ReadAt(make([]byte, 3), 7)
	blob, _ := rec.Blob()
	f.Add(blob)
	f.Add([]byte{1})
	f.Fuzz(func(t *testing.T, blob []byte) {
		c, err := evidence.Open(blob)
		if err != nil {
			return
		}
		p := make([]byte, 64)
		for _, off := range []int64{0, 1, c.Size - 1, c.Size, c.Size / 2} {
			if off < 0 {
				continue
			}
			if n, err := c.ReadAt(p, off); n > len(p) || n < 0 || n < len(p) && err == nil {
				t.Fatalf("%d, %v", n, err)
			}
		}
	})
}
