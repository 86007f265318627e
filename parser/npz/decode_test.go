package npz_test

import (
	stdzip "archive/zip"
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"runtime"
	"strings"
	"testing"

	"github.com/anamnesis-go/anamnesis/corpus"
	"github.com/anamnesis-go/anamnesis/internal/faulty"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/npy"
	"github.com/anamnesis-go/anamnesis/parser/npz"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
	"github.com/google/go-cmp/cmp"
)

// array is an npy file of bytes.
func array(body []byte) []byte {
	head := fmt.Sprintf("{'descr': '|u1', 'fortran_order': False, 'shape': (%d,), }", len(body))
	return append(fmt.Appendf(nil, "\x93NUMPY\x01\x00\x76\x00%-117s\n", head), body...)
}

// member is one entry of an archive that a test builds.
type member struct {
	name   string
	body   []byte
	method uint16
}

func archive(t testing.TB, comment string, members ...member) []byte {
	t.Helper()
	var out bytes.Buffer
	w := stdzip.NewWriter(&out)
	for _, m := range members {
		f, err := w.CreateHeader(&stdzip.FileHeader{Name: m.name, Method: m.method})
		if err != nil {
			t.Fatal(err)
		}
		f.Write(m.body)
	}
	w.SetComment(comment)
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func decode(t testing.TB, data []byte) (*npz.File, error) {
	t.Helper()
	return npz.Decode(account(t, nil), bytes.NewReader(data), int64(len(data)))
}

const store, deflate = stdzip.Store, stdzip.Deflate

func TestStoredAndDeflatedArraysSideBySide(t *testing.T) {
	big := bytes.Repeat([]byte{1, 2, 3}, 20_000)
	f, err := decode(t, archive(t, "", member{"a.npy", array(big), store}, member{"b.npy", array(big), deflate}, member{"c.npy", array(nil), deflate}))
	if err != nil {
		t.Fatal(err)
	}
	if f.Format() != "npz" || f.Len() != 3 {
		t.Errorf("%s of %d", f.Format(), f.Len())
	}
	for i := range f.Tensors() {
		_, direct := f.At(i)
		if direct != (i.Name == "a") {
			t.Errorf("%q at an offset: %v", i.Name, direct)
		}
		body, err := f.Body(account(t, nil), i)
		if err != nil {
			t.Fatal(err)
		}
		got, err := io.ReadAll(body)
		body.Close()
		if want := big[:i.Span.Len]; err != nil || !bytes.Equal(got, want) {
			t.Errorf("%q: %d bytes, %v", i.Name, len(got), err)
		}
	}
	stranger := tensor.Info{Name: "d"}
	if _, ok := f.At(stranger); ok {
		t.Error("an array that is not there, at an offset")
	}
	if _, err := f.Body(account(t, nil), stranger); !errors.Is(err, wire.ErrMissing) {
		t.Errorf("an array that is not there: %v", err)
	}
	if f.Fields(stranger) != nil {
		t.Error("fields of an array that is not there")
	}
}

func TestAnEmptyArchiveHasNoArrays(t *testing.T) {
	f, err := decode(t, []byte("PK\x05\x06"+strings.Repeat("\x00", 18)))
	if err != nil || f.Len() != 0 || f.Verify(account(t, nil)) != nil {
		t.Errorf("%v", err)
	}
}

func TestMembersThatAreNotArraysAreListed(t *testing.T) {
	data := archive(t, "with a comment",
		member{"notes.txt", []byte("hello"), deflate}, member{"w.npy", array([]byte{1}), store}, member{"sub/", nil, store}, member{"tiny", []byte("NU"), store})
	f, err := decode(t, data)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]any{"npz.members": []any{"notes.txt", "sub/", "tiny"}}
	if diff := cmp.Diff(want, maps.Collect(f.Meta())); diff != "" {
		t.Error(diff)
	}
	var codes []string
	for _, found := range f.Findings() {
		codes = append(codes, found.Code)
	}
	if diff := cmp.Diff([]string{"npz.comment", "npz.member", "npz.member", "npz.member"}, codes); diff != "" {
		t.Error(diff)
	}
	for _, policy := range []string{`{"refuse_unknown_members": true}`, `{"refuse_findings": ["npz.member"]}`, `{"refuse_findings": ["npz.comment"]}`} {
		_, err := npz.Decode(account(t, []byte(policy)), bytes.NewReader(data), int64(len(data)))
		if wire.ClassOf(err) != wire.Forbidden {
			t.Errorf("%s: %v", policy, err)
		}
	}
}

func TestFieldsAreMetadata(t *testing.T) {
	raw, err := os.ReadFile("../../corpus/valid/npz/struct.npz")
	if err != nil {
		t.Fatal(err)
	}
	f, err := decode(t, raw)
	if err != nil {
		t.Fatal(err)
	}
	fields := npy.Fields{{Name: "a", Type: "<f4", Size: 4}, {Name: "b", Type: "<i2", Shape: []int64{2}, Off: 4, Size: 4}}
	if diff := cmp.Diff(map[string]any{"x.fields": fields}, maps.Collect(f.Meta())); diff != "" {
		t.Error(diff)
	}
	for range f.Meta() {
		break
	}
	if _, err := f.Body(account(t, nil), f.Infos[0]); wire.ClassOf(err) != wire.Unsupported {
		t.Errorf("reading it: %v", err)
	}
	deflated := archive(t, "", member{"x.npy", append([]byte("\x93NUMPY\x01\x00\x36\x00{'descr': '<f16', 'fortran_order': False, 'shape': (), }"), '\n'), deflate})
	if _, err := decode(t, deflated); wire.ClassOf(err) != wire.Malformed {
		t.Errorf("no data: %v", err)
	}
}

func TestADeflatedArrayOfUnknownTypeIsListedAndNotRead(t *testing.T) {
	body := fmt.Appendf(nil, "\x93NUMPY\x01\x00\x76\x00%-117s\n%16s", "{'descr': '<f16', 'fortran_order': False, 'shape': (), }", "")
	f, err := decode(t, archive(t, "", member{"x.npy", body, deflate}))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.Body(account(t, nil), f.Infos[0]); wire.ClassOf(err) != wire.Unsupported {
		t.Errorf("%v", err)
	}
}

// The pickle of an object array is never read, wherever the array is.
func TestThePickleOfAnObjectArrayIsNotRead(t *testing.T) {
	head := fmt.Sprintf("%-117s\n", "{'descr': '|O', 'fortran_order': False, 'shape': (1,), }")
	pickle := bytes.Repeat([]byte("cos\nsystem\n"), 1000)
	body := append([]byte("\x93NUMPY\x01\x00\x76\x00"+head), pickle...)
	var members []member
	for k := range 12 {
		members = append(members, member{fmt.Sprintf("o%d.npy", k), body, store})
	}
	data := archive(t, "", members...)
	touched := &touching{Reader: bytes.NewReader(data), forbidden: []byte("cos\nsystem\n")}
	_, err := npz.Decode(account(t, nil), touched, int64(len(data)))
	if wire.ClassOf(err) != wire.Forbidden || !strings.Contains(err.Error(), `12 object arrays`) || !strings.Contains(err.Error(), `"o7.npy", ...`) {
		t.Errorf("%v", err)
	}
	if touched.touched {
		t.Error("a byte of the pickle was read")
	}
}

// touching notes whether a read returned some bytes.
type touching struct {
	*bytes.Reader
	forbidden []byte
	touched   bool
}

func (r *touching) ReadAt(p []byte, off int64) (int, error) {
	n, err := r.Reader.ReadAt(p, off)
	r.touched = r.touched || bytes.Contains(p[:n], r.forbidden)
	return n, err
}

// One read for a member's local header, one for its array's; nothing else.
func TestDecodeReadsHeadersOnly(t *testing.T) {
	const n = 200
	var members []member
	for k := range n {
		members = append(members, member{fmt.Sprintf("w%d.npy", k), array(make([]byte, 10_000)), store})
	}
	data := archive(t, "", members...)
	c := &faulty.Counter{ReaderAt: bytes.NewReader(data)}
	f, err := npz.Decode(account(t, nil), c, int64(len(data)))
	if err != nil || f.Len() != n {
		t.Fatal(err)
	}
	if c.Reads > 2*n+6 {
		t.Errorf("%d reads", c.Reads)
	}
	if c.Bytes > n*512+64<<10 {
		t.Errorf("%d bytes of %d read", c.Bytes, len(data))
	}
}

func TestManyArraysCostLittle(t *testing.T) {
	const n = 10_000
	var members []member
	for k := range n {
		members = append(members, member{fmt.Sprintf("layer.%d.npy", k), array(nil), deflate * uint16(1-min(k%50, 1))})
	}
	data := archive(t, "", members...)
	b := account(t, nil)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_, err := npz.Decode(b, bytes.NewReader(data), int64(len(data)))
	runtime.ReadMemStats(&after)
	if err != nil {
		t.Fatal(err)
	}
	charged := b.Charged()
	if per := charged / n; per > 400 {
		t.Errorf("%d bytes charged per array", per)
	}
	if allocated := int64(after.TotalAlloc - before.TotalAlloc); allocated > 2*charged+256<<10 {
		t.Errorf("%d bytes allocated, %d charged", allocated, charged)
	}
}

func TestEachChargeCanBeTheLast(t *testing.T) {
	fortran := fmt.Appendf(nil, "\x93NUMPY\x01\x00\x76\x00%-117s\n%24s", "{'descr': '=f4', 'fortran_order': True, 'shape': (2, 3), }", "")
	data := archive(t, "comment", member{"A.npy", array([]byte{1}), store}, member{"a.npy", fortran, deflate}, member{"readme", []byte("hello"), deflate})
	for _, axis := range []string{"max_total_bytes", "max_items", "max_steps", "max_single_alloc"} {
		for n, accepted := 1, false; !accepted; n += 1 + n/64 {
			b := account(t, fmt.Appendf(nil, `{%q: %d}`, axis, n))
			_, err := npz.Decode(b, bytes.NewReader(data), int64(len(data)))
			if accepted = err == nil; !accepted && wire.ClassOf(err) != wire.Limit {
				t.Fatalf("%s %d: %v", axis, n, err)
			}
		}
	}
}

// A deflated member that breaks after its header is refused when it is read.
func TestABrokenBodyIsRefusedWhenItIsRead(t *testing.T) {
	body := array(bytes.Repeat([]byte("some bytes that deflate a little, "), 9000))
	data := archive(t, "", member{"w.npy", body, deflate})
	f, err := decode(t, data)
	if err != nil {
		t.Fatal(err)
	}
	m := &f.Archive.Members[0]
	for _, at := range []int64{m.DataOff + m.Comp/2, m.DataOff + m.Comp - 3} {
		bad := bytes.Clone(data)
		bad[at] ^= 0x55
		f, err := decode(t, bad)
		if err != nil {
			t.Fatal(err)
		}
		body, err := f.Body(account(t, nil), f.Infos[0])
		if err == nil {
			_, err = io.Copy(io.Discard, body)
			body.Close()
		}
		if wire.ClassOf(err) != wire.Malformed {
			t.Errorf("broken at %#x: %v", at, err)
		}
	}
	small := account(t, []byte(`{"max_total_bytes": 1000}`))
	if _, err := f.Body(small, f.Infos[0]); wire.ClassOf(err) != wire.Limit {
		t.Errorf("no room for an inflater: %v", err)
	}
	f.Archive.Members[0].DataOff += 3 // the stream no longer begins where it did
	if _, err := f.Body(account(t, nil), f.Infos[0]); wire.ClassOf(err) != wire.Malformed {
		t.Errorf("a header that no longer inflates: %v", err)
	}
}

func TestDeclaredSizesCostNothing(t *testing.T) {
	for _, r := range corpus.Hostile("npz") {
		raw := r.Bytes()
		if len(raw) > 2000 {
			continue
		}
		b := account(t, r.Policy)
		npz.Decode(b, bytes.NewReader(raw), int64(len(raw)))
		if charged := b.Charged(); charged > 128<<10 {
			t.Errorf("%s: %d bytes charged", r.Name, charged)
		}
	}
}

// Zeros reach the highest ratio of DEFLATE, and are accepted.
func TestZerosMayBeCompressed(t *testing.T) {
	raw, err := os.ReadFile("../../corpus/valid/npz/zeros.npz")
	if err != nil {
		t.Fatal(err)
	}
	b := account(t, nil)
	f, err := npz.Decode(b, bytes.NewReader(raw), int64(len(raw)))
	if err != nil {
		t.Fatal(err)
	}
	if err := f.Verify(b); err != nil {
		t.Error(err)
	}
	if used := usage(b, limits.InflateRatio); used < 900 {
		t.Errorf("ratio %d", used)
	}
}

func usage(b *limits.Budget, axis limits.Axis) int64 {
	for _, u := range b.Usage() {
		if u.Axis == axis {
			return u.Peak
		}
	}
	return -1
}
