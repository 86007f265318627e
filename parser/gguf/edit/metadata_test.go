package edit_test

import (
	"bytes"
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/anamnesis-go/anamnesis/internal/ledger"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/gguf"
	"github.com/anamnesis-go/anamnesis/parser/gguf/edit"
)

func account(t testing.TB, p limits.Policy) *limits.Budget {
	ledger.Charges(t)
	b := p.Budget(t.Context())
	t.Cleanup(b.Close)
	return b
}

func TestMetadataTakesItsKindsFromTheJSON(t *testing.T) {
	for _, tc := range []struct {
		json string
		want any
	}{
		{`"text \u00e9"`, "text é"},
		{`""`, ""},
		{`true`, true},
		{`0`, uint32(0)},
		{`4294967295`, uint32(math.MaxUint32)},
		{`4294967296`, int64(1 << 32)},
		{`9223372036854775807`, int64(math.MaxInt64)},
		{`9223372036854775808`, uint64(1 << 63)},
		{`18446744073709551615`, uint64(math.MaxUint64)},
		{`-1`, int64(-1)},
		{`-9223372036854775808`, int64(math.MinInt64)},
		{`1.0`, float32(1)},
		{`1e3`, float32(1000)},
		{`0.1`, float32(0.1)},
		{`-0.0`, float32(math.Copysign(0, -1))},
		{`[1, 2]`, []uint32{1, 2}},
		{` [ -1 , 2]`, []int64{-1, 2}},
		{`[4294967296, 1]`, []int64{1 << 32, 1}},
		{`[1.5, 2]`, []float32{1.5, 2}},
		{`["a", ""]`, []string{"a", ""}},
		{`[true, false]`, []bool{true, false}},
		{`{"type": "u8", "value": 255}`, uint8(255)},
		{`{"value": -128, "type": "i8"}`, int8(-128)},
		{`{"type": "u16", "value": 65535}`, uint16(65535)},
		{`{"type": "i16", "value": -32768}`, int16(-32768)},
		{`{"type": "u32", "value": 7}`, uint32(7)},
		{`{"type": "i32", "value": -7}`, int32(-7)},
		{`{"type": "u64", "value": 7}`, uint64(7)},
		{`{"type": "i64", "value": 7}`, int64(7)},
		{`{"type": "f32", "value": 7}`, float32(7)},
		{`{"type": "f64", "value": 0.1}`, 0.1},
		{`{"type": "bool", "value": false}`, false},
		{`{"type": "string", "value": "x"}`, "x"},
		{`{"type": "array", "item_type": "u8", "value": [1, 255]}`, []uint8{1, 255}},
		{`{"item_type": "i8", "type": "array", "value": [-1]}`, []int8{-1}},
		{`{"value": [1], "type": "array", "item_type": "u16"}`, []uint16{1}},
		{`{"type": "array", "item_type": "i16", "value": [1]}`, []int16{1}},
		{`{"type": "array", "item_type": "u32", "value": []}`, []uint32(nil)},
		{`{"type": "array", "item_type": "i32", "value": [1]}`, []int32{1}},
		{`{"type": "array", "item_type": "u64", "value": [1]}`, []uint64{1}},
		{`{"type": "array", "item_type": "i64", "value": [1]}`, []int64{1}},
		{`{"type": "array", "item_type": "f32", "value": [1]}`, []float32{1}},
		{`{"type": "array", "item_type": "f64", "value": [1]}`, []float64{1}},
		{`{"type": "array", "item_type": "bool", "value": [true]}`, []bool{true}},
		{`{"type": "array", "item_type": "string", "value": ["a"]}`, []string{"a"}},
	} {
		t.Run(tc.json, func(t *testing.T) {
			got, err := edit.Metadata(account(t, limits.Policy{}), `{"first": 1, "key": `+tc.json+`}`)
			if err != nil {
				t.Fatal(err)
			}
			want := []gguf.Entry{{Key: "first", Value: uint32(1)}, {Key: "key", Value: tc.want}}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestMetadataThatIsRefused(t *testing.T) {
	for _, tc := range []struct {
		json  string
		class wire.Class
		says  string // part of the message
	}{
		{``, wire.Truncated, ""},
		{`{`, wire.Truncated, ""},
		{`[]`, wire.Malformed, "object"},
		{`{} {}`, wire.Malformed, ""},
		{`{"": 1}`, wire.Malformed, "key"},
		{`{"a\u0000": 1}`, wire.Malformed, "key"},
		{`{"` + strings.Repeat("k", 65536) + `": 1}`, wire.Malformed, "65535"},
		{`{"a": 1, "a": 2}`, wire.Malformed, "member"},
		{`{"a": null}`, wire.Malformed, "null"},
		{`{"a": []}`, wire.Malformed, "item_type"},
		{`{"a": [`, wire.Truncated, ""},
		{`{"a": [null]}`, wire.Malformed, "arrays may contain"},
		{`{"a": [[1]]}`, wire.Malformed, "arrays may contain"},
		{`{"a": [1, null]}`, wire.Malformed, ""},
		{`{"a": [1, "b"]}`, wire.Malformed, "number"},
		{`{"a": [1, -1]}`, wire.Malformed, ""},
		{`{"a": [1, 2.5]}`, wire.Malformed, ""},
		{`{"a": [1, 4294967296]}`, wire.Malformed, "4294967295"},
		{`{"a": ["b", 1]}`, wire.Malformed, "string"},
		{`{"a": [1.5, 1e39]}`, wire.Malformed, "f32"},
		{`{"a": -0}`, wire.Malformed, "integer"},
		{`{"a": 01}`, wire.Malformed, ""},
		{`{"a": 18446744073709551616}`, wire.Malformed, ""},
		{`{"a": -9223372036854775809}`, wire.Malformed, ""},
		{`{"a": 1e39}`, wire.Malformed, "f32"},
		{`{"a": "b\u0000c"}`, wire.Malformed, "NUL"},
		{`{"a": {}}`, wire.Malformed, "type or value"},
		{`{"a": {"type": "u8"}}`, wire.Malformed, "type or value"},
		{`{"a": {"value": 1}}`, wire.Malformed, "type or value"},
		{`{"a": {"type": "u8", "value": 256}}`, wire.Malformed, "255"},
		{`{"a": {"type": "i8", "value": 128}}`, wire.Malformed, "128"},
		{`{"a": {"type": "i8", "value": -129}}`, wire.Malformed, "-129"},
		{`{"a": {"type": "u8", "value": 1.0}}`, wire.Malformed, ""},
		{`{"a": {"type": "u8", "value": "1"}}`, wire.Malformed, ""},
		{`{"a": {"type": "u7", "value": 1}}`, wire.Malformed, "u7"},
		{`{"a": {"type": "str", "value": "b"}}`, wire.Malformed, "str"},
		{`{"a": {"type": 1, "value": 1}}`, wire.Malformed, ""},
		{`{"a": {"type": "u8", "value": 1, "more": 1}}`, wire.Malformed, "more"},
		{`{"a": {"type": "u8", "value": 1, "value": 1}}`, wire.Malformed, "member"},
		{`{"a": {"type": "u8", "item_type": "u8", "value": 1}}`, wire.Malformed, "item_type"},
		{`{"a": {"type": "array", "value": [1]}}`, wire.Malformed, "item_type"},
		{`{"a": {"type": "array", "item_type": "u9", "value": [1]}}`, wire.Malformed, "u9"},
		{`{"a": {"type": "array", "item_type": "array", "value": [[1]]}}`, wire.Malformed, "arrays of arrays"},
		{`{"a": {"type": "array", "item_type": "u8", "value": 1}}`, wire.Malformed, ""},
		{`{"a": {"type": "f64", "value": 1e400}}`, wire.Malformed, "large"},
		{`{"a": {"type": "f64", "value": 1`, wire.Truncated, ""},
	} {
		t.Run(tc.json[:min(60, len(tc.json))], func(t *testing.T) {
			got, err := edit.Metadata(account(t, limits.Policy{}), tc.json)
			if wire.ClassOf(err) != tc.class || !strings.Contains(err.Error(), tc.says) {
				t.Errorf("%v, %v", got, err)
			}
			if e, ok := errors.AsType[*wire.Error](err); !ok || e.Off < 0 || e.Off > int64(len(tc.json)) {
				t.Errorf("offset of %v", err)
			}
		})
	}
}

func TestPairsOfKeyAndText(t *testing.T) {
	for arg, want := range map[string]gguf.Entry{
		"general.name=a=b": {Key: "general.name", Value: "a=b"},
		"k=":               {Key: "k", Value: ""},
		"k=é":              {Key: "k", Value: "é"},

		"llama.context_length=512":        {Key: "llama.context_length", Value: uint32(512)},
		"llama.rope.freq_base=1e6":        {Key: "llama.rope.freq_base", Value: float32(1e6)},
		"tokenizer.ggml.bos_token_id=1":   {Key: "tokenizer.ggml.bos_token_id", Value: uint32(1)},
		"llama.context_length:u64=512":    {Key: "llama.context_length", Value: uint64(512)},
		"mine:i8=-3":                      {Key: "mine", Value: int8(-3)},
		"mine:bool=true":                  {Key: "mine", Value: true},
		"mine:string=1":                   {Key: "mine", Value: "1"},
		"general.architecture=llama:u8=1": {Key: "general.architecture", Value: "llama:u8=1"},
	} {
		if got, err := edit.Pair(account(t, limits.Policy{}), arg); err != nil || got != want {
			t.Errorf("%s: %v, %v", arg, got, err)
		}
	}
	for _, bad := range []string{"llama.context_length=many", "llama.context_length=-1", "k:u8=256", "k:u9=1", "k:u8=", "k:i8=1},\"y\":{", "k:bool=1", "k:f32=1e", "", "k", "=v", "k\x00=v", "k=v\x00", "k=\xff", "\xff=v", strings.Repeat("k", 65536) + "=v"} {
		if got, err := edit.Pair(account(t, limits.Policy{}), bad); wire.ClassOf(err) != wire.Usage {
			t.Errorf("%.20q: %v, %v", bad, got, err)
		}
	}
}

func TestMergedKeysKeepTheirPlaces(t *testing.T) {
	base := []gguf.Entry{{Key: "a", Value: "1"}, {Key: "b", Value: "2"}}
	over := []gguf.Entry{{Key: "c", Value: uint8(3)}, {Key: "a", Value: true}, {Key: "c", Value: "last"}}
	got, err := edit.Merge(account(t, limits.Policy{}), base, over)
	want := []gguf.Entry{{Key: "a", Value: true}, {Key: "b", Value: "2"}, {Key: "c", Value: "last"}}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Error(err, diff)
	}
	if base[0].Value != "1" {
		t.Error("the list that was laid over has changed")
	}
	for limit := int64(1); limit < 400; limit += 8 {
		b := limits.Policy{MaxTotalBytes: limit}.Budget(t.Context())
		if _, err := edit.Merge(b, base, over); err != nil && wire.ClassOf(err) != wire.Limit {
			t.Error(err)
		}
		b.Close()
	}
}

// A reader of the written file gets the values of the metadata file.
func TestMetadataReachesTheFile(t *testing.T) {
	b := account(t, limits.Policy{})
	meta, err := edit.Metadata(b, `{"general.architecture": "llama", "general.alignment": 64, "x": {"type": "array", "item_type": "i16", "value": [-1, 2]}}`)
	if err != nil {
		t.Fatal(err)
	}
	plan, err := gguf.Layout(b, nil, meta, gguf.Options{})
	if err != nil {
		t.Fatal(err)
	}
	f, err := gguf.Decode(b, bytes.NewReader(plan.Header), plan.Size)
	if err != nil {
		t.Fatal(err)
	}
	x, _ := f.Get("x")
	var list []int64
	for n, err := range x.(gguf.Array).Ints(b) {
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, n)
	}
	if diff := cmp.Diff([]int64{-1, 2}, list); diff != "" || f.Alignment() != 64 || x.(gguf.Array).Elem() != gguf.KindI16 {
		t.Error(diff, f.Alignment(), x)
	}
}

func TestMetadataKeepsToItsAccount(t *testing.T) {
	text := `{"a": [1, 2, 3], "b": "text", "c": {"type": "array", "item_type": "u64", "value": [` + strings.Repeat("1,", 500) + `1]}}`
	refused := 0
	for limit := int64(64); ; limit *= 2 {
		b := limits.Policy{MaxTotalBytes: limit}.Budget(t.Context())
		_, err := edit.Metadata(b, text)
		b.Close()
		if err == nil {
			break
		}
		if refused++; wire.ClassOf(err) != wire.Limit {
			t.Fatalf("%d bytes: %v", limit, err)
		}
	}
	if refused < 6 {
		t.Errorf("refused under %d limits only: the list alone has 4,008 bytes", refused)
	}
}

// The value of a pair has no place in a file.
func TestAPairBeyondItsAccountHasNoPlace(t *testing.T) {
	for limit := int64(1); ; limit += 7 {
		b := limits.Policy{MaxTotalBytes: limit}.Budget(t.Context())
		_, err := edit.Pair(b, "a:u32=7")
		b.Close()
		if err == nil {
			if limit < 50 {
				t.Fatalf("a pair cost less than %d bytes", limit)
			}
			return
		}
		e, ok := errors.AsType[*wire.Error](err)
		if !ok || e.Off != wire.NoOffset || wire.ClassOf(err) != wire.Limit || strings.Count(err.Error(), "gguf") != 1 {
			t.Fatalf("%d bytes: %v", limit, err)
		}
	}
}
