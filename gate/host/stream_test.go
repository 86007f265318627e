package host_test

import (
	"crypto/sha256"
	"encoding/hex"
	"io"
	"strings"
	"testing"

	"github.com/anamnesis-go/anamnesis/gate"
	"github.com/anamnesis-go/anamnesis/gate/host"
)

// rubbish is endless, and counts the bytes that were read.
type rubbish struct{ read int64 }

func (r *rubbish) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = 'r'
	}
	r.read += int64(len(p))
	return len(p), nil
}

// A host reads kilobytes of ten gigabytes of rubbish, and gives everything back.
func TestRubbishIsRefusedWithinKilobytes(t *testing.T) {
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

// An exception ends on its last day, however long the host has been running.
func TestExceptionsExpireWhileAHostRuns(t *testing.T) {
	data, today := strings.Repeat("r", 1000), "2026-06-30"
	sum := sha256.Sum256([]byte(data))
	policy := gate.Policy{Ignore: []gate.Exception{{Rule: "detect.foreign", SHA256: hex.EncodeToString(sum[:]), Reason: "known", Expires: "2026-06-30"}}}
	h, err := host.New(host.Options{Gate: gate.Gate{Policy: policy, Digest: true}, Today: func() string { return today }})
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	for _, c := range []struct {
		today    string
		accepted bool
	}{{"2026-06-30", true}, {"2026-07-01", false}} {
		today = c.today
		u, err := h.Begin("alice")
		if err != nil {
			t.Fatal(err)
		}
		if err := u.Spool(strings.NewReader(data), int64(len(data))); err != nil {
			t.Fatal(err)
		}
		if v, err := u.Judge(t.Context()); err != nil || v.Accepted() != c.accepted {
			t.Errorf("on %s: %+v, %v", c.today, v, err)
		}
		if err := u.Close(); err != nil {
			t.Error(err)
		}
	}
}
