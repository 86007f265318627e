package safetensors_test

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/anamnesis-go/anamnesis/corpus"
	"github.com/anamnesis-go/anamnesis/internal/corpustest"
	"github.com/anamnesis-go/anamnesis/internal/fixtures"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/limits/limitstest"
	"github.com/anamnesis-go/anamnesis/parser/safetensors"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

func account(t testing.TB, p limits.Policy) *limits.Budget {
	b := p.Budget(t.Context())
	t.Cleanup(b.Close)
	return b
}

func decode(t testing.TB, data []byte) (*safetensors.File, error) {
	return safetensors.Decode(account(t, limits.Policy{}), bytes.NewReader(data), int64(len(data)))
}

// file returns a file with this header and the given number of zeros.
func file(header string, data int) []byte {
	out := binary.LittleEndian.AppendUint64(nil, uint64(len(header)))
	return append(append(out, header...), make([]byte, data)...)
}

func TestReferenceFilesDecodeAsByTheReference(t *testing.T) {
	var expect map[string]struct {
		Header   int64
		Metadata map[string]string
		Tensors  map[string]said
	}
	readJSON(t, "../../testdata/safetensors/expect.json", &expect)
	seen := 0
	for _, s := range corpus.Valid("safetensors") {
		want, ok := expect[s.Name]
		if !ok {
			if s.Recipe == nil {
				t.Errorf("%s has no expectation", s.Name)
			}
			continue
		}
		seen++
		t.Run(s.Name, func(t *testing.T) {
			f, err := decode(t, s.Data)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want.Tensors, describe(t, f)); diff != "" {
				t.Error(diff)
			}
			if diff := cmp.Diff(want.Metadata, texts(f)); diff != "" {
				t.Error(diff)
			}
			if f.HeaderLen() != want.Header || f.Len() != len(want.Tensors) || len(f.Findings()) != 0 {
				t.Errorf("header of %d bytes, %d tensors, %v", f.HeaderLen(), f.Len(), f.Findings())
			}
		})
	}
	if seen != len(expect) || seen == 0 {
		t.Errorf("%d of %d files compared", seen, len(expect))
	}
}

func TestASampleDecodesAsByTheReference(t *testing.T) {
	var expect map[string]map[string]said
	readJSON(t, "../../testdata/safetensors/expect-samples.json", &expect)
	data, err := os.ReadFile("../../testdata/safetensors/tiny-llama.safetensors")
	if err != nil {
		t.Fatal(err)
	}
	f, err := decode(t, data)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(expect["tiny-llama.safetensors"], describe(t, f)); diff != "" {
		t.Error(diff)
	}
	b := account(t, limits.Policy{})
	m, err := safetensors.OpenIndex(b, os.DirFS("../../testdata/safetensors"), "tiny-llama-sharded/model.safetensors.index.json")
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	if diff := cmp.Diff(expect["tiny-llama-sharded"], describe(t, m)); diff != "" {
		t.Error(diff)
	}
	if len(m.Findings()) != 0 {
		t.Error(m.Findings())
	}
	got := maps.Collect(m.(*safetensors.Sharded).Aliases())
	if diff := cmp.Diff(map[string]string{"model.embed_tokens.weight": "lm_head.weight"}, got); diff != "" {
		t.Error(diff)
	}
}

func TestFixtures(t *testing.T) {
	for _, name := range []string{"fp8", "gptq"} {
		data := fixtures.Read(t, "safetensors/"+name+".safetensors")
		var want struct {
			HeaderSize int64             `json:"header_size"`
			Metadata   map[string]string `json:"metadata"`
			Tensors    []struct {
				Name, DType string
				Shape       []int64
				Offsets     [2]int64 `json:"data_offsets"`
			}
		}
		if err := json.Unmarshal(fixtures.Read(t, "safetensors/"+name+".expected.json"), &want); err != nil {
			t.Fatal(err)
		}
		f, err := decode(t, data)
		if err != nil {
			t.Fatal(err)
		}
		infos := map[string]string{}
		for i := range f.Tensors() {
			start := i.Span.Off - 8 - want.HeaderSize
			infos[i.Name] = fmt.Sprint(i.TypeName(), i.Shape, start, start+i.Span.Len)
		}
		expect := map[string]string{}
		for _, w := range want.Tensors {
			expect[w.Name] = fmt.Sprint(w.DType, w.Shape, w.Offsets[0], w.Offsets[1])
		}
		if diff := cmp.Diff(expect, infos); diff != "" {
			t.Error(diff)
		}
		if diff := cmp.Diff(want.Metadata, texts(f)); diff != "" || f.HeaderLen() != want.HeaderSize {
			t.Errorf("header of %d bytes: %s", f.HeaderLen(), diff)
		}
	}
}

func TestHostileFilesAreRefusedWithClassAndOffset(t *testing.T) {
	corpustest.Refused(t, "safetensors", 90, func(b *limits.Budget, r io.ReaderAt, size int64) (func(*limits.Budget) error, error) {
		f, err := safetensors.Decode(b, r, size)
		if err != nil {
			return nil, err
		}
		return f.Verify, nil
	})
}

// The text that HQQ would run as Python must be the name of a type, with one letter per element.
func TestEvaluatedTextIsTheNameOfAType(t *testing.T) {
	for text, want := range map[string]wire.Class{
		"torch.float16": wire.OK, "torch.float8_e4m3fn": wire.OK, "": wire.Forbidden, "torch.": wire.Forbidden, "float16": wire.Forbidden,
		"torch.os": wire.Forbidden, "torch.hub.load": wire.Forbidden, "torch.load('x')": wire.Forbidden, "torch.f()": wire.Forbidden, "print(1)": wire.Forbidden,
		" torch.float16": wire.Forbidden, "torch.float16\n": wire.Forbidden, "torch.ﬂoat": wire.Forbidden, "torch." + strings.Repeat("f", 64): wire.Forbidden,
		"torch.int" + strings.Repeat("8", 55): wire.OK, "torch.int" + strings.Repeat("8", 56): wire.Forbidden, // 64 letters and 65
	} {
		for _, name := range []string{"compute_dtype", "m.l.compute_dtype", "m.unpack_view_dtype"} {
			for _, dtype := range []string{"U8", "I8"} {
				header := fmt.Sprintf(`{"%s":{"dtype":"%s","shape":[%d],"data_offsets":[0,%d]}}`, name, dtype, len(text), len(text))
				file := append(binary.LittleEndian.AppendUint64(nil, uint64(len(header))), header+text...)
				b := limits.Policy{}.Budget(t.Context())
				f, err := safetensors.Decode(b, bytes.NewReader(file), int64(len(file)))
				if err != nil {
					t.Fatal(err)
				}
				wanted := want
				if dtype != "U8" {
					wanted = wire.Forbidden
				}
				if err := f.Verify(b); wire.ClassOf(err) != wanted {
					t.Errorf("%s %s %q: %v", dtype, name, text, err)
				}
				b.Close()
			}
		}
	}
}

// Every part of the header that a message may need to name.
func TestMessagesNameThePartOfTheHeader(t *testing.T) {
	for _, c := range []struct {
		header string
		data   int
		want   string
	}{
		{`{"w":{"dtype":"F32","shape":[2],"data_offsets":[0,4]}}`, 4,
			`safetensors: tensor "w" at 0x37: two statements of the file contradict each other: data_offsets span 4 bytes, but shape and dtype F32 need 8`},
		{`{"a\u0007b":{"dtype":"U8","shape":[1],"data_offsets":[1,2]}}`, 2,
			`safetensors: tensor "a\u{7}b" at 0x3d: bytes that belong to nothing: data_offsets begin at 1, but the previous tensors end at 0`},
		{`{"__metadata__":{"a":7}}`, 0, `safetensors: __metadata__ at 0x1d: does not follow the format's grammar: a number where a string belongs`},
		{`{"w":{"dtype":"U8","shape":[4],"data_offsets":[0,4]}}`, 2, `safetensors: data at 0x3f: file ends too early: the tensors end at 0x41, but the file ends at 0x3f`},
		{`{"a":1,"a":2}`, 0, `safetensors: tensor "a" at 0xd: does not follow the format's grammar: a number where an object belongs`},
		{`{"__metadata__":{},"__metadata__":{}}`, 0, `safetensors: header at 0x1b: duplicate: member "__metadata__"`},
		{`{"__metadata__":{}, x}`, 0, `safetensors: header at 0x1c: does not follow the format's grammar: byte 0x78 where a member name belongs`},
		{`{}`, 3, `safetensors: data at 0xa: bytes after the end: 3 bytes belong to no tensor`},
		{`{"w":{"dtype":"U8","shape":[4]}}`, 0, `safetensors: tensor "w" at 0xd: a part is missing: an entry needs dtype, shape and data_offsets`},
	} {
		if _, err := decode(t, file(c.header, c.data)); err == nil || err.Error() != c.want {
			t.Errorf("%s: %v", c.header, err)
		}
	}
}

func TestTensorsAreListedInTheOrderOfTheirBytes(t *testing.T) {
	var s strings.Builder
	s.WriteString("{")
	const n = 500
	for k := range n {
		i := (k*263 + 17) % n // a permutation with several cycles
		if k > 0 {
			s.WriteString(",")
		}
		fmt.Fprintf(&s, `"t%d":{"dtype":"U8","shape":[2],"data_offsets":[%d,%d]},"e%d":{"dtype":"U8","shape":[0],"data_offsets":[%d,%d]}`, i, 2*i, 2*i+2, i, 2*i, 2*i)
	}
	s.WriteString("}")
	f, err := decode(t, file(s.String(), 2*n))
	if err != nil {
		t.Fatal(err)
	}
	var got, want []string
	for i := range f.Tensors() {
		got = append(got, i.Name)
	}
	for i := range n {
		want = append(want, fmt.Sprintf("e%d", i), fmt.Sprintf("t%d", i))
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	b := account(t, limits.Policy{})
	if _, err := safetensors.Decode(b, bytes.NewReader(file(s.String(), 2*n)), int64(8+s.Len()+2*n)); err != nil {
		t.Fatal(err)
	}
	if back := b.Charged() - limitstest.Used(b, limits.Total); back < 2*n*(24+4) {
		t.Errorf("only %d bytes of sorting %d tensors are given back", back, 2*n)
	}
}

func TestShapesOfManySizesShareTheirMemory(t *testing.T) {
	var s strings.Builder
	s.WriteString("{")
	const n = 3000
	for i := range n {
		dims := strings.Repeat("1,", i%67)
		fmt.Fprintf(&s, `"%d":{"dtype":"U8","shape":[%s1],"data_offsets":[%d,%d]},`, i, dims, i, i+1)
	}
	fmt.Fprintf(&s, `"z":{"dtype":"U8","shape":[%s1],"data_offsets":[%d,%d]}}`, strings.Repeat("1,", 9999), n, n+1)
	f, err := decode(t, file(s.String(), n+1))
	if err != nil {
		t.Fatal(err)
	}
	k := 0
	for i := range f.Tensors() {
		want := k%67 + 1
		if k == n {
			want = 10_000
		}
		if len(i.Shape) != want || cap(i.Shape) != want || i.Elements() != 1 {
			t.Fatalf("%q has %d dimensions, capacity %d", i.Name, len(i.Shape), cap(i.Shape))
		}
		k++
	}
}

func TestAnUnknownTypeIsListedAndRefusedOnlyWhenRead(t *testing.T) {
	f, err := decode(t, file(`{"a":{"dtype":"F2","shape":[3],"data_offsets":[0,1]},"b":{"dtype":"Q4_K","shape":[256],"data_offsets":[1,2]}}`, 2))
	if err != nil {
		t.Fatal(err)
	}
	for i := range f.Tensors() {
		if i.DType != tensor.Unknown || i.TypeName() != i.Stored || i.Bytes() != 1 {
			t.Errorf("%+v", i)
		}
		if _, err := f.Body(account(t, limits.Policy{}), i); wire.ClassOf(err) != wire.Unsupported {
			t.Error(err)
		}
	}
	found := f.Findings()
	if len(found) != 1 || found[0].Code != "safetensors.dtype-unknown" || !strings.HasPrefix(found[0].Text, "2 tensors") || found[0].Where != `tensor "a"` {
		t.Errorf("%+v", found)
	}
	one, err := decode(t, file(`{"a":{"dtype":"F2","shape":[3],"data_offsets":[0,1]}}`, 1))
	if err != nil || !strings.HasPrefix(one.Findings()[0].Text, "1 tensor has") {
		t.Error(err)
	}
}

func TestTheEnumerationIsTheReferences(t *testing.T) {
	for _, d := range tensor.DTypes() {
		name := d.String()
		g, _ := d.Geometry()
		f, err := decode(t, file(fmt.Sprintf(`{"w":{"dtype":"%s","shape":[%d],"data_offsets":[0,%d]}}`, name, g.Elems, g.Bytes), int(g.Bytes)))
		if err != nil {
			t.Fatal(err)
		}
		if known := f.Infos[0].DType != tensor.Unknown; known != safetensors.Stores(d) || known && f.Infos[0].DType != d {
			t.Errorf("%s is read as %v", name, f.Infos[0].DType)
		}
	}
}

func TestFindingsThatThePolicyRefuses(t *testing.T) {
	for code, header := range map[string]string{
		"safetensors.dtype-unknown":  `{"a":{"dtype":"F2","shape":[3],"data_offsets":[0,1]}}`,
		"safetensors.alias-dangling": `{"__metadata__":{"b.weight":"c.weight"},"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}}`,
	} {
		b := account(t, limits.Policy{RefuseFindings: []string{code}})
		data := file(header, 1)
		if _, err := safetensors.Decode(b, bytes.NewReader(data), int64(len(data))); wire.ClassOf(err) != wire.Forbidden {
			t.Errorf("%s: %v", code, err)
		}
	}
}

func TestAliasesOfTiedTensors(t *testing.T) {
	const tensors = `"kept.weight":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},"x":{"dtype":"U8","shape":[1],"data_offsets":[1,2]}`
	for _, c := range []struct {
		what, meta string
		aliases    map[string]string
		dangling   string
	}{
		{"one", `"tied.weight":"kept.weight"`, map[string]string{"tied.weight": "kept.weight"}, ""},
		{"two of one tensor", `"a":"kept.weight","b":"kept.weight"`, map[string]string{"a": "kept.weight", "b": "kept.weight"}, ""},
		{"a key that is stored is not alias", `"x":"kept.weight"`, nil, ""},
		{"a value that is not a name is metadata", `"format":"pt","step":"x.y"`, nil, ""},
		{"a value that happens to be a name", `"format":"x"`, map[string]string{"format": "x"}, ""},
		{"a name of the same last part that is not stored", `"tied.weight":"gone.weight"`, nil, `alias "tied.weight": is said to be tied to "gone.weight", which is not stored`},
		{"several", `"a.w":"b.w","c.w":"d.w","e.w":"f.w"`, nil, `alias "a.w": is said to be tied to "b.w", which is not stored; so 2 more aliases`},
		{"two", `"a.w":"b.w","c.w":"d.w"`, nil, `alias "a.w": is said to be tied to "b.w", which is not stored; so 1 more alias`},
		{"an alias of an alias", `"a.weight":"b.weight","b.weight":"kept.weight"`, map[string]string{"b.weight": "kept.weight"},
			`alias "a.weight": is said to be tied to "b.weight", which is not stored`},
		{"a path of the same ending", `"file.txt":"some folder/other.txt"`, nil, ""},
		{"empty texts", `"":""`, nil, ""},
	} {
		f, err := decode(t, file(`{"__metadata__":{`+c.meta+`},`+tensors+`}`, 2))
		if err != nil {
			t.Fatal(err)
		}
		got := maps.Collect(f.Aliases())
		if len(got)+len(c.aliases) > 0 {
			if diff := cmp.Diff(c.aliases, got); diff != "" {
				t.Errorf("%s: %s", c.what, diff)
			}
		}
		text := ""
		for _, found := range f.Findings() {
			text += found.Where + ": " + found.Text
		}
		if text != c.dangling {
			t.Errorf("%s: %s", c.what, text)
		}
	}
}

func TestIterationStopsWhenAsked(t *testing.T) {
	f, err := decode(t, file(`{"__metadata__":{"a":"w","b":"w"},"w":{"dtype":"U8","shape":[],"data_offsets":[0,1]}}`, 1))
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for range f.Meta() {
		n++
		break
	}
	for range f.Aliases() {
		n++
		break
	}
	if n != 2 {
		t.Errorf("%d steps", n)
	}
}
