package safetensors_test

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/safetensors"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
	"github.com/google/go-cmp/cmp"
)

// shard is a file of one byte per name.
func shard(names ...string) *fstest.MapFile { return shardMeta("", names...) }

func shardMeta(meta string, names ...string) *fstest.MapFile {
	var entries []string
	if meta != "" {
		entries = append(entries, `"__metadata__":{`+meta+`}`)
	}
	for i, n := range names {
		entries = append(entries, fmt.Sprintf(`"%s":{"dtype":"U8","shape":[1],"data_offsets":[%d,%d]}`, n, i, i+1))
	}
	return &fstest.MapFile{Data: file("{"+strings.Join(entries, ",")+"}", len(names))}
}

func text(s string) *fstest.MapFile { return &fstest.MapFile{Data: []byte(s)} }

const (
	indexName = "model.safetensors.index.json"
	first     = "model-00001-of-00002.safetensors"
	second    = "model-00002-of-00002.safetensors"
)

func openIndex(t *testing.T, folder fstest.MapFS) (tensor.Model, error) {
	return safetensors.OpenIndex(account(t, limits.Policy{}), folder, indexName)
}

func names(m tensor.Model) (out []string) {
	for i := range m.Tensors() {
		out = append(out, fmt.Sprintf("%s in %d", i.Name, i.Part))
	}
	return out
}

func TestAnIndexedModelIsOne(t *testing.T) {
	folder := fstest.MapFS{
		indexName:     text(`{"metadata":{"total_size":3,"note":"text","more":[1]},"weight_map":{"c":"` + second + `","a":"` + first + `","b":"` + first + `"},"later":{}}`),
		first:         shardMeta(`"format":"pt"`, "a", "b"),
		second:        shardMeta(`"format":"pt"`, "c"),
		"config.json": text(`{}`),
	}
	m, err := openIndex(t, folder)
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	if diff := cmp.Diff([]string{"c in 0", "a in 1", "b in 1"}, names(m)); diff != "" {
		t.Error(diff)
	}
	if m.Len() != 3 || m.Format() != "safetensors" || len(m.Findings()) != 0 {
		t.Errorf("%d tensors of %s, %v", m.Len(), m.Format(), m.Findings())
	}
	if diff := cmp.Diff(map[string]string{"format": "pt"}, texts(m)); diff != "" {
		t.Error(diff)
	}
	if _, err := fs.ReadFile(m.Configs(), "config.json"); err != nil {
		t.Error(err)
	}
	if got := describe(t, m); len(got) != 3 {
		t.Errorf("%v", got)
	}
}

func TestAnIndexInAFolderFindsItsShardsThere(t *testing.T) {
	folder := fstest.MapFS{
		"snapshots/rev/" + indexName: text(`{"metadata":null,"weight_map":{"a":"` + first + `"}}`),
		"snapshots/rev/" + first:     shard("a"),
		first:                        text("another file"),
		"snapshots/rev/config.json":  text("{}"),
	}
	m, err := safetensors.OpenIndex(account(t, limits.Policy{}), folder, "snapshots/rev/"+indexName)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := fs.Stat(m.Configs(), "config.json"); err != nil {
		t.Error(err)
	}
	if _, err := fs.Stat(m.Configs(), "../rev/config.json"); err == nil {
		t.Error("siblings are not confined")
	}
}

func TestDefectsOfASetAreNamed(t *testing.T) {
	whole := func(index string) fstest.MapFS {
		return fstest.MapFS{indexName: text(index), first: shard("a", "b"), second: shard("c")}
	}
	mapped := func(s string) fstest.MapFS { return whole(`{"weight_map":{` + s + `}}`) }
	for what, c := range map[string]struct {
		folder fstest.MapFS
		cause  error
		text   string
	}{
		"no index":           {fstest.MapFS{}, fs.ErrNotExist, indexName},
		"an index cut short": {whole(`{"weight_map":{"a":`), wire.ErrTruncated, "at 0x13"},
		"a missing shard": {mapped(`"a":"` + first + `","x":"model-00003-of-00003.safetensors"`), wire.ErrMissing,
			`safetensors: shard "model-00003-of-00003.safetensors": a part is missing: no such file in the folder`},
		"a tensor that no shard holds": {mapped(`"a":"` + first + `","x":"` + second + `"`), wire.ErrMissing,
			`safetensors: index "model.safetensors.index.json" at 0x36: a part is missing: tensor "x" is not in shard "model-00002-of-00002.safetensors"`},
		"a tensor in another shard": {mapped(`"a":"` + second + `","b":"` + first + `"`), wire.ErrMismatch, `tensor "a" is in shard "model-00001-of-00002.safetensors", but the index names "model-00002`},
		"a tensor in two shards": {fstest.MapFS{indexName: text(`{"weight_map":{"a":"` + first + `","c":"` + second + `"}}`), first: shard("a", "b"), second: shard("c", "b")},
			wire.ErrDuplicate, `tensor "b" is in shards "model-00001-of-00002.safetensors" and "model-00002-of-00002.safetensors"`},
		"a tensor twice in the index":  {mapped(`"a":"` + first + `","a":"` + second + `"`), wire.ErrDuplicate, `member "a"`},
		"a path upwards":               {mapped(`"a":"../` + first + `"`), wire.ErrForbidden, `at 0xf: forbidden: shard "../model-00001-of-00002.safetensors" is not a file name`},
		"a path downwards":             {mapped(`"a":"sub/` + first + `"`), wire.ErrForbidden, "sub/"},
		"an absolute path":             {mapped(`"a":"/etc/passwd"`), wire.ErrForbidden, "/etc/passwd"},
		"a path of Windows":            {mapped(`"a":"..\\x.safetensors"`), wire.ErrForbidden, "x.safetensors"},
		"a dot":                        {mapped(`"a":"."`), wire.ErrForbidden, `"."`},
		"two dots":                     {mapped(`"a":".."`), wire.ErrForbidden, `".."`},
		"no name":                      {mapped(`"a":""`), wire.ErrForbidden, `""`},
		"a NUL":                        {mapped(`"a":"x\u0000y"`), wire.ErrForbidden, `x\u{0}y`},
		"a folder":                     {fstest.MapFS{indexName: text(`{"weight_map":{"a":"sub"}}`), "sub/x": text("")}, wire.ErrUnsupported, "not a regular file"},
		"a file name that is a number": {mapped(`"a":1`), wire.ErrSyntax, "a number where a string belongs"},
		"no map":                       {whole(`{"metadata":{}}`), wire.ErrMissing, "weight_map"},
		"an empty map":                 {whole(`{"weight_map":{}}`), wire.ErrMissing, "names no file"},
		"no object":                    {whole(`[]`), wire.ErrSyntax, "an array where an object belongs"},
		"metadata that are text":       {whole(`{"metadata":"x"}`), wire.ErrSyntax, "a string where an object belongs"},
		"bytes after it":               {whole(`{"weight_map":{"a":"` + first + `"}}x`), wire.ErrTrailing, "0x37"},
		"a broken shard": {fstest.MapFS{indexName: text(`{"weight_map":{"a":"` + first + `"}}`), first: &fstest.MapFile{Data: file(`{"a":{}}`, 0)}}, wire.ErrMissing,
			`safetensors: shard "model-00001-of-00002.safetensors", tensor "a" at 0xd: a part is missing`},
	} {
		m, err := openIndex(t, c.folder)
		if err == nil {
			m.Close()
		}
		if !errors.Is(err, c.cause) || !strings.Contains(fmt.Sprint(err), c.text) {
			t.Errorf("%s: %v", what, err)
		}
		if at, ok := errors.AsType[*wire.Error](err); !ok || at.Format != "safetensors" {
			t.Errorf("%s has no place: %v", what, err)
		}
	}
}

func TestFindingsAboutASet(t *testing.T) {
	m, err := openIndex(t, fstest.MapFS{
		indexName: text(`{"metadata":{"total_size":7},"weight_map":{"a":"` + first + `"}}`),
		first:     shard("a", "b", "c"),
	})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, f := range m.Findings() {
		got = append(got, f.String())
	}
	want := []string{
		`safetensors.index-extra: tensor "b": is in shard "model-00001-of-00002.safetensors" but not in the index; nor are 1 more`,
		`safetensors.index-size: index "model.safetensors.index.json": states a total of 7 bytes, the tensors have 3`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	for _, total := range []string{"3.0", "-1", "99999999999999999999", `"3"`, "null"} {
		m, err := openIndex(t, fstest.MapFS{indexName: text(`{"metadata":{"total_size":` + total + `},"weight_map":{"a":"` + first + `"}}`), first: shard("a")})
		if err != nil || len(m.Findings()) != 0 {
			t.Errorf("a total of %s: %v", total, err)
		}
	}
	for _, code := range []string{"safetensors.index-extra", "safetensors.index-size"} {
		folder := fstest.MapFS{indexName: text(`{"metadata":{"total_size":7},"weight_map":{"a":"` + first + `"}}`), first: shard("a", "b")}
		_, err := safetensors.OpenIndex(account(t, limits.Policy{RefuseFindings: []string{code}}), folder, indexName)
		if wire.ClassOf(err) != wire.Forbidden {
			t.Errorf("%s: %v", code, err)
		}
	}
}

func TestAliasesOfASet(t *testing.T) {
	m, err := openIndex(t, fstest.MapFS{
		indexName: text(`{"metadata":{"tied.weight":"c.weight"},"weight_map":{"a":"` + first + `","c.weight":"` + second + `"}}`),
		first:     shardMeta(`"format":"pt","other.weight":"c.weight","gone.bias":"lost.bias"`, "a"),
		second:    shardMeta(`"format":"pt","tied.weight":"c.weight","gone.bias":"lost.bias"`, "c.weight"),
	})
	if err != nil {
		t.Fatal(err)
	}
	got := maps.Collect(m.(*safetensors.Sharded).Aliases())
	if diff := cmp.Diff(map[string]string{"tied.weight": "c.weight", "other.weight": "c.weight"}, got); diff != "" {
		t.Error(diff)
	}
	if f := m.Findings(); len(f) != 1 || f[0].Code != "safetensors.alias-dangling" || f[0].Where != `alias "gone.bias"` || strings.Contains(f[0].Text, "more") {
		t.Errorf("%+v", f)
	}
}

func TestASetWithoutAnIndex(t *testing.T) {
	folder := fstest.MapFS{"d/" + first: shardMeta(`"tied.weight":"c"`, "a", "b"), "d/" + second: shard("c")}
	open := func(files ...string) (tensor.Model, error) {
		return safetensors.OpenSharded(account(t, limits.Policy{}), folder, files)
	}
	m, err := open("d/"+second, "d/"+first)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"a in 0", "b in 0", "c in 1"}, names(m)); diff != "" {
		t.Error(diff)
	}
	if got := maps.Collect(m.(*safetensors.Sharded).Aliases()); got["tied.weight"] != "c" {
		t.Error(got)
	}
	if err := m.Close(); err != nil {
		t.Error(err)
	}
	for what, c := range map[string]struct {
		files []string
		cause error
	}{
		"one is missing":        {[]string{"d/" + second}, wire.ErrMissing},
		"the second is missing": {[]string{"d/" + first}, wire.ErrMissing},
		"of two folders":        {[]string{"d/" + first, "e/" + second}, wire.ErrUsage},
		"of two sets":           {[]string{"d/" + first, "d/model-00002-of-00003.safetensors"}, wire.ErrMismatch},
		"no shard":              {[]string{"d/model.safetensors"}, wire.ErrMismatch},
		"one number twice":      {[]string{"d/" + first, "d/model-0001-of-00002.safetensors", "d/" + second}, wire.ErrDuplicate},
		"none":                  {nil, wire.ErrMissing},
		"a name that is not":    {[]string{"x-00001-of-00001.safetensors"}, wire.ErrMissing},
	} {
		if _, err := open(c.files...); !errors.Is(err, c.cause) {
			t.Errorf("%s: %v", what, err)
		}
	}
	folder["d/"+second] = shard("b")
	if _, err := open("d/"+first, "d/"+second); !errors.Is(err, wire.ErrDuplicate) {
		t.Error(err)
	}
	folder["d/"+second] = shardMeta(`"tied.weight":"lost.weight"`, "c")
	folder["d/"+first] = shard("a")
	b := account(t, limits.Policy{RefuseFindings: []string{"*"}})
	if _, err := safetensors.OpenSharded(b, folder, []string{"d/" + first, "d/" + second}); wire.ClassOf(err) != wire.Forbidden {
		t.Error(err)
	}
}

func TestASetIsCharged(t *testing.T) {
	folder := fstest.MapFS{}
	var entries []string
	for i := range 40 {
		name := fmt.Sprintf("model-%05d-of-00040.safetensors", i+1)
		folder[name] = shard(fmt.Sprintf("a%d", i))
		entries = append(entries, fmt.Sprintf(`"a%d":"%s"`, i, name))
	}
	folder[indexName] = text(`{"metadata":{"k.w":"a1"},"weight_map":{` + strings.Join(entries, ",") + `}}`)
	open := func(p limits.Policy) error {
		m, err := safetensors.OpenIndex(account(t, p), folder, indexName)
		if err == nil {
			m.Close()
		}
		return err
	}
	failures := 0
	for limit := int64(64); ; limit += limit/64 + 1 {
		err := open(limits.Policy{MaxTotalBytes: limit})
		if err == nil {
			break
		}
		if wire.ClassOf(err) != wire.Limit {
			t.Fatalf("%d bytes: %v", limit, err)
		}
		failures++
	}
	if failures < 100 {
		t.Errorf("%d failures", failures)
	}
	for n := int64(1); n < 320; n += 7 {
		if err := open(limits.Policy{MaxItems: n}); err != nil && wire.ClassOf(err) != wire.Limit {
			t.Errorf("%d items: %v", n, err)
		}
		if err := open(limits.Policy{MaxSteps: 10 * n}); err != nil && wire.ClassOf(err) != wire.Limit {
			t.Errorf("%d steps: %v", n, err)
		}
	}
	if slices.Contains(names(mustOpen(t, folder)), "") {
		t.Error("a tensor without a name")
	}
}

func mustOpen(t *testing.T, folder fs.FS) tensor.Model {
	t.Helper()
	m, err := safetensors.OpenIndex(account(t, limits.Policy{}), folder, indexName)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func TestTooManyShardsAreRefused(t *testing.T) {
	var entries []string
	for i := range tensor.MaxShards + 1 {
		entries = append(entries, fmt.Sprintf(`"a%d":"s%d"`, i, i))
	}
	_, err := openIndex(t, fstest.MapFS{indexName: text(`{"weight_map":{` + strings.Join(entries, ",") + `}}`)})
	if !errors.Is(err, wire.ErrUnsupported) {
		t.Error(err)
	}
	_, err = safetensors.OpenSharded(account(t, limits.Policy{}), fstest.MapFS{}, []string{"a-00001-of-05000.safetensors"})
	if !errors.Is(err, wire.ErrUnsupported) {
		t.Error(err)
	}
}
