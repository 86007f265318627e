package main

import (
	"fmt"
	"go/ast"
	"go/token"
	"hash/fnv"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/anamnesis-go/anamnesis/crosscheck/mutation/source"
)

// targets are the fuzz targets that read the files of a package: they should notice by their
// seeds alone when one of its refusals is gone.
var targets = []struct{ pkg, fuzz string }{
	{"parser/gguf/edit", "Metadata"}, {"parser/gguf", "GGUF|Metadata"}, {"parser/npy", "NPY"}, {"parser/npz", "NPZ"}, {"parser/ollama", "Ollama"}, {"parser/pth", "PTH|Legacy"},
	{"parser/safetensors", "Safetensors"}, {"parser/zip", "Zip"}, {"vm", "Pickle"}, {"internal/strictjson", "StrictJSON"}, {"internal/bzip2", "Wrap|Bzip2"}, {"internal/lzma", "Wrap|LZMA"},
	{"internal/unpack", "Wrap"}, {"parser/onnx", "ONNX"}, {"parser/hdf5", "HDF5"}, {"internal/sidecar", "Sidecar"}, {"internal/jinja", "Template"}, {"internal/tokenizer", "Tokenizer|SPM|Ranks"},
}

// targetOf returns the pattern of the targets of a package, "" if it has none.
func targetOf(pkg string) string {
	for _, t := range targets {
		if t.pkg == pkg {
			return "^Fuzz(" + t.fuzz + ")$"
		}
	}
	return ""
}

// droppedPackage is the package that decides whether a condition that refuses still does. It is
// asked only where the condition is true, and then says so on its output, among the names of the
// seeds: another seed cannot notice that the condition is gone.
const droppedPackage = `package dropped

import (
	"os"
	"strconv"
	"syscall"
)

var (
	chosen = -1
	says   = os.Getenv("REACHED_SAYS") != ""
)

func init() {
	if n, err := strconv.Atoi(os.Getenv("DROPPED")); err == nil {
		chosen = n
	}
}

func On(n int) bool {
	if says {
		syscall.Write(1, []byte("\n=== REACHED "+strconv.Itoa(n)+"\n"))
	}
	return n == chosen
}
`

// A drop is a condition whose only effect is a refusal.
type drop struct {
	pkg, file, text string
	line            int
	noticed         bool
}

// drops inserts a switch into each condition of a package that refuses: of an if without an
// else, and of a case without a tag.
func drops(p *source.Package, add func(drop) int) {
	own := source.ErrorsOf(p)
	refuses := func(list []ast.Stmt) bool {
		if len(list) == 0 {
			return false
		}
		found := false
		last := finder{own, func(*source.File, ast.Stmt) { found = true }}
		last.list(nil, list[len(list)-1:])
		_, returns := list[len(list)-1].(*ast.ReturnStmt)
		return found && returns
	}
	for _, f := range p.Files {
		off := func(cond ast.Expr) {
			n := add(drop{pkg: strings.TrimPrefix(p.Path, module+"/"), file: f.Name, line: f.Line(cond.Pos()), text: f.Source(cond)})
			f.Around(cond, 0, "((", fmt.Sprintf(") && !dropped.On(%d))", n))
		}
		ast.Inspect(f.Tree, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.IfStmt:
				if n.Else == nil && refuses(n.Body.List) && !passesOn(n.Cond) {
					off(n.Cond)
				}
			case *ast.SwitchStmt:
				for _, c := range n.Body.List {
					if c := c.(*ast.CaseClause); n.Tag == nil && len(c.List) == 1 && refuses(c.Body) && !passesOn(c.List[0]) {
						off(c.List[0])
					}
				}
			}
			return true
		})
	}
}

// passesOn reports whether a condition asks only for the error of somebody else.
func passesOn(cond ast.Expr) bool {
	b, ok := cond.(*ast.BinaryExpr)
	return ok && b.Op == token.NEQ && source.NameOf(b.X) == "err" && source.NameOf(b.Y) == "nil"
}

// noticed drops some refusals of each package that has a target, one at a time, and counts
// which of them the seeds of the target notice.
func noticed(root string, count int, seed string, only []string) error {
	root, err := filepath.Abs(root)
	if err != nil {
		return err
	}
	if len(only) == 0 {
		for _, t := range targets {
			only = append(only, "./"+t.pkg)
		}
	}
	list, err := source.Load(root, only...)
	if err != nil {
		return err
	}
	var all []*drop
	for _, p := range list {
		drops(p, func(d drop) int { all = append(all, &d); return len(all) - 1 })
	}
	dir, err := os.MkdirTemp("", "dropped")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	overlay, err := source.Overlay(root, module, dir, "dropped", droppedPackage, list)
	if err != nil {
		return err
	}
	binary := filepath.Join(dir, "fuzz.test")
	build := exec.Command("go", "test", "-c", "-vet=off", "-overlay", overlay, "-o", binary, "./fuzz")
	build.Dir, build.Stderr = root, os.Stderr
	if err := build.Run(); err != nil {
		return err
	}
	fmt.Printf("%-24s %8s %8s\n", "package", "dropped", "noticed")
	var missed []*drop
	sum, hits := 0, 0
	for _, p := range list {
		pkg := strings.TrimPrefix(p.Path, module+"/")
		chosen := choose(all, pkg, count, seed)
		out, err := runDropped(root, binary, targetOf(pkg), -1)
		if err != nil {
			return fmt.Errorf("%s fails with every refusal in place: %w\n%s", targetOf(pkg), err, tail(out))
		}
		seeds := seedsOf(out)
		n := 0
		for _, id := range chosen {
			if slices.ContainsFunc(patterns(seeds[id]), func(run string) bool {
				_, err := runDropped(root, binary, run, id)
				return err != nil
			}) {
				n++
			} else {
				missed = append(missed, all[id])
			}
		}
		fmt.Printf("%-24s %8d %8d\n", pkg, len(chosen), n)
		sum, hits = sum+len(chosen), hits+n
	}
	fmt.Printf("%-24s %8d %8d  %.0f%%\n", "all", sum, hits, 100*float64(hits)/float64(max(1, sum)))
	for _, d := range missed {
		fmt.Printf("not noticed\t%s:%d\t%s\n", d.file, d.line, d.text)
	}
	return nil
}

// choose returns the numbers of up to count drops of a package, the same for the same seed.
func choose(all []*drop, pkg string, count int, seed string) (ids []int) {
	h := fnv.New64a()
	h.Write([]byte(seed + pkg))
	for i, d := range all {
		if d.pkg == pkg {
			ids = append(ids, i)
		}
	}
	random := rand.New(rand.NewPCG(h.Sum64(), 2))
	random.Shuffle(len(ids), func(i, j int) { ids[i], ids[j] = ids[j], ids[i] })
	if count > 0 && len(ids) > count {
		ids = ids[:count]
	}
	slices.Sort(ids)
	return ids
}

// seedsOf reads from the output of targets which seeds come to each refusal: TARGET/SEED, or
// TARGET alone for what it does before its seeds.
func seedsOf(out []byte) map[int]map[string]bool {
	of, test := map[int]map[string]bool{}, ""
	for line := range strings.Lines(string(out)) {
		line = strings.TrimSuffix(line, "\n")
		for _, begin := range []string{"=== RUN   ", "=== CONT  ", "=== NAME  "} {
			if name, ok := strings.CutPrefix(line, begin); ok {
				test = name
			}
		}
		n, err := strconv.Atoi(strings.TrimPrefix(line, "=== REACHED "))
		if err != nil || !strings.HasPrefix(line, "=== REACHED ") || test == "" {
			continue
		}
		if of[n] == nil {
			of[n] = map[string]bool{}
		}
		of[n][test] = true
	}
	return of
}

// patterns are those that run seeds, one for each target.
func patterns(seeds map[string]bool) (list []string) {
	byTarget := map[string][]string{}
	for name := range seeds {
		target, seed, _ := strings.Cut(name, "/")
		byTarget[target] = append(byTarget[target], regexp.QuoteMeta(seed))
	}
	for _, target := range slices.Sorted(maps.Keys(byTarget)) {
		run := "^" + target + "$"
		if names := byTarget[target]; !slices.Contains(names, "") {
			slices.Sort(names)
			run += "/^(" + strings.Join(names, "|") + ")$"
		}
		list = append(list, run)
	}
	return list
}

func runDropped(root, binary, run string, id int) ([]byte, error) {
	cmd := exec.Command(binary, "-test.run", run, "-test.short", "-test.failfast", "-test.timeout", "2m", "-test.parallel", "1")
	cmd.Dir, cmd.Env = filepath.Join(root, "fuzz"), append(os.Environ(), "DROPPED="+strconv.Itoa(id), "GOMEMLIMIT=2GiB")
	if id < 0 {
		cmd.Args, cmd.Env = append(cmd.Args, "-test.v", "-test.timeout", "20m"), append(cmd.Env, "REACHED_SAYS=1")
	}
	return cmd.CombinedOutput()
}
