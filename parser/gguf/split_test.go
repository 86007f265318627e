package gguf_test

import (
	"fmt"
	"io/fs"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/gguf"
)

func TestSplitNames(t *testing.T) {
	type said struct {
		Prefix    string
		No, Count int
		OK        bool
	}
	for name, want := range map[string]said{
		"model-00001-of-00003.gguf":            {"model", 1, 3, true},
		"a/b/model-00003-of-00003.gguf":        {"model", 3, 3, true},
		"m-00001-of-00001-00002-of-00002.gguf": {"m-00001-of-00001", 2, 2, true},
		"model-99999-of-99999.gguf":            {"model", 99999, 99999, true},
		"-00001-of-00003.gguf":                 {},
		"model-00000-of-00003.gguf":            {},
		"model-00004-of-00003.gguf":            {},
		"model-0001-of-00003.gguf":             {},
		"model-00001-OF-00003.gguf":            {},
		"model_00001-of-00003.gguf":            {},
		"model-0000a-of-00003.gguf":            {},
		"model-00001-of-0000b.gguf":            {},
		"model-00001-of-00003.GGUF":            {},
		"model-00001-of-00003.safetensors":     {},
		"model.gguf":                           {},
		"":                                     {},
	} {
		var got said
		got.Prefix, got.No, got.Count, got.OK = gguf.IsSplitName(name)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
		if want.OK && gguf.SplitName(want.Prefix, want.No, want.Count) != baseName(name) {
			t.Errorf("%s is written %s", name, gguf.SplitName(want.Prefix, want.No, want.Count))
		}
	}
}

func baseName(s string) string {
	for i := len(s) - 1; i >= 0; i-- {
		if s[i] == '/' {
			return s[i+1:]
		}
	}
	return s
}

// part is one file of a split model: keys as stated, one tensor per name.
func part(t *testing.T, keys string, count int, names ...string) *fstest.MapFile {
	body := fmt.Sprintf("str \"GGUF\"; u32 3; u64 %d %d\n%s\n", len(names), count, keys)
	for i, n := range names {
		body += fmt.Sprintf("gstr %q; u32 1; u64 8; u32 24; u64 %d\n", n, 32*i)
	}
	return &fstest.MapFile{Data: file(t, body+fmt.Sprintf("align 32; pad %d", 32*len(names)))}
}

func splitKeys(no, count, tensors int) string {
	return fmt.Sprintf(`gstr "split.no"; u32 2; u16 %d; gstr "split.count"; u32 2; u16 %d; gstr "split.tensors.count"; u32 5; i32 %d`, no, count, tensors)
}

func TestSplitModelsMustAgreeWithTheirNames(t *testing.T) {
	good := part(t, splitKeys(0, 2, 3), 3, "a", "b")
	good2 := part(t, splitKeys(1, 2, 3), 3, "c")
	for name, c := range map[string]struct {
		one, two *fstest.MapFile
		want     string
	}{
		"as they should be":                     {good, good2, "ok"},
		"the second without the number of all":  {good, part(t, `gstr "split.no"; u32 2; u16 1; gstr "split.count"; u32 2; u16 2`, 2, "c"), "ok"},
		"other integers than the reference has": {part(t, `gstr "split.no"; u32 10; u64 0; gstr "split.count"; u32 1; i8 2; gstr "split.tensors.count"; u32 4; u32 3`, 3, "a", "b"), good2, "ok"},
		"the second missing":                    {good, nil, "malformed"},
		"the first missing":                     {nil, good2, "malformed"},
		"numbers exchanged":                     {good2, good, "malformed"},
		"no number":                             {part(t, `gstr "split.count"; u32 2; u16 2`, 1, "a", "b"), good2, "malformed"},
		"no count":                              {part(t, `gstr "split.no"; u32 2; u16 0`, 1, "a", "b"), good2, "malformed"},
		"another count":                         {part(t, splitKeys(0, 3, 3), 3, "a", "b"), good2, "malformed"},
		"a number that is a text":               {part(t, `gstr "split.no"; u32 8; gstr "0"; gstr "split.count"; u32 2; u16 2`, 2, "a", "b"), good2, "malformed"},
		"the first without the number of all":   {part(t, `gstr "split.no"; u32 2; u16 0; gstr "split.count"; u32 2; u16 2`, 2, "a", "b"), good2, "malformed"},
		"too few tensors":                       {part(t, splitKeys(0, 2, 3), 3, "a"), good2, "malformed"},
		"the second counts otherwise":           {good, part(t, splitKeys(1, 2, 4), 3, "c"), "malformed"},
		"a negative number of tensors":          {part(t, splitKeys(0, 2, -1), 3, "a", "b"), good2, "malformed"},
		"one tensor in both":                    {part(t, splitKeys(0, 2, 3), 3, "a", "c"), good2, "malformed"},
		"a file that is cut":                    {good, &fstest.MapFile{Data: good2.Data[:60]}, "truncated"},
		"a file that is not a model":            {good, &fstest.MapFile{Data: []byte("PK\x03\x04....")}, "malformed"},
		"a folder in its place":                 {good, &fstest.MapFile{Mode: fs.ModeDir}, "unsupported"},
	} {
		t.Run(name, func(t *testing.T) {
			folder := fstest.MapFS{}
			if c.one != nil {
				folder["sub/m-00001-of-00002.gguf"] = c.one
			}
			if c.two != nil {
				folder["sub/m-00002-of-00002.gguf"] = c.two
			}
			for no := range 2 {
				b := account(t, limits.Policy{})
				m, err := gguf.OpenSplit(b, folder, "sub/"+gguf.SplitName("m", no+1, 2))
				if got := wire.ClassOf(err).String(); got != c.want {
					t.Fatalf("%v, want %s", err, c.want)
				}
				if err != nil {
					continue
				}
				if m.Len() != 3 {
					t.Errorf("%d tensors", m.Len())
				}
				if err := m.Close(); err != nil {
					t.Error(err)
				}
			}
		})
	}
}

func TestASingleFileMayBeNumbered(t *testing.T) {
	for keys, want := range map[string]string{
		"":                                    "ok",
		splitKeys(0, 1, 1):                    "ok",
		splitKeys(1, 1, 1):                    "malformed",
		splitKeys(0, 2, 1):                    "malformed",
		splitKeys(0, 1, 2):                    "malformed",
		`gstr "split.count"; u32 2; u16 1`:    "ok",
		`gstr "split.count"; u32 8; gstr "1"`: "malformed",
	} {
		n := strings.Count(keys, "split.")
		folder := fstest.MapFS{"m-00001-of-00001.gguf": part(t, keys, n, "a")}
		_, err := gguf.OpenSplit(account(t, limits.Policy{}), folder, "m-00001-of-00001.gguf")
		if got := wire.ClassOf(err).String(); got != want {
			t.Errorf("%q: %v, want %s", keys, err, want)
		}
	}
}

func TestASplitModelIsBounded(t *testing.T) {
	b := account(t, limits.Policy{MaxTotalBytes: 1000})
	_, err := gguf.OpenSplit(b, fstest.MapFS{}, "m-00001-of-99999.gguf")
	if wire.ClassOf(err) != wire.Limit {
		t.Errorf("100,000 names: %v", err)
	}
	_, err = gguf.OpenSplit(account(t, limits.Policy{}), fstest.MapFS{}, "m.gguf")
	if wire.ClassOf(err) != wire.Usage {
		t.Errorf("no such name: %v", err)
	}
}

func TestAPartOfASplitModelHasAFinding(t *testing.T) {
	b := account(t, limits.Policy{})
	f := open(t, part(t, splitKeys(1, 2, 3), 3, "c").Data, b)
	if diff := cmp.Diff([]string{gguf.CodeSplit}, codes(f)); diff != "" {
		t.Error(diff)
	}
}
