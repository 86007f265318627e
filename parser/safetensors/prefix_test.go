package safetensors_test

import (
	"bytes"
	"encoding/binary"
	"testing"

	"github.com/anamnesis-go/anamnesis/corpus"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/limits/limitstest"
	"github.com/anamnesis-go/anamnesis/parser/safetensors"
)

// A verdict on a prefix holds for the whole file: an error refuses the whole file by the same rule,
// and stays an error with more bytes; a prefix that contains the header gives all that Decode
// gives. The account is left as it was.
func TestAPrefixAgreesWithTheWholeFile(t *testing.T) {
	type file struct {
		name   string
		data   []byte
		policy limits.Policy
	}
	var files []file
	for _, s := range corpus.Valid("safetensors") {
		files = append(files, file{s.Name, s.Data, limits.Policy{}})
	}
	for _, r := range corpus.Hostile("safetensors") {
		f := file{r.Name, r.Bytes(), limits.Policy{}}
		if r.Policy != nil {
			p, err := limits.ParsePolicy(r.Policy)
			if err != nil {
				t.Fatal(err)
			}
			f.policy = p
		}
		files = append(files, f)
	}
	early, late, whole := 0, 0, 0
	for _, f := range files {
		if len(f.data) > 4000 {
			continue
		}
		f.policy.Timeout = limits.NoTimeout
		b := limitstest.Open(t, f.policy)
		m, want := safetensors.Decode(b.Probe(), bytes.NewReader(f.data), int64(len(f.data)))
		if want == nil {
			defer m.Close()
		}
		b = limitstest.Open(t, f.policy)
		refused := false
		for n := range len(f.data) + 1 {
			for _, size := range []int64{int64(len(f.data)), -1} {
				all, err := safetensors.CheckPrefix(b, f.data[:n], size)
				held := n >= 8 && binary.LittleEndian.Uint64(f.data) <= uint64(n-8)
				if all != held {
					t.Fatalf("%s, %d bytes: whole is %v", f.name, n, all)
				}
				if err != nil && (want == nil || wire.RuleOf(err) != wire.RuleOf(want) && wire.ClassOf(err) != wire.ClassOf(want)) {
					t.Fatalf("%s, %d bytes, size %d: %v, and the file ends with %v", f.name, n, size, err, want)
				}
				if size >= 0 && refused && err == nil {
					t.Fatalf("%s, %d bytes: accepted, and a shorter prefix is refused", f.name, n)
				}
				if size >= 0 && all && (err == nil) != (want == nil) {
					t.Fatalf("%s, %d bytes: %v, and the file ends with %v", f.name, n, err, want)
				}
				switch {
				case err != nil && !all && size >= 0:
					early++
					refused = true
				case err != nil && !all:
					late++
				case all:
					whole++
				}
			}
		}
		if used := limitstest.Used(b, limits.Total); used != 0 {
			t.Errorf("%s: %d bytes are held", f.name, used)
		}
	}
	if early < 100 || late < 100 || whole < 100 {
		t.Errorf("%d and %d prefixes are refused early, %d are whole", early, late, whole)
	}
}
