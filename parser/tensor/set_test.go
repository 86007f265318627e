package tensor_test

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/anamnesis-go/anamnesis/internal/ledger"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

func account(t testing.TB, p limits.Policy) *limits.Budget {
	ledger.Charges(t)
	return unwritten(t, p)
}

// unwritten is an account whose charges are not compared: how many of them there are in a search for a
// limit depends on the size of an int.
func unwritten(t testing.TB, p limits.Policy) *limits.Budget {
	t.Helper()
	b := p.Budget(t.Context())
	t.Cleanup(b.Close)
	return b
}

// openLines is a format of one tensor of one byte per line, which is its name.
func openLines(b *limits.Budget, h *tensor.Handle) (tensor.Model, error) {
	data, err := io.ReadAll(io.NewSectionReader(h, 0, h.Size))
	if err != nil {
		return nil, err
	}
	f := &tensor.File{Name: "lines", Source: h, Closer: h}
	for i, name := range strings.Fields(string(data)) {
		if name == "bad" {
			return nil, wire.At("lines", "line "+fmt.Sprint(i), int64(i), wire.ErrSyntax)
		}
		if name == "worse" {
			return nil, wire.ErrSyntax
		}
		f.Infos = append(f.Infos, tensor.Info{Name: name, DType: tensor.U8, Shape: []int64{1}, Span: tensor.Span{Off: int64(i), Len: 1}})
	}
	return f, nil
}

func lines(files ...string) (fstest.MapFS, []string) {
	folder, names := fstest.MapFS{}, []string{}
	for i, content := range files {
		name := fmt.Sprintf("part%d", i)
		names = append(names, name)
		if content != "missing" {
			folder["d/"+name] = &fstest.MapFile{Data: []byte(content)}
		}
	}
	return folder, names
}

func open(t *testing.T, p limits.Policy, files ...string) (*tensor.Sharded, *tensor.SetNames, error) {
	folder, names := lines(files...)
	return tensor.OpenShards(account(t, p), folder, "d", names, "lines", openLines)
}

func TestAPartWithoutTensorsCountsAsOne(t *testing.T) {
	s, names, err := open(t, limits.Policy{}, "", "a b", "", "", "c", "")
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if diff := cmp.Diff([]string{"a", "b", "c"}, names.List); diff != "" {
		t.Error(diff)
	}
	parts := ""
	for i := range s.Tensors() {
		parts += fmt.Sprint(i.Name, i.Part, " ")
	}
	if parts != "a1 b1 c4 " || s.Len() != 3 {
		t.Errorf("%s, %d tensors", parts, s.Len())
	}
	x := index(t, `{"metadata":{"total_size":3},"weight_map":{"a":"part1","b":"part1","c":"part4","c0":"part0"}}`)
	x.Entries = x.Entries[:3]
	x.Files = s.Files
	for i, part := range []int32{1, 1, 4} {
		x.Entries[i].File = part
	}
	if err := s.CheckIndex(account(t, limits.Policy{}), x, names); err != nil || len(s.Findings()) != 0 {
		t.Errorf("%v, %v", err, s.Findings())
	}
	x.Entries[2].File = 5
	if err := s.CheckIndex(account(t, limits.Policy{}), x, names); !errors.Is(err, wire.ErrMismatch) {
		t.Error(err)
	}
}

func index(t *testing.T, text string) *tensor.Index {
	t.Helper()
	x, err := tensor.ReadIndex(account(t, limits.Policy{}), fstest.MapFS{"i": {Data: []byte(text)}}, "i", "lines")
	if err != nil {
		t.Fatal(err)
	}
	return x
}

func TestReadIndex(t *testing.T) {
	x := index(t, `{"weight_map":{"a":"y","b":"x","c":"y","d":"x","e":"z"},"metadata":{"total_size":12,"k":"v","n":{"a":[1]},"l":"w"}}`)
	if diff := cmp.Diff([]string{"y", "x", "z"}, x.Files); diff != "" {
		t.Error(diff)
	}
	want := []tensor.IndexEntry{{Tensor: "a", File: 0, Off: 15}, {Tensor: "b", File: 1, Off: 23}, {Tensor: "c", File: 0, Off: 31}, {Tensor: "d", File: 1, Off: 39}, {Tensor: "e", File: 2, Off: 47}}
	if diff := cmp.Diff(want, x.Entries); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]tensor.Pair{{Key: "k", Value: "v"}, {Key: "l", Value: "w"}}, x.Meta); diff != "" || x.TotalSize != 12 || x.Name != "i" {
		t.Errorf("%s, total %d", diff, x.TotalSize)
	}
}

func TestErrorsOfASetNameTheFile(t *testing.T) {
	for what, c := range map[string]struct {
		files []string
		cause error
		text  string
	}{
		"missing":        {[]string{"a", "missing"}, wire.ErrMissing, `lines: shard "part1": a part is missing: no such file in the folder`},
		"broken":         {[]string{"a", "b bad"}, wire.ErrSyntax, `lines: shard "part1", line 1 at 0x1: does not follow the format's grammar`},
		"without places": {[]string{"worse"}, wire.ErrSyntax, `lines: shard "part0": does not follow the format's grammar`},
		"twice":          {[]string{"a b", "c b"}, wire.ErrDuplicate, `lines: duplicate: tensor "b" is in shards "part0" and "part1"`},
		"twice in one":   {[]string{"a a"}, wire.ErrDuplicate, `lines: duplicate: tensor "a" is in shards "part0" and "part0"`},
	} {
		if _, _, err := open(t, limits.Policy{}, c.files...); !errors.Is(err, c.cause) || err.Error() != c.text {
			t.Errorf("%s: %v", what, err)
		}
	}
}

// denied is a folder whose files cannot be opened and, if set, cannot be examined.
type denied struct {
	fstest.MapFS
	err error
}

func (d denied) Open(string) (fs.File, error)     { return nil, d.err }
func (d denied) Stat(string) (fs.FileInfo, error) { return nil, d.err }

func TestTheSystemsErrorsStayItsOwn(t *testing.T) {
	disk := errors.New("disk")
	for _, want := range []error{disk, fs.ErrPermission} {
		folder, names := lines("a")
		_, _, err := tensor.OpenShards(account(t, limits.Policy{}), denied{folder, want}, "d", names, "lines", openLines)
		if !errors.Is(err, want) || wire.ClassOf(err) != wire.Internal {
			t.Error(err)
		}
	}
}

func TestASetHoldsWhatItCharges(t *testing.T) {
	for limit := int64(1); ; limit += 61 {
		folder, names := lines("a b c", "d e", "f")
		_, _, err := tensor.OpenShards(unwritten(t, limits.Policy{MaxTotalBytes: limit}), folder, "d", names, "lines", openLines)
		if err == nil {
			if limit < 3*2048 {
				t.Errorf("three files for %d bytes", limit)
			}
			break
		}
		if wire.ClassOf(err) != wire.Limit {
			t.Fatalf("%d bytes: %v", limit, err)
		}
	}
	if _, _, err := open(t, limits.Policy{MaxItems: 2}, "a", "b", "c"); wire.ClassOf(err) != wire.Limit {
		t.Error(err)
	}
}
