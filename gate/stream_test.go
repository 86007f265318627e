package gate_test

import (
	"encoding/binary"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/anamnesis-go/anamnesis/corpus"
	"github.com/anamnesis-go/anamnesis/gate"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/limits/limitstest"
)

// endless is a file of ten gigabytes: a beginning, and rubbish that never ends.
type endless struct {
	head string
	read int64
}

func (e *endless) Read(p []byte) (int, error) {
	for i := range p {
		if at := e.read + int64(i); at < int64(len(e.head)) {
			p[i] = e.head[at]
		} else {
			p[i] = byte(at*7 + at>>9)
		}
	}
	e.read += int64(len(p))
	return len(p), nil
}

func header(n uint64, text string) string {
	return string(binary.LittleEndian.AppendUint64(nil, n)) + text
}

// An upload that cannot be accepted is refused after kilobytes, even if it has ten gigabytes.
func TestStreamsRefuseRubbishAtOnce(t *testing.T) {
	const size = 10 << 30
	long := header(60<<20, `{"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},`)
	for _, tc := range []struct {
		what, head, rule string
		hint             gate.Hint
		sized            bool
	}{
		{"no known magic", "rubbish, and rubbish again", "detect.unknown", gate.Hint{}, true},
		{"no known magic, of unknown size", "rubbish, and rubbish again", "detect.unknown", gate.Hint{}, false},
		{"what is called ONNX and is none", "rubbish, and rubbish again", "onnx.field-unknown", gate.Hint{Name: "m.onnx"}, true},
		{"the same, of unknown size", "\x08\x08\x38\x01", "onnx.wire-type", gate.Hint{Name: "m.ONNX"}, false},
		{"another format than was promised", "GGUF\x03\x00\x00\x00", "gate.promise", gate.Hint{Promised: "safetensors"}, true},
		{"a header that is longer than any", header(1<<40, `{"a"`), "safetensors.header-size", gate.Hint{}, true},
		{"a header that is longer than the limit", header(90<<20, `{"a"`), "limit.single_alloc", gate.Hint{}, true},
		{"a long header that is not JSON", long + "\x00", "json.syntax", gate.Hint{}, true},
		{"the same, of unknown size", long + "\x00", "json.syntax", gate.Hint{}, false},
		{"a header that ends, and data of another size", header(54, `{"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}}`), "safetensors.data-trailing", gate.Hint{}, true},
		{"a count that no limit allows", "GGUF\x03\x00\x00\x00\xff\xff\xff\x0f\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00", "limit.items", gate.Hint{}, true},
		{"a version that does not exist", "GGUF\x09\x00\x00\x00", "gguf.version-unknown", gate.Hint{}, true},
		{"an array of objects", "\x93NUMPY\x01\x00\x76\x00" + pad("{'descr': '|O', 'fortran_order': False, 'shape': (1,), }", 117) + "\n", "npy.object", gate.Hint{}, true},
		{"a pickle that runs code", "\x80\x04\x8c\x02os\x94\x8c\x06system\x94\x93\x94\x8c\x02id\x94\x85\x94R\x94", "pickle.global", gate.Hint{Name: "m.bin"}, true},
		{"one of protocol 0", "cos\nsystem\n(S'id'\ntR", "pickle.global", gate.Hint{Name: "m.pkl"}, false},
	} {
		t.Run(tc.what, func(t *testing.T) {
			g := gate.Gate{Policy: gate.Policy{Limits: limits.Policy{MaxSingleAlloc: 80 << 20}}}
			b := g.Policy.Limits.Budget(t.Context())
			defer b.Close()
			declared := int64(-1)
			if tc.sized {
				declared = size
			}
			s, in := g.Stream(b, declared, tc.hint), &endless{head: tc.head}
			_, err := io.CopyN(struct{ io.Writer }{s}, in, size)
			if !errors.Is(err, gate.ErrRefused) || in.read > 64<<10 {
				t.Fatalf("%v after %d bytes", err, in.read)
			}
			v := s.Verdict()
			if rule := v.Refusals()[0].Rule; rule != tc.rule || v.Accepted() {
				t.Errorf("by rule %s: %v", rule, v.Err)
			}
			if _, err := v.MarshalJSON(); err != nil {
				t.Error(err)
			}
			if n, err := s.Write([]byte("more")); n != 0 || !errors.Is(err, gate.ErrRefused) {
				t.Errorf("it takes more: %d, %v", n, err)
			}
			s.Close()
			s.Close()
			limitstest.NoLeak(t, b)
		})
	}
}

func pad(s string, n int) string { return s + strings.Repeat(" ", n-len(s)) }

// Nothing that is accepted when it is whole is refused while it comes, whether or
// not its size is known.
func TestStreamsRefuseNothingThatIsAcceptedWhole(t *testing.T) {
	for _, format := range corpus.Formats() {
		for _, seed := range corpus.Valid(format) {
			g := gate.Gate{}
			if v, _ := check(t, g, string(seed.Data), gate.Hint{Name: seed.Name}); !v.Accepted() {
				continue
			}
			for _, size := range []int64{int64(len(seed.Data)), -1} {
				b := g.Policy.Limits.Budget(t.Context())
				s := g.Stream(b, size, gate.Hint{Name: seed.Name})
				if _, err := s.Write(seed.Data); err != nil || s.Verdict() != nil {
					t.Errorf("%s of size %d: %v", seed.Name, size, err)
				}
				s.Close()
				limitstest.NoLeak(t, b)
				b.Close()
			}
		}
	}
}

// An exception for one content is known when all of it is there, not before.
func TestStreamsWaitForTheDigestOfAnException(t *testing.T) {
	p := gate.Policy{Ignore: []gate.Exception{{Rule: "pickle.*", SHA256: strings.Repeat("0", 64), Path: "known/*", Reason: "r"}}}
	g := gate.New(p)
	for name, refused := range map[string]bool{"known/m.pkl": false, "m.pkl": true} {
		b := p.Limits.Budget(t.Context())
		s := g.Stream(b, int64(len(evil)), gate.Hint{Name: name})
		if _, err := s.Write([]byte(evil)); errors.Is(err, gate.ErrRefused) != refused {
			t.Errorf("%s: %v", name, err)
		}
		s.Close()
		b.Close()
	}
	b := p.Limits.Budget(t.Context())
	defer b.Close()
	s := g.Stream(b, 3, gate.Hint{})
	defer s.Close()
	if _, err := s.Write([]byte("four")); err == nil {
		t.Error("more than was declared")
	}
}
