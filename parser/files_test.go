package parser_test

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"syscall"
	"testing"
	"testing/fstest"

	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/limits/limitstest"
	"github.com/anamnesis-go/anamnesis/parser"
)

// shards is a model of n shards without an index.
func shards(n int) fstest.MapFS {
	set := fstest.MapFS{}
	for i := range n {
		set[fmt.Sprintf("model-%05d-of-%05d.safetensors", i+1, n)] = &fstest.MapFile{Data: shard(fmt.Sprint("t", i))}
	}
	return set
}

func TestOpenFilesAreCounted(t *testing.T) {
	host := limitstest.Host(t, limits.Policy{MaxOpenFiles: 5})
	open := func(n int, p limits.Policy) error {
		b := host.Child(p)
		defer b.Close()
		m, err := parser.OpenFS(b, shards(n), ".")
		if err != nil {
			return err
		}
		if used := limitstest.Used(host, limits.OpenFiles); used != int64(n) {
			t.Errorf("%d shards hold %d files open", n, used)
		}
		m.Close()
		if used := limitstest.Used(b, limits.OpenFiles); used != 0 {
			t.Errorf("a closed model holds %d files open", used)
		}
		return nil
	}
	for _, c := range []struct {
		shards int
		policy limits.Policy
		fits   bool
	}{
		{3, limits.Policy{MaxOpenFiles: 3}, true},
		{4, limits.Policy{MaxOpenFiles: 3}, false},
		{5, limits.Policy{}, true},
		{6, limits.Policy{}, false},
	} {
		err := open(c.shards, c.policy)
		refused, ok := errors.AsType[*limits.Error](err)
		if c.fits && err != nil || !c.fits && (!ok || refused.Axis != limits.OpenFiles || parser.ClassOf(err) != parser.Limit) {
			t.Errorf("%d shards under %d: %v", c.shards, c.policy.MaxOpenFiles, err)
		}
	}
}

// full is a file system that runs out of descriptors after a number of files.
type full struct {
	fs.FS
	left int
}

func (f *full) Open(name string) (fs.File, error) {
	if f.left--; f.left < 0 && strings.HasSuffix(name, ".safetensors") {
		return nil, &fs.PathError{Op: "open", Path: name, Err: syscall.EMFILE}
	}
	return f.FS.Open(name)
}

func (f *full) Stat(name string) (fs.FileInfo, error) { return fs.Stat(f.FS, name) }

// A host without free descriptors refuses with a limit.
func TestASystemWithoutDescriptorsIsALimit(t *testing.T) {
	host := limitstest.Host(t, limits.Policy{})
	for left := range 6 {
		b := host.Child(limits.Policy{})
		_, err := parser.OpenFS(b, &full{FS: shards(9), left: left}, ".")
		if parser.ClassOf(err) != parser.Limit {
			t.Errorf("after %d: %v", left, err)
		}
		b.Close()
	}
}

// An invalid policy opens nothing, from a path or a reader.
func TestAnAccountOfABadPolicyOpensNothing(t *testing.T) {
	file := shard("a")
	for _, p := range []limits.Policy{
		{MaxItems: -5},
		{RefuseFindings: []string{"gguf.token_dup"}},
		{RefuseFormats: []string{"pickle"}},
		{Quirks: []string{"gguf.gap"}},
	} {
		b := account(t, p)
		_, decode := parser.Decode(b, strings.NewReader(string(file)), int64(len(file)))
		_, open := parser.OpenFS(b, shards(2), ".")
		for _, err := range []error{decode, open} {
			if !errors.Is(err, limits.ErrPolicy) || parser.ClassOf(err) != parser.Usage {
				t.Errorf("%+v: %v", p, err)
			}
		}
	}
}

func TestPoliciesNameTheFormatsThatAreRead(t *testing.T) {
	var names []string
	for _, f := range slices.Concat(parser.Formats(), parser.Graphs()) {
		names = append(names, f.Name)
	}
	slices.Sort(names)
	if got, want := fmt.Sprint(limits.Formats()), fmt.Sprint(names); got != want {
		t.Errorf("policies may refuse %s, read are %s", got, want)
	}
}
