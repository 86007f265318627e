package fuzz_test

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"github.com/anamnesis-go/anamnesis/internal/msgpack"
	"github.com/anamnesis-go/anamnesis/internal/sidecar"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/limits/limitstest"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// FuzzMsgpack tests values of MessagePack of any bytes: what is read is the same twice and lies in
// the file, nothing stays charged, a file that is accepted is refused with a byte more and truncated
// with one less, and the findings of spaCy's files lie in them.
func FuzzMsgpack(f *testing.F) {
	f.Add([]byte("\x82\xa1a\xa1b\xa1c\x93\x01\xc0\xc2"))
	f.Add([]byte("\x81\xa5shims\x91\x91\xc4\x04\x80\x04N."))
	f.Add([]byte("\x83\xc4\x02nd\xc3\xc4\x04type\xa2|O\xc4\x04data\xc4\x01\x00"))
	f.Add([]byte("\x81\xadprefix_search\xa7(a|a)+$"))
	f.Fuzz(func(t *testing.T, data []byte) {
		read := func(data []byte) (values []int64, err error) {
			b := limits.Policy{MaxTotalBytes: 16 << 20, MaxSteps: 1 << 20}.Budget(t.Context())
			defer b.Close()
			w := b.Probe()
			err = msgpack.Read(w, wire.NewCursor(w, "msgpack", bytes.NewReader(data), int64(len(data))), func(v msgpack.Value) error {
				if v.Off < 0 || v.Off >= int64(len(data)) || v.Size < 0 || int64(len(v.Text)) > v.Size {
					t.Fatalf("%+v of %d bytes", v, len(data))
				}
				values = append(values, v.Off)
				return nil
			})
			w.Close()
			limitstest.NoLeak(t, b)
			return values, err
		}
		values, err := read(data)
		if again, err2 := read(data); !slices.Equal(values, again) || wire.ClassOf(err) != wire.ClassOf(err2) {
			t.Fatalf("%v, %v; then %v, %v", values, err, again, err2)
		}
		if err == nil {
			if _, err := read(append(slices.Clone(data), 0xc0)); wire.ClassOf(err) != wire.Malformed {
				t.Errorf("with a byte more: %v", err)
			}
			if _, err := read(data[:len(data)-1]); err == nil {
				t.Error("accepted with a byte less")
			}
		}
		b := limits.Policy{MaxTotalBytes: 16 << 20, MaxSteps: 1 << 20}.Budget(t.Context())
		defer b.Close()
		found, _ := sidecar.SpaCyData(b, sidecar.Text{Name: "tokenizer", R: strings.NewReader(string(data)), Size: int64(len(data))})
		if slices.ContainsFunc(found, func(f tensor.Finding) bool { return f.Off < 0 || f.Off > int64(len(data)) }) {
			t.Fatalf("%v", found)
		}
	})
}
