package gate_test

import (
	"archive/zip"
	"bytes"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/anamnesis-go/anamnesis/corpus"
	"github.com/anamnesis-go/anamnesis/gate"
	"github.com/anamnesis-go/anamnesis/internal/corpustest"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/parser"
)

// laidOut unpacks the archive of a recipe into a folder, links as links.
func laidOut(t *testing.T, data []byte) string {
	t.Helper()
	root := t.TempDir()
	z, err := zip.NewReader(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range z.File {
		r, err := f.Open()
		if err != nil {
			t.Fatal(f.Name, err)
		}
		body, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(f.Name, err)
		}
		path := filepath.Join(root, filepath.FromSlash(f.Name))
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			t.Fatal(err)
		}
		if f.Mode()&fs.ModeSymlink != 0 {
			err = os.Symlink(string(body), path)
		} else {
			err = os.WriteFile(path, body, 0o666)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return root
}

// gateOf returns a gate with the policy of a recipe.
func gateOf(t *testing.T, r corpus.Recipe) (g gate.Gate) {
	t.Helper()
	if r.Policy != nil {
		var err error
		if g.Policy, err = gate.ParsePolicy(r.Policy); err != nil {
			t.Fatal(r.Path(), err)
		}
	}
	return g
}

// verdictsOf judges the file or the folder of a recipe.
func verdictsOf(t *testing.T, r corpus.Recipe) (list []*gate.Verdict) {
	t.Helper()
	g := gateOf(t, r)
	if !r.Folder {
		v, _ := check(t, g, string(r.Bytes()), gate.Hint{Name: r.File, Promised: r.Sent})
		return []*gate.Verdict{v}
	}
	path := laidOut(t, r.Bytes())
	t.Setenv("OLLAMA_MODELS", path)
	if strings.Contains(r.File, ":") {
		path = r.File // of a store
	} else {
		path = filepath.Join(path, filepath.FromSlash(r.File))
	}
	b := g.Policy.Limits.Budget(t.Context())
	defer b.Close()
	if r.Opened {
		m, err := parser.Open(b, path)
		v, err := g.CheckOpened(b, r.File, m, err, nil, 0)
		if err != nil {
			t.Fatal(r.Path(), err)
		}
		if m != nil {
			defer m.Close()
		}
		defer v.Close()
		return []*gate.Verdict{v}
	}
	for v, err := range g.CheckPath(b, path) {
		if err != nil {
			t.Fatal(r.Path(), err)
		}
		list = append(list, v)
	}
	return list
}

// rulesOf are the rules by which the gate refuses what a recipe makes or, where it
// accepts it, those that it reports, and the worst class.
func rulesOf(t *testing.T, r corpus.Recipe) (rules []string, class wire.Class) {
	t.Helper()
	var found []string
	for _, v := range verdictsOf(t, r) {
		class = max(class, v.Class())
		for _, why := range v.Refusals() {
			rules = append(rules, why.Rule)
		}
		for _, f := range v.Findings {
			found = append(found, f.Code)
		}
	}
	if class == wire.OK {
		rules = found
	}
	slices.Sort(rules)
	return slices.Compact(rules), class
}

// How each file of a recipe ends after a change of one byte is what testdata/verdicts.txt says.
func TestDamagedRecipesEndAsWritten(t *testing.T) {
	for _, r := range corpus.Gate() {
		if r.Folder || r.Sent != "" || len(r.Bytes()) > 64<<10 {
			continue
		}
		g := gateOf(t, r)
		t.Run(r.Name, func(t *testing.T) {
			corpustest.Damaged(t, r.Bytes(), 8, func(data []byte) string {
				v, _ := check(t, g, string(data), gate.Hint{Name: r.File})
				rules := []string{v.Class().String()}
				for _, why := range v.Refusals() {
					rules = append(rules, why.Rule)
				}
				slices.Sort(rules[1:])
				return strings.Join(slices.Compact(rules), " ")
			})
		})
	}
}

// The same for folders, of each of which the first file of the archive is changed. Links need a disk.
func TestDamagedFoldersEndAsWritten(t *testing.T) {
	for _, r := range corpus.Gate() {
		files, first := inMemory(t, r)
		if files == nil || len(first) == 0 {
			continue
		}
		g := gateOf(t, r)
		t.Run(r.Name, func(t *testing.T) {
			whole := files[first].Data
			corpustest.Damaged(t, whole, 4, func(data []byte) string {
				files[first].Data = data
				b := g.Policy.Limits.Budget(t.Context())
				defer b.Close()
				class, rules := wire.OK, []string(nil)
				for v, err := range g.CheckFS(b, files, ".", "x") {
					if err != nil {
						t.Fatal(err)
					}
					class = max(class, v.Class())
					for _, why := range v.Refusals() {
						rules = append(rules, why.Rule)
					}
					v.Close()
				}
				slices.Sort(rules)
				return class.String() + " " + strings.Join(slices.Compact(rules), " ")
			})
		})
	}
}

// inMemory returns the folder of a recipe, nil if it is none or has a link, and its first file.
func inMemory(t *testing.T, r corpus.Recipe) (files fstest.MapFS, first string) {
	t.Helper()
	if !r.Folder || r.Opened || strings.Contains(r.File, ":") {
		return nil, ""
	}
	z, err := zip.NewReader(bytes.NewReader(r.Bytes()), int64(len(r.Bytes())))
	if err != nil {
		t.Fatal(err)
	}
	files = fstest.MapFS{}
	for _, f := range z.File {
		body, err := f.Open()
		if err != nil {
			t.Fatal(f.Name, err)
		}
		data, err := io.ReadAll(body)
		if err != nil || f.Mode()&fs.ModeSymlink != 0 || !fs.ValidPath(f.Name) {
			return nil, ""
		}
		if files[f.Name] = (&fstest.MapFile{Data: data}); first == "" && len(data) > 0 && len(data) <= 16<<10 {
			first = f.Name
		}
	}
	return files, first
}

// Each recipe of the gate is refused by the rules that it names and by no other.
func TestRecipesOfTheGate(t *testing.T) {
	for _, r := range corpus.Gate() {
		t.Run(r.Name, func(t *testing.T) {
			if runtime.GOOS == "windows" && r.Folder {
				t.Skip("names and links of other systems")
			}
			rules, class := rulesOf(t, r)
			want := append([]string{r.Rule}, r.Also...)
			for _, rule := range want {
				if row, ok := gate.RuleOf(rule); !ok || row.Kind == "group" {
					t.Errorf("%s is not a rule of its own", rule)
				}
			}
			if slices.Sort(want); class.String() != r.Expect || !slices.Equal(rules, want) {
				t.Errorf("%v by %q, not %s by %q", class, rules, r.Expect, want)
			}
		})
	}
}
