package gguf_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/gguf"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

var _ interface {
	tensor.Model
	tensor.Verifier
	tensor.Placer
} = (*gguf.File)(nil)

func TestShapesAreOutermostFirst(t *testing.T) {
	b := account(t, limits.Policy{})
	f := open(t, file(t, `str "GGUF"; u32 3; u64 1 0; gstr "t"; u32 3; u64 2 3 4; u32 24; u64 0; align 32; pad 32`), b)
	for i := range f.Tensors() {
		if diff := cmp.Diff([]int64{4, 3, 2}, i.Shape); diff != "" {
			t.Error(diff)
		}
	}
}

func TestEachTypeNumber(t *testing.T) {
	for n := range gguf.Type(400) {
		d := n.DType()
		back, ok := gguf.TypeOf(d)
		switch {
		case d != tensor.Unknown && (!ok || back != n || n.String() != d.String()):
			t.Errorf("%d is %v, which is number %d %v and named %v", n, d, back, ok, n)
		case d == tensor.Unknown && (ok || !strings.Contains(n.String(), fmt.Sprintf("type %d", n))):
			t.Errorf("%d is not known, and named %v", n, n)
		case n.Removed() && !strings.Contains(n.String(), "removed"):
			t.Errorf("%d is named %v", n, n)
		}
	}
	removed := []gguf.Type{4, 5, 31, 32, 33, 36, 37, 38}
	for n := range gguf.Type(43) {
		if n.Removed() != slices.Contains(removed, n) {
			t.Errorf("%v: removed %v", n, n.Removed())
		}
	}
	if got := gguf.Type(137).String(); got != "type 137 (IQ2_K of ik_llama.cpp)" {
		t.Error(got)
	}
}

func TestAnUnknownTypeIsRefusedOnlyWhenItIsRead(t *testing.T) {
	b := account(t, limits.Policy{})
	f := open(t, seed(t, "types-removed.txt"), b)
	var spans []tensor.Span
	for i := range f.Tensors() {
		spans = append(spans, i.Span)
		_, err := f.Body(b, i)
		if i.Name == "kept" {
			if err != nil {
				t.Error(err)
			}
			continue
		}
		if wire.ClassOf(err) != wire.Unsupported || !strings.Contains(err.Error(), "removed from ggml") {
			t.Errorf("%s: %v", i.Name, err)
		}
	}
	for i := 1; i < len(spans); i++ {
		if spans[i-1].End() != spans[i].Off {
			t.Errorf("tensor %d ends at %#x, the next begins at %#x", i-1, spans[i-1].End(), spans[i].Off)
		}
	}
}

func TestGetGivesTheTypesOfTheFile(t *testing.T) {
	b := account(t, limits.Policy{})
	f := open(t, seed(t, "kinds.txt"), b)
	for key, want := range map[string]any{
		"my_key_u8": uint8(1), "my_key_i8": int8(-1), "my_key_u16": uint16(2), "my_key_i16": int16(-2), "my_key_u32": uint32(3), "my_key_i32": int32(-3),
		"my_key_f32": float32(0.5), "my_key_bool": true, "my_key_str": "é", "my_key_u64": uint64(4), "my_key_i64": int64(-4), "my_key_f64": -0.25,
	} {
		if got, ok := f.Get(key); !ok || got != want {
			t.Errorf("%s: %T %v %v, want %T %v", key, got, got, ok, want, want)
		}
	}
	if v, ok := f.Get("nobody"); ok {
		t.Errorf("a key that is not there: %v", v)
	}
	if f.Keys() != 36 || f.Version() != 3 || f.Order() != tensor.Little || f.Alignment() != 32 {
		t.Errorf("%d keys, version %d, %v, alignment %d", f.Keys(), f.Version(), f.Order(), f.Alignment())
	}
	a, _ := f.Get("my_array_i16")
	if s := fmt.Sprint(a); s != "arr[i16,2]" {
		t.Error(s)
	}
}

func TestIteratorsReadTheirKindsAndRefuseOthers(t *testing.T) {
	b := account(t, limits.Policy{})
	f := open(t, file(t, `str "GGUF"; u32 3; u64 0 5
		gstr "ints"; u32 9; u32 1; u64 3; i8 -128 0 127
		gstr "wide"; u32 9; u32 10; u64 2; u64 2^63-1 2^63
		gstr "floats"; u32 9; u32 6; u64 3; f32 1.5 nan -inf
		gstr "words"; u32 9; u32 8; u64 2; gstr "a"; gstr ""
		gstr "lists"; u32 9; u32 9; u64 2; u32 0; u64 0; u32 4; u64 1; u32 7`), b)
	get := func(key string) gguf.Array {
		v, _ := f.Get(key)
		return v.(gguf.Array)
	}
	var ints []int64
	for n, err := range get("ints").Ints(b) {
		if err != nil {
			t.Fatal(err)
		}
		ints = append(ints, n)
	}
	if diff := cmp.Diff([]int64{-128, 0, 127}, ints); diff != "" {
		t.Error(diff)
	}
	count := 0
	for n, err := range get("wide").Ints(b) {
		count++
		if (count == 1) != (err == nil && n == math.MaxInt64) || count == 2 && !errors.Is(err, wire.ErrRange) {
			t.Errorf("element %d: %d, %v", count, n, err)
		}
	}
	count = 0
	for x, err := range get("floats").Floats(b) {
		count++
		if err != nil || count == 1 && x != 1.5 || count == 2 && x == x || count == 3 && !math.IsInf(x, -1) {
			t.Errorf("element %d: %v, %v", count, x, err)
		}
	}
	for _, err := range get("words").Floats(b) {
		if !errors.Is(err, wire.ErrUsage) {
			t.Errorf("texts as floats: %v", err)
		}
	}
	for s, err := range get("words").Strings(b) {
		if err != nil || s != "a" {
			t.Errorf("%q, %v", s, err)
		}
		break // an iterator may be left
	}
	var inner []int64
	for a, err := range get("lists").Arrays(b) {
		if err != nil {
			t.Fatal(err)
		}
		inner = append(inner, a.Len())
		for n, err := range a.Ints(b) {
			if err != nil || n != 7 {
				t.Errorf("%d, %v", n, err)
			}
		}
	}
	if diff := cmp.Diff([]int64{0, 1}, inner); diff != "" {
		t.Error(diff)
	}
}

func TestVerifyAnswersOnceAndFromManyGoroutines(t *testing.T) {
	b := account(t, limits.Policy{})
	f := open(t, seed(t, "findings.txt"), b)
	before := len(f.Findings())
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			if err := f.Verify(b); err != nil {
				t.Error(err)
			}
			for range f.Tensors() {
				f.Findings()
			}
		})
	}
	all.Wait()
	if got := len(f.Findings()); got != before+2 {
		t.Errorf("%d findings, before Verify %d", got, before)
	}
	bad := open(t, file(t, `str "GGUF"; u32 3; u64 0 1; gstr "k"; u32 9; u32 8; u64 1; gstr "\xff"`), b)
	for range 2 {
		if err := bad.Verify(b); !errors.Is(err, wire.ErrText) {
			t.Error(err)
		}
	}
}

// A Verify that ended at a ceiling succeeds later under a larger one.
func TestVerifyMayBeRepeatedAfterALimit(t *testing.T) {
	b := account(t, limits.Policy{})
	f := open(t, seed(t, "findings.txt"), b)
	if err := f.Verify(account(t, limits.Policy{MaxTotalBytes: 100})); wire.ClassOf(err) != wire.Limit {
		t.Fatal(err)
	}
	if err := f.Verify(b); err != nil {
		t.Error(err)
	}
}

// The table of a vocabulary is returned to the account; a window and the texts of findings stay
// charged.
func TestVerifyReturnsMostOfItsMemory(t *testing.T) {
	b := account(t, limits.Policy{})
	f := open(t, vocabulary(150_000), b)
	check := account(t, limits.Policy{})
	if err := f.Verify(check); err != nil {
		t.Fatal(err)
	}
	for _, u := range check.Usage() {
		if u.Axis == limits.Total && (u.Peak > 8<<20 || u.Used > 128<<10) {
			t.Errorf("%d bytes at most, %d at the end", u.Peak, u.Used)
		}
	}
	if b.Charged() > 1<<20 {
		t.Errorf("Decode was charged %d bytes", b.Charged())
	}
}

func TestBodiesAreTheBytesOfTheSpan(t *testing.T) {
	data := seed(t, "data.txt")
	b := account(t, limits.Policy{})
	f := open(t, data, b)
	for i := range f.Tensors() {
		r, err := f.Body(b, i)
		if err != nil {
			t.Fatal(err)
		}
		p, err := io.ReadAll(r)
		if err != nil || !bytes.Equal(p, data[i.Span.Off:i.Span.End()]) {
			t.Errorf("%s: %d bytes, %v", i.Name, len(p), err)
		}
	}
}

// Sizes are found by shifts.
func TestBlocksOfEveryTypeArePowersOfTwo(t *testing.T) {
	known := 0
	for n := range gguf.Type(100) {
		g, ok := n.DType().Geometry()
		if !ok {
			continue
		}
		known++
		if g.Elems&(g.Elems-1) != 0 || g.Elems == 0 {
			t.Errorf("%v has blocks of %d elements", n, g.Elems)
		}
	}
	if known < 30 {
		t.Errorf("%d types", known)
	}
}
