package gate_test

import (
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"os"
	"path"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/anamnesis-go/anamnesis/gate"
	"github.com/anamnesis-go/anamnesis/limits"
)

// worked judges a file and returns the steps that it took.
func worked(t *testing.T, name, data string) (int64, *gate.Verdict) {
	t.Helper()
	b := limits.Policy{Timeout: limits.NoTimeout}.Budget(t.Context())
	defer b.Close()
	g := gate.Gate{}
	account := b.Child(limits.Policy{Timeout: limits.NoTimeout})
	v, err := g.Check(account, strings.NewReader(data), int64(len(data)), gate.Hint{Name: name, Beside: true})
	if err != nil {
		t.Fatal(err)
	}
	v.Close()
	account.Close()
	return b.Worked(), v
}

func TestEachMemberOfAnArchiveCostsSteps(t *testing.T) {
	of := func(n int) int64 {
		var list []member
		for i := range n {
			list = append(list, member{fmt.Sprintf("f%d.txt", i), "x"})
		}
		steps, _ := worked(t, "a.tar", tarred(t, list...))
		return steps
	}
	few, many := of(10), of(1010)
	if one := (many - few) / 1000; one < 500 || one > 800 {
		t.Errorf("a content of one byte costs %d steps", one)
	}
}

func TestEachFileOfAFolderCostsSteps(t *testing.T) {
	if steps, _ := worked(t, "a.txt", "x"); steps < 500 || steps > 800 {
		t.Errorf("a file of one byte costs %d steps", steps)
	}
}

// A countedFS counts the names that its folders list.
type countedFS struct {
	fs.FS

	names *int
}

func (c countedFS) ReadDir(name string) ([]fs.DirEntry, error) {
	list, err := fs.ReadDir(c.FS, name)
	*c.names += len(list)
	return list, err
}

// stepsOfWalk judges a folder and returns its steps.
func stepsOfWalk(t *testing.T, n int, walk func(g *gate.Gate, b *limits.Budget) iter.Seq2[*gate.Verdict, error]) int64 {
	t.Helper()
	b := limits.Policy{Timeout: limits.NoTimeout}.Budget(t.Context())
	defer b.Close()
	for v, err := range walk(&gate.Gate{}, b) {
		if err != nil {
			t.Fatal(err)
		}
		if strings.HasSuffix(v.Path, ".data") && v.Harmless == "" {
			t.Fatalf("%s: %v", v.Path, v.Err)
		}
		n--
	}
	if n != 0 {
		t.Errorf("%d files of the folder were not judged", n)
	}
	for _, u := range b.Usage() {
		if u.Axis == limits.Total && u.Used != 0 {
			t.Errorf("the walk holds %d bytes", u.Used)
		}
	}
	return b.Worked()
}

// A folder is listed once, and its models are read once, however many of its files only what lies
// beside them explains.
func TestAFolderIsListedOnceForAllItsFiles(t *testing.T) {
	model := seed(t, "onnx", "outside.onnx")
	numbers := strings.Repeat("\x00", 4096)
	of := func(n int) (onDisk, inFS int64, names int) {
		at, files := t.TempDir(), fstest.MapFS{}
		for _, in := range []string{"", "sub"} {
			list := map[string]string{"m.onnx": model, "outside.onnx.data": numbers}
			for i := range n {
				list[fmt.Sprintf("f%05d.json", i)] = "{}"
				list[fmt.Sprintf("g%05d.unknown", i)] = numbers
			}
			for name, data := range list {
				if err := errors.Join(os.MkdirAll(filepath.Join(at, in), 0o700), os.WriteFile(filepath.Join(at, in, name), []byte(data), 0o600)); err != nil {
					t.Fatal(err)
				}
				files[path.Join(in, name)] = &fstest.MapFile{Data: []byte(data)}
			}
		}
		onDisk = stepsOfWalk(t, 4*n+4, func(g *gate.Gate, b *limits.Budget) iter.Seq2[*gate.Verdict, error] { return g.CheckPath(b, at) })
		inFS = stepsOfWalk(t, 4*n+4, func(g *gate.Gate, b *limits.Budget) iter.Seq2[*gate.Verdict, error] {
			return g.CheckFS(b, countedFS{files, &names}, ".", "x")
		})
		return onDisk, inFS, names
	}
	few, fewFS, _ := of(50)
	many, manyFS, names := of(200)
	// The walk lists the names once, and what asks for the files beside one lists them once more.
	if most := 2 * (4*200 + 5); names > most {
		t.Errorf("%d names are listed, not %d", names, most)
	}
	for what, steps := range map[string][2]int64{"on disk": {few, many}, "in a file system": {fewFS, manyFS}} {
		if each := (steps[1] - steps[0]) / 600; each < 500 || each > 900 {
			t.Errorf("%s: a file more costs %d steps", what, each)
		}
		if float64(steps[1]) > 4.2*float64(steps[0]) {
			t.Errorf("%s: four times the files cost %d steps, not %d", what, steps[1], 4*steps[0])
		}
	}
}

// Folders above the one at hand are remembered, however many folders lie beside it.
func TestManyFoldersListTheirParentOnce(t *testing.T) {
	files, names := fstest.MapFS{}, 0
	const n = 700
	for i := range n {
		files[fmt.Sprintf("%04d/config.json", i)] = &fstest.MapFile{Data: []byte("{}")}
	}
	steps := stepsOfWalk(t, n, func(g *gate.Gate, b *limits.Budget) iter.Seq2[*gate.Verdict, error] {
		return g.CheckFS(b, countedFS{files, &names}, ".", "x")
	})
	if names > 4*n {
		t.Errorf("%d names of %d folders are listed", names, n)
	}
	if each := steps / n; each < 1000 {
		t.Errorf("a folder and its file cost %d steps", each)
	}
}

// Folders without files are no entries of a walk, and cost steps too; so do links.
func TestEmptyFoldersAndLinksCostSteps(t *testing.T) {
	at := t.TempDir()
	for i := range 20 {
		if err := errors.Join(os.Mkdir(filepath.Join(at, fmt.Sprint("d", i)), 0o700), os.Symlink("nowhere", filepath.Join(at, fmt.Sprint("l", i)))); err != nil {
			t.Fatal(err)
		}
	}
	walk := func(b *limits.Budget) (n int, err error) {
		g := gate.Gate{}
		for _, failed := range g.CheckPath(b, at) {
			n, err = n+1, errors.Join(err, failed)
		}
		return n, err
	}
	b := limits.Policy{Timeout: limits.NoTimeout}.Budget(t.Context())
	defer b.Close()
	if n, err := walk(b); n != 20 || err != nil || b.Worked() < 41*500 {
		t.Errorf("%d links: %d steps, %v", n, b.Worked(), err)
	}
	special := fstest.MapFS{}
	for i := range 20 {
		special[fmt.Sprint(i)] = &fstest.MapFile{Mode: fs.ModeDevice}
	}
	before := b.Worked()
	for _, err := range (&gate.Gate{}).CheckFS(b, special, ".", "x") {
		if err != nil {
			t.Error(err)
		}
	}
	if n := b.Worked() - before; n < 21*500 {
		t.Errorf("20 devices of a file system: %d steps", n)
	}
	few := limits.Policy{Timeout: limits.NoTimeout, MaxSteps: 30 * 500}.Budget(t.Context())
	defer few.Close()
	if _, err := walk(few); !errors.Is(err, limits.ErrLimit) {
		t.Errorf("the steps of 30 of 41: %v", err)
	}
}

// Steps are counted, not time: a name that made the judge read a whole piece again without a step
// cost a thousand times its charge.
func TestTextsCostTheSameForEachByte(t *testing.T) {
	for _, part := range []string{"activation,", "activation: a, ", "download: a ", `"$`, "\\\r", "(os.a)", "a: b\n"} {
		of := func(n int) float64 {
			text := "x: {" + strings.Repeat(part, n/len(part)) + "}\n"
			steps, _ := worked(t, "a.yaml", text)
			return float64(steps) / float64(len(text))
		}
		small, large := of(32<<10), of(256<<10)
		if large > 2*small+0.1 || large > 32 {
			t.Errorf("%q: %.2f steps a byte of 32 KiB, %.2f of 256 KiB", part, small, large)
		}
	}
}

// Pickles that begin at many places of a text, and come together, are followed once.
func TestATextThatReadsAsManyPicklesCostsItsSize(t *testing.T) {
	for _, part := range []string{strings.Repeat("V", 4_000) + " b\n", strings.Repeat("I", 2_000) + "\n", strings.Repeat("(I", 99) + "\n", "]", "(", "cos\nsystem\n"} {
		for _, size := range []int{60 << 10, 400 << 10} {
			text := "a\ncos\nsystem\n" + strings.Repeat(part, size/len(part))
			if steps, _ := worked(t, "a.txt", text); steps > 32*int64(len(text)) {
				t.Errorf("%.20q: %d steps for %d bytes", part, steps, len(text))
			}
		}
	}
}

func TestTextsInAPackedFileAreBoundedByItsSize(t *testing.T) {
	long := `{"a":[` + strings.Repeat("1,", 1<<20) + "1]}"
	short := `{"a":[` + strings.Repeat("1,", 1<<18) + "1]}"
	var several []member
	for i := range 5 {
		several = append(several, member{fmt.Sprintf("%d.json", i), short})
	}
	for _, c := range []struct {
		what, name, data string
		accepted         bool
	}{
		{"a configuration of 2 MiB in 3 KB", "config.json.gz", gzipped(t, long), false},
		{"it in a tar", "a.tar.gz", gzipped(t, tarred(t, member{"config.json", long})), false},
		{"it in a ZIP archive", "a.zip", zipped(t, member{"config.json", long}), false},
		{"five of 0.5 MiB", "a.tar.gz", gzipped(t, tarred(t, several...)), false},
		{"one of 0.5 MiB", "a.tar.gz", gzipped(t, tarred(t, several[0])), true},
		{"one of 2 MiB that is not packed", "a.tar", tarred(t, member{"config.json", long}), true},
	} {
		v, text := check(t, gate.Gate{}, c.data, gate.Hint{Name: c.name})
		rules := v.Refusals()
		if v.Accepted() != c.accepted || !c.accepted && (len(rules) == 0 || rules[0].Rule != "limit.inflate_ratio") {
			t.Errorf("%s: %v: %s", c.what, rules, text)
		}
	}
}
