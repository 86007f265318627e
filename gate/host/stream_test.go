package host_test

import (
	"io"
	"testing"

	"github.com/anamnesis-go/anamnesis/gate/host"
)

// rubbish has no end, and counts what was read of it.
type rubbish struct{ read int64 }

func (r *rubbish) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = 'r'
	}
	r.read += int64(len(p))
	return len(p), nil
}

// A host reads kilobytes of ten gigabytes of rubbish, and gives everything back.
func TestRubbishIsNotTakenIn(t *testing.T) {
	h, err := host.New(host.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	for _, size := range []int64{10 << 30, -1} {
		u, err := h.Begin("alice")
		if err != nil {
			t.Fatal(err)
		}
		in := &rubbish{}
		if err := u.Spool(io.LimitReader(in, 10<<30), size); err != nil {
			t.Fatal(err)
		}
		v, err := u.Judge(t.Context())
		if err != nil || v.Accepted() || v.Refusals()[0].Rule != "detect.foreign" {
			t.Errorf("%+v, %v", v, err)
		}
		if in.read > 64<<10 {
			t.Errorf("%d bytes were read", in.read)
		}
		if err := u.Close(); err != nil {
			t.Error(err)
		}
		if l := h.Load(); l != (host.Load{}) {
			t.Errorf("left behind: %+v", l)
		}
	}
}
