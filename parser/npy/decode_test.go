package npy_test

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"strings"
	"testing"

	"github.com/anamnesis-go/anamnesis/corpus"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/npy"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
	"github.com/google/go-cmp/cmp"
)

// array returns a file with this dictionary and the given number of bytes of data.
func array(version int, dict string, size int) []byte {
	out := append([]byte("\x93NUMPY"), byte(version), 0)
	if version == 1 {
		out = binary.LittleEndian.AppendUint16(out, uint16(len(dict)+1))
	} else {
		out = binary.LittleEndian.AppendUint32(out, uint32(len(dict)+1))
	}
	return append(append(append(out, dict...), '\n'), make([]byte, size)...)
}

func decode(t testing.TB, data []byte) (*npy.File, error) {
	t.Helper()
	return npy.Decode(account(t, nil), bytes.NewReader(data), int64(len(data)))
}

func header(descr, shape string) string {
	return fmt.Sprintf("{'descr': %s, 'fortran_order': False, 'shape': %s}", descr, shape)
}

// Headers that other writers spell differently and Python reads in the same way.
func TestOtherSpellingsOfTheHeaderAreRead(t *testing.T) {
	want := tensor.Info{Name: "arr_0", Stored: "<f4", DType: tensor.F32, Shape: []int64{2, 3}, Span: tensor.Span{Len: 24}}
	for name, dict := range map[string]string{
		"another order of the keys":      `{'shape': (2, 3), 'descr': '<f4', 'fortran_order': False}`,
		"double quotes":                  `{"descr": "<f4", "fortran_order": False, "shape": (2, 3)}`,
		"no spaces":                      `{'descr':'<f4','fortran_order':False,'shape':(2,3)}`,
		"many spaces, tabs and newlines": "{ 'descr' :\t'<f4' ,\n 'fortran_order' : False , 'shape' : ( 2 , 3 , ) , }   ",
		"escapes":                        `{'\x64escr': '\u003cf4', 'fortran_order': False, 'shape': (2, 3)}`,
		"longs of Python 2":              `{'descr': '<f4', 'fortran_order': False, 'shape': (2L, 3L)}`,
	} {
		f, err := decode(t, array(1, dict, 24))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		got := f.Infos[0]
		got.Span.Off = 0
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

func TestEachTypeIsKnownByItsDescr(t *testing.T) {
	type answer struct {
		DType tensor.DType
		Order tensor.Order
		Size  int64
		Found string
	}
	unknown := func(size int64, found string) answer { return answer{tensor.Unknown, tensor.Little, size, found} }
	for descr, want := range map[string]answer{
		"|b1": {tensor.Bool, tensor.Little, 1, ""}, "<b1": {tensor.Bool, tensor.Little, 1, ""}, ">i1": {tensor.I8, tensor.Little, 1, ""},
		"<u2": {tensor.U16, tensor.Little, 2, ""}, ">u2": {tensor.U16, tensor.Big, 2, ""},
		"<c8": {tensor.C64, tensor.Little, 8, ""}, ">c16": {tensor.C128, tensor.Big, 16, ""},
		"=f8": {tensor.F64, tensor.Little, 8, "npy.native-order"}, "=u1": {tensor.U8, tensor.Little, 1, ""},
		"<V2": {tensor.BF16, tensor.Little, 2, "npy.bf16-void"}, "|V2": {tensor.BF16, tensor.Little, 2, "npy.bf16-void"},
		">V2": {tensor.BF16, tensor.Big, 2, "npy.bf16-void"},
		"<f1": {tensor.F8E5M2, tensor.Little, 1, "npy.f8-e5m2"},
		"|V1": unknown(1, "npy.type-lost"), "<V4": unknown(4, ""), "|V0": unknown(0, ""),
		"<f16": unknown(16, ""), "<f12": unknown(12, ""), "<c24": unknown(24, ""), "<c32": unknown(32, ""),
		"|S5": unknown(5, ""), "<S5": unknown(5, ""), "<U5": unknown(20, ""), "|S0": unknown(0, ""), "<U0": unknown(0, ""),
		"<M8": unknown(8, ""), "<m8[ns]": unknown(8, ""), "<M8[25s]": unknown(8, ""),
		"<W4": unknown(4, "npy.type-unknown"), "|W4": unknown(4, "npy.type-unknown"), "<i16": unknown(16, "npy.type-unknown"), "<f3": unknown(3, "npy.type-unknown"),
	} {
		f, err := decode(t, array(1, header("'"+descr+"'", "(3,)"), int(want.Size)*3))
		if err != nil {
			t.Errorf("%s: %v", descr, err)
			continue
		}
		i := f.Infos[0]
		got := answer{i.DType, i.Order, f.Header.Type.Size, ""}
		for _, finding := range f.Findings() {
			got.Found = finding.Code
		}
		if diff := cmp.Diff(want, got); diff != "" || i.Stored != descr {
			t.Errorf("%s, stored as %s: %s", descr, i.Stored, diff)
		}
	}
	for _, descr := range []string{">f16", ">U5", ">M8[D]"} {
		f, err := decode(t, array(1, header("'"+descr+"'", "(0,)"), 0))
		if err != nil || f.Infos[0].Order != tensor.Big {
			t.Errorf("%s: %v", descr, err)
		}
	}
}

func TestInvalidTypesAreRefused(t *testing.T) {
	for _, descr := range []string{
		"", "<", "<f", "f4", "!f4", "<4", "<f04", "<f-4", "<f4x", "<f4[ns]", "<M4", "<M16[ns]", "<M8[]", "<M8[0s]", "<M8[s", "<M8s]", "<M8[99999999999s]",
		"|i2", "|U1", "|M8", "float32", "<é4", "<S2147483648", "<U536870912", "<V99999999999999999999999999",
	} {
		if _, err := decode(t, array(3, header("'"+descr+"'", "(0,)"), 0)); wire.ClassOf(err) != wire.Malformed {
			t.Errorf("%q: %v", descr, err)
		}
	}
}

// Small deviations from the grammar, each in an otherwise valid header.
func TestTheGrammarIsExact(t *testing.T) {
	good := `{'descr': '<f4', 'fortran_order': False, 'shape': (1,), }`
	if _, err := decode(t, array(1, good, 4)); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ old, now string }{
		{"{", ""}, {"{", "{{"}, {"}", ""}, {"}", "}}"}, {"'descr'", "descr"}, {"'descr'", "'desc'"}, {"'descr'", `'\'`}, {"'descr':", "'descr' "}, {"'descr'", "''"},
		{"'descr': '<f4',", "'descr': '<f4'"}, {"False", "false"}, {"False", "Fals"}, {"False", "0"}, {"False", "Falsehood"}, {"False", "None"},
		{"(1,)", "(1"}, {"(1,)", "1,"}, {"(1,)", "(,)"}, {"(1,)", "(1,,)"}, {"(1,)", "(1 1)"}, {"(1,)", "(+1,)"}, {"(1,)", "(1_0,)"}, {"(1,)", "(1l,)"}, {"(1,)", "(L,)"},
		{"(1,)", "('1',)"}, {"(1,)", "((1,),)"}, {"(1,)", "(1,) (1,)"}, {"(1,)", "[1,]"}, {"(1,)", "None"},
		{"'<f4'", `"<f4'`}, {"'<f4'", `'''<f4'''`}, {"'<f4'", `'<f4' '<f4'`}, {"'<f4'", `'<\f4'`}, {"'<f4'", `'\N{DIGIT FOUR}'`}, {"'<f4'", `'\x3'`}, {"'<f4'", `'\xgg'`},
		{"'<f4'", `'\U00110000'`}, {"'<f4'", "'<f\x004'"}, {"'<f4'", "'<f\n4'"}, {"'<f4'", "u'<f4'"}, {"'<f4'", "('<f4',)"}, {"'<f4'", "['<f4']"}, {"'<f4'", "{}"}, {"'<f4'", ""},
		{"'<f4'", "[('a', '<f4') ('b', '<f4')]"}, {"'<f4'", "[('a', '<f4'"}, {"'<f4'", "[('a')]"}, {"'<f4'", "[('a', )]"}, {"'<f4'", "[(1, '<f4')]"}, {"'<f4'", "[('a', '<f4', 2)]"},
		{"'<f4'", "[('a', '<f4', (2))]"}, {"'<f4'", "[(('', 'a'), '<f4')]"}, {"'<f4'", "[(('a', ''), '<f4')]"}, {"'<f4'", "[(('a', 'b', 'c'), '<f4')]"}, {"'<f4'", "[(('a',), '<f4')]"},
		{"'<f4'", "[((1, 'b'), '<f4')]"}, {"'<f4'", "[(('b', 1), '<f4')]"}, {"'<f4'", "[(('a' 'b'), '<f4')]"}, {"'<f4'", "[('a' '<f4')]"}, {"'<f4'", "[('a', '<f4', (2,) 3)]"}, {"'<f4'", "[(('a', 'a'), '<f4')]"},
		{"'<f4'", "[('a', '|V2000000000'), ('b', '|V2000000000')]"}, {"'<f4'", "[('a', '|V4', (9223372036854775807, 3))]"}, {"'<f4'", "[('', [('a', '<f4')])]"},
		{", }", ", }\t"}, {", }", ", }\n"}, {", }", ", } # end"},
	} {
		dict := strings.Replace(good, c.old, c.now, 1)
		if _, err := decode(t, array(1, dict, 4)); wire.ClassOf(err) != wire.Malformed {
			t.Errorf("%s: %v", dict, err)
		}
	}
}

func TestFieldsAreListedWithTheirPlaces(t *testing.T) {
	dict := header(`[('a', '<f4'), ('', '|V4'), (("title", 'b'), [('x', '>i2', (2, 3)), ('\xe9', 'U'.strip())])]`, "(2,)")
	if _, err := decode(t, array(1, dict, 8)); wire.ClassOf(err) != wire.Malformed {
		t.Errorf("a call inside the fields: %v", err)
	}
	dict = header(`[('a', '<f4'), ('', '|V4'), (("title", 'b'), [('x', '>i2', (2, 3)), ('\xe9', '<U1')], (2,)), ('e', '=i4', ())]`, "(1,)")
	f, err := decode(t, array(1, dict, 4+4+2*16+4))
	if err != nil {
		t.Fatal(err)
	}
	want := []npy.Field{
		{Name: "a", Type: "<f4", Size: 4},
		{Name: "b", Title: "title", Shape: []int64{2}, Off: 8, Size: 32, Fields: []npy.Field{
			{Name: "x", Type: ">i2", Shape: []int64{2, 3}, Size: 12},
			{Name: "é", Type: "<U1", Off: 12, Size: 4},
		}},
		{Name: "e", Type: "=i4", Off: 40, Size: 4},
	}
	if diff := cmp.Diff(want, f.Fields()); diff != "" {
		t.Error(diff)
	}
	meta := maps.Collect(f.Meta())
	if diff := cmp.Diff(map[string]any{"arr_0.fields": npy.Fields(want)}, meta); diff != "" {
		t.Error(diff)
	}
	text, err := json.Marshal(want[0])
	if err != nil || string(text) != `{"name":"a","type":"\u003cf4","offset":0,"size":4}` {
		t.Errorf("%s, %v", text, err)
	}
	if n := meta["arr_0.fields"].(npy.Fields).Len(); n != 3 {
		t.Errorf("%d fields", n)
	}
	if found := f.Findings(); len(found) != 1 || found[0].Code != "npy.native-order" {
		t.Errorf("the order of field e: %v", found)
	}
	if _, err := f.Body(account(t, nil), f.Infos[0]); wire.ClassOf(err) != wire.Unsupported {
		t.Errorf("reading it: %v", err)
	}
}

func TestTheTextOfAStructuredTypeIsUTF8(t *testing.T) {
	for version, text := range map[int]string{1: "[('\xe9', '<f4')]", 3: "[('é', '<f4')]"} {
		f, err := decode(t, array(version, header(text, "(1,)"), 4))
		if err != nil || f.Infos[0].Stored != "[('é', '<f4')]" {
			t.Errorf("version %d: %v", version, err)
		}
	}
}

func TestShapesOfEachKind(t *testing.T) {
	for _, c := range []struct {
		shape   string
		fortran bool
		size    int
		want    []int64
		strides []int64
	}{
		{"()", false, 2, nil, nil},
		{"()", true, 2, nil, nil},
		{"(3,)", true, 6, []int64{3}, nil},
		{"(3, 2)", false, 12, []int64{3, 2}, nil},
		{"(3, 2)", true, 12, []int64{3, 2}, []int64{1, 3}},
		{"(1, 4, 1)", true, 8, []int64{1, 4, 1}, nil},
		{"(2, 1, 3)", true, 12, []int64{2, 1, 3}, []int64{1, 2, 2}},
		{"(2, 0, 3)", true, 0, []int64{2, 0, 3}, nil},
		{"(0, 4611686018427387903)", false, 0, []int64{0, 1<<62 - 1}, nil},
	} {
		dict := fmt.Sprintf("{'descr': '<i2', 'fortran_order': %s, 'shape': %s}", map[bool]string{true: "True", false: "False"}[c.fortran], c.shape)
		f, err := decode(t, array(1, dict, c.size))
		if err != nil {
			t.Errorf("%s: %v", dict, err)
			continue
		}
		i := f.Infos[0]
		if diff := cmp.Diff(c.want, i.Shape) + cmp.Diff(c.strides, i.Strides); diff != "" {
			t.Errorf("%s: %s", dict, diff)
		}
	}
}

func TestBodyGivesTheDataAndClosesNothing(t *testing.T) {
	raw := append(array(1, header("'|u1'", "(4,)"), 0), 1, 2, 3, 4)
	f, err := decode(t, raw)
	if err != nil {
		t.Fatal(err)
	}
	r, err := f.Body(account(t, nil), f.Infos[0])
	if err != nil {
		t.Fatal(err)
	}
	got, err := io.ReadAll(r)
	if err != nil || !bytes.Equal(got, []byte{1, 2, 3, 4}) {
		t.Errorf("%v, %v", got, err)
	}
	if f.Close() != nil || f.Len() != 1 || f.Format() != "npy" {
		t.Errorf("%+v", f)
	}
}

// Elements of zero bytes are counted too.
func TestTheNumberOfElementsMustFitWhateverTheirSize(t *testing.T) {
	for shape, ok := range map[string]bool{"(4611686018427387904,)": true, "(4611686018427387904, 4)": false, "(4611686018427387904, 0, 4)": false} {
		if _, err := decode(t, array(1, header("'|V0'", shape), 0)); (err == nil) != ok {
			t.Errorf("%s: %v", shape, err)
		}
	}
}

// A hundred bytes that declare terabytes cost next to nothing.
func TestDeclaredSizesCostNothing(t *testing.T) {
	for _, r := range corpus.Hostile("npy") {
		raw := r.Bytes()
		if len(raw) > 2000 {
			continue
		}
		b := account(t, r.Policy)
		npy.Decode(b, bytes.NewReader(raw), int64(len(raw)))
		if charged := b.Charged(); charged > 64<<10 {
			t.Errorf("%s: %d bytes charged", r.Name, charged)
		}
	}
}

func TestEachChargeCanBeTheLast(t *testing.T) {
	descr := `[('a', '=f4'), (("title", 'b'), [('x', '>i2', (2, 3)), ('\xe9', '<U1')], (2,)), ('cé', '<f4', (3, 2))]`
	for _, raw := range [][]byte{
		array(1, strings.Replace(header(descr, "(1, 1, 1, 1, 1, 1, 1, 1, 1L)"), "é", "\xe9", 1), 4+32+24),
		array(3, header(descr, "(1,)"), 4+32+24),
		array(1, "{'descr': '<f8', 'fortran_order': True, 'shape': (3, 2)}", 48),
	} {
		for _, axis := range []string{"max_total_bytes", "max_items", "max_steps", "max_single_alloc", "max_depth"} {
			for n, accepted := 1, false; !accepted; n++ {
				b := account(t, fmt.Appendf(nil, `{%q: %d}`, axis, n))
				_, err := npy.Decode(b, bytes.NewReader(raw), int64(len(raw)))
				if accepted = err == nil; !accepted && wire.ClassOf(err) != wire.Limit {
					t.Fatalf("%s %d: %v", axis, n, err)
				}
			}
		}
	}
}

func TestAFindingMayBeRefused(t *testing.T) {
	b := limits.Policy{RefuseFindings: []string{"npy.python2"}}.Budget(t.Context())
	defer b.Close()
	raw := array(1, header("'<f4'", "(2L,)"), 8)
	if _, err := npy.Decode(b, bytes.NewReader(raw), int64(len(raw))); wire.ClassOf(err) != wire.Forbidden {
		t.Errorf("%v", err)
	}
}
