// Command mutants measures what the tests notice: it changes the code in one place, runs the
// tests of the package and those that read the corpus, and counts which changes end in a
// failure.
//
//	go run ./mutants -root ../.. ./vm ./gate           a sample of 30
//	go run ./mutants -root ../.. -n 0 ./parser/npy     all of a package, and what survived
//	go run ./mutants -root ../.. -list ./vm            the places, without running them
//	go run ./mutants -root ../.. -floors FILE -changed the packages of the last commits; fails below the floor of a package
//	go run ./mutants -root ../.. -operator "charge dropped" ./vm  those of one kind
//	go run ./mutants -root ../.. -table FILE           a sample of each package; writes the table of FILE
//
// All mutants are in one program, which is built once; an environment variable chooses one. Each
// runs the tests that reach it, one at a time, until one fails.
package main

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"hash/fnv"
	"io"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/anamnesis-go/anamnesis/crosscheck/mutation/source"
)

const module = "github.com/anamnesis-go/anamnesis"

// packages are those whose tests are measured.
var packages = []string{
	"./limits", "./parser/...", "./vm", "./gate", "./quant/...", "./digest", "./convert", "./merge/...", "./compare", "./stats", "./internal/wire", "./internal/strictjson", "./internal/jsontree",
	"./internal/config", "./internal/polyglot", "./internal/unpack", "./internal/bzip2", "./internal/lzma", "./internal/onnx", "./internal/hdf5", "./internal/sidecar", "./internal/jinja", "./internal/form",
	"./internal/family", "./internal/tokenizer",
}

func main() {
	var o options
	flag.StringVar(&o.root, "root", ".", "folder of the module")
	flag.IntVar(&o.count, "n", 30, "how many mutants are run; 0 for all")
	flag.StringVar(&o.seed, "seed", "", "what the sample depends on; by default the commit")
	flag.BoolVar(&o.list, "list", false, "list the mutants, and run none")
	flag.BoolVar(&o.json, "json", false, "print the mutants that were run as JSON lines")
	flag.StringVar(&o.floors, "floors", "", "file with a package, a space and the least share in percent that is killed, a line each")
	flag.BoolVar(&o.changed, "changed", false, "take the packages that the last commits touch")
	flag.StringVar(&o.known, "known", "", "file with equivalent mutants: file, tab, change, tab, reason")
	flag.StringVar(&o.operator, "operator", "", "take mutants of this kind alone")
	flag.DurationVar(&o.within, "within", 0, "begin no mutant after this time; 0 is no bound")
	flag.StringVar(&o.table, "table", "", "document whose table is written: a sample of each package")
	flag.Parse()
	o.patterns = flag.Args()
	if err := o.run(); err != nil {
		fmt.Fprintln(os.Stderr, "mutants:", err)
		os.Exit(1)
	}
}

type options struct {
	root, seed, floors, known, operator, table string
	count                                      int
	within                                     time.Duration
	list, json, changed                        bool
	patterns                                   []string
}

func (o *options) run() error {
	var err error
	if o.root, err = filepath.Abs(o.root); err != nil {
		return err
	}
	switch {
	case o.changed:
		if o.patterns, err = changed(o.root); err != nil {
			return err
		}
		if len(o.patterns) == 0 {
			fmt.Println("the last commits change no package whose tests are measured")
			return nil
		}
	case len(o.patterns) == 0:
		o.patterns = packages
	}
	if o.seed == "" {
		out, err := git(o.root, "rev-parse", "HEAD^{tree}")
		if err != nil {
			return err
		}
		o.seed = out
	}
	if o.table != "" {
		return o.tabulate()
	}
	list, chosen, err := o.choose(o.patterns)
	if err != nil {
		return err
	}
	if o.list {
		for _, m := range chosen {
			fmt.Printf("%d\t%s:%d\t%s\t%s\n", m.ID, m.File, m.Line, m.Operator, m.Change)
		}
		return nil
	}
	if err := o.runAll(list, chosen); err != nil {
		return err
	}
	if o.json {
		for _, m := range chosen {
			if err := json.NewEncoder(os.Stdout).Encode(m); err != nil {
				return err
			}
		}
		return nil
	}
	return report(chosen, o.floors)
}

// choose returns the packages with the mutants of the sample in them, and no others: then the
// program is built as fast as without them.
func (o *options) choose(patterns []string) ([]*source.Package, []*mutant, error) {
	_, all, err := mutate(o.root, patterns, nil)
	if err != nil {
		return nil, nil, err
	}
	equal, err := source.ReadReasons(o.known)
	if err != nil {
		return nil, nil, err
	}
	chosen := slices.DeleteFunc(all, func(m *mutant) bool {
		return equal[m.File+"\t"+m.Change] > 0 || o.operator != "" && m.Operator != o.operator
	})
	if o.count > 0 {
		chosen = sample(chosen, o.count, o.seed)
	}
	only := map[int]*mutant{}
	for _, m := range chosen {
		only[m.ID] = m
	}
	list, _, err := mutate(o.root, patterns, only)
	return list, chosen, err
}

func git(root string, args ...string) (string, error) {
	cmd := exec.Command("git", args...)
	cmd.Dir = root
	out, err := cmd.Output()
	return strings.TrimSpace(string(out)), err
}

// recentCommits is how many commits count as a change.
const recentCommits = "30"

// changed returns the measured packages whose code, tests apart, the last commits touch.
func changed(root string) ([]string, error) {
	out, err := git(root, "log", "-n", recentCommits, "--name-only", "--format=", "--", "*.go")
	if err != nil {
		return nil, err
	}
	measured, err := source.Load(root, packages...)
	if err != nil {
		return nil, err
	}
	touched := map[string]bool{}
	for name := range strings.Lines(out) {
		if name = strings.TrimSpace(name); !strings.HasSuffix(name, "_test.go") {
			touched[module+"/"+filepath.ToSlash(filepath.Dir(name))] = true
		}
	}
	var list []string
	for _, p := range measured {
		if touched[p.Path] {
			list = append(list, "./"+strings.TrimPrefix(p.Path, module+"/"))
		}
	}
	return list, nil
}

// mutate inserts the mutants of packages, or only some of them.
func mutate(root string, patterns []string, only map[int]*mutant) ([]*source.Package, []*mutant, error) {
	list, err := source.Load(root, patterns...)
	if err != nil {
		return nil, nil, err
	}
	exports, err := exportsOf(root, patterns)
	if err != nil {
		return nil, nil, err
	}
	var all []*mutant
	for _, p := range list {
		info, err := check(p, exports)
		if err != nil {
			return nil, nil, fmt.Errorf("%s: %w", p.Path, err)
		}
		w := mutator{pkg: p, info: info, inserts: func(id int) bool { return only == nil || only[id] != nil }, add: func(m mutant) int {
			m.ID = len(all)
			all = append(all, &m)
			return m.ID
		}}
		w.mutate()
	}
	return list, all, nil
}

// exportsOf returns where the compiler left the types of each package that is imported.
func exportsOf(root string, patterns []string) (map[string]string, error) {
	cmd := exec.Command("go", append([]string{"list", "-export", "-deps", "-json=ImportPath,Export"}, patterns...)...)
	cmd.Dir, cmd.Stderr = root, os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, err
	}
	exports := map[string]string{}
	for dec := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p struct{ ImportPath, Export string }
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			return exports, nil
		} else if err != nil {
			return nil, err
		}
		exports[p.ImportPath] = p.Export
	}
}

// check finds the types of a package. Its generated files are read for it as well.
func check(p *source.Package, exports map[string]string) (*types.Info, error) {
	set := token.NewFileSet()
	var files []*ast.File
	names, err := filepath.Glob(filepath.Join(p.Dir, "*.go"))
	if err != nil {
		return nil, err
	}
	own := map[string]*source.File{}
	for _, f := range p.Files {
		own[f.Path] = f
	}
	list := exec.Command("go", "list", "-f", "{{range .GoFiles}}{{println .}}{{end}}", ".")
	list.Dir = p.Dir
	out, err := list.Output()
	if err != nil {
		return nil, err
	}
	built := strings.Fields(string(out))
	for _, name := range names {
		if !slices.Contains(built, filepath.Base(name)) {
			continue
		}
		text, err := os.ReadFile(name)
		if err != nil {
			return nil, err
		}
		tree, err := parser.ParseFile(set, name, text, parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		if f := own[name]; f != nil {
			f.Retree(set, tree)
		}
		files = append(files, tree)
	}
	info := &types.Info{Types: map[ast.Expr]types.TypeAndValue{}}
	conf := types.Config{Importer: importer.ForCompiler(set, "gc", func(path string) (io.ReadCloser, error) { return os.Open(exports[path]) })}
	_, err = conf.Check(p.Path, set, files, info)
	return info, err
}

// sample chooses mutants, the same for the same seed: by turns of the operators, so that a
// rare one is not left out.
func sample(all []*mutant, n int, seed string) []*mutant {
	h := fnv.New64a()
	io.WriteString(h, seed)
	random := rand.New(rand.NewPCG(h.Sum64(), 1))
	byOperator := map[string][]*mutant{}
	for _, m := range all {
		byOperator[m.Operator] = append(byOperator[m.Operator], m)
	}
	operators := slices.Sorted(maps.Keys(byOperator))
	for _, o := range operators {
		list := byOperator[o]
		random.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
	}
	var chosen []*mutant
	for len(chosen) < min(n, len(all)) {
		for _, o := range operators {
			if list := byOperator[o]; len(list) > 0 && len(chosen) < n {
				chosen, byOperator[o] = append(chosen, list[0]), list[1:]
			}
		}
	}
	return chosen
}

// A suite is the tests of a package.
type suite struct {
	dir, run, binary string
	tests            []test // those that reach a mutant of the sample
}

type test struct {
	name    string
	reached map[int]bool
	took    time.Duration
}

// common are the suites that judge and read whole files, whatever the package.
var common = []suite{
	{dir: "fuzz", run: "^(TestEachHostileFileEndsWithItsClassAndOffset|TestEachHonestFileIsReadWhole|TestEveryPlaceThatChargesIsReached)$"},
	{dir: "gate", run: "Recipes|TheCorpus|Verdicts|Streams"},
}

// more are further suites for some packages.
var more = map[string][]string{
	"quant": {"quant"}, "convert": {"convert", "cli"}, "merge": {"merge", "cli"}, "internal/form": {"quant", "convert"}, "internal/family": {"convert", "cli"}, "internal/tokenizer": {"internal/family", "convert"},
	"internal/config": {"quant"}, "internal/jsontree": {"internal/tokenizer", "internal/family", "merge"}, "digest": {"cli"}, "compare": {"cli"}, "stats": {"cli"}, "parser": {"parser", "cli"}, "limits": {"parser", "internal/wire"},
}

// mutantPackage is the package that the mutants call. A byte in a file says of each whether it
// was reached, in this process or a child.
const mutantPackage = `package mutant

import (
	"os"
	"strconv"
	"syscall"
)

var (
	chosen  = -1
	reached = make([]byte, %d)
)

func init() {
	if n, err := strconv.Atoi(os.Getenv("MUTANT")); err == nil {
		chosen = n
	}
	f, err := os.OpenFile(os.Getenv("REACHED"), os.O_RDWR, 0)
	if err != nil {
		return
	}
	defer f.Close()
	if shared, err := syscall.Mmap(int(f.Fd()), 0, len(reached), syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_SHARED); err == nil {
		reached = shared
	}
}

func On(n int) bool {
	reached[n] = 1
	return n == chosen
}

func Choose[T any](n int, a, b T) T {
	if On(n) {
		return b
	}
	return a
}

func Skip(n int, f func() error) error {
	if On(n) {
		return nil
	}
	return f()
}
`

// A runner runs suites with mutants.
type runner struct {
	root, dir, overlay string
	count              int
	chosen             []*mutant
	suites             map[string]*suite
}

func (o *options) runAll(list []*source.Package, chosen []*mutant) error {
	dir, err := os.MkdirTemp("", "mutants")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	count := 0
	for _, m := range chosen {
		count = max(count, m.ID+1)
	}
	root, began := o.root, time.Now()
	r := runner{root: root, dir: dir, count: count, chosen: chosen, suites: map[string]*suite{}}
	if r.overlay, err = source.Overlay(root, module, dir, "mutant", fmt.Sprintf(mutantPackage, count), list); err != nil {
		return err
	}
	for i, m := range chosen {
		if o.within > 0 && time.Since(began) > o.within {
			fmt.Printf("after %v: %d of %d mutants were run\n", o.within, i, len(chosen))
			return nil
		}
		if err := r.judge(m); err != nil {
			return err
		}
		fmt.Fprintf(os.Stderr, "%d of %d: %s %s:%d %s: %s\n", i+1, len(chosen), cmp.Or(m.Killed, m.Status), m.File, m.Line, m.Operator, m.Change)
	}
	return nil
}

// judge runs the suites that reach a mutant until one fails.
func (r *runner) judge(m *mutant) error {
	pkg := strings.TrimPrefix(m.Package, module+"/")
	list := []suite{{dir: pkg, run: "."}}
	list = append(list, common...)
	for prefix, dirs := range more {
		if pkg == prefix || strings.HasPrefix(pkg, prefix+"/") {
			for _, d := range dirs {
				list = append(list, suite{dir: d, run: "."})
			}
		}
	}
	m.Status = "not reached"
	for _, s := range list {
		built, err := r.suite(s)
		if err != nil {
			return err
		}
		for _, test := range built.tests {
			if !test.reached[m.ID] {
				continue
			}
			m.Status = "survived"
			if err := r.test(built, test.name, m.ID, 4*test.took+20*time.Second); err != nil {
				m.Status, m.Killed = "killed", s.dir+"."+test.name
				return nil
			}
		}
	}
	return nil
}

// suite builds the tests of a suite and runs each without a mutant, once. The cheapest come first.
func (r *runner) suite(s suite) (*suite, error) {
	key := s.dir + " " + s.run
	if built := r.suites[key]; built != nil {
		return built, nil
	}
	built := &s
	r.suites[key] = built
	binary := filepath.Join(r.dir, strings.ReplaceAll(s.dir, "/", "-")+".test")
	build := exec.Command("go", "test", "-c", "-vet=off", "-overlay", r.overlay, "-o", binary, "./"+s.dir)
	build.Dir, build.Stderr = r.root, os.Stderr
	if err := build.Run(); err != nil {
		return nil, fmt.Errorf("%s: %w", s.dir, err)
	}
	if _, err := os.Stat(binary); err != nil { // a package without tests
		return built, nil
	}
	built.binary = binary
	names := exec.Command(binary, "-test.list", s.run)
	names.Dir = filepath.Join(r.root, s.dir)
	out, err := names.Output()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", s.dir, err)
	}
	for _, name := range strings.Fields(string(out)) {
		if !strings.HasPrefix(name, "Test") && !strings.HasPrefix(name, "Fuzz") && !strings.HasPrefix(name, "Example") {
			continue
		}
		t := test{name: name, reached: map[int]bool{}}
		began := time.Now()
		if err := r.test(built, name, -1, 10*time.Minute); err != nil {
			return nil, fmt.Errorf("%s: %s fails without a mutant: %w", s.dir, name, err)
		}
		t.took = time.Since(began)
		marks, err := os.ReadFile(r.marks())
		if err != nil {
			return nil, err
		}
		for _, m := range r.chosen {
			if marks[m.ID] != 0 {
				t.reached[m.ID] = true
			}
		}
		if len(t.reached) > 0 {
			built.tests = append(built.tests, t)
		}
	}
	slices.SortStableFunc(built.tests, func(a, b test) int { return cmp.Compare(a.took, b.took) })
	return built, nil
}

func (r *runner) marks() string { return filepath.Join(r.dir, "marks") }

// test runs one test of a suite. An error means that it failed, or did not end in time.
func (r *runner) test(s *suite, name string, id int, limit time.Duration) error {
	if err := os.WriteFile(r.marks(), make([]byte, r.count), 0o666); err != nil {
		return err
	}
	ctx, stop := context.WithTimeout(context.Background(), limit)
	defer stop()
	cmd := exec.CommandContext(ctx, s.binary, "-test.run", "^"+name+"$", "-test.short", "-test.failfast", "-test.timeout", limit.String())
	cmd.Dir = filepath.Join(r.root, s.dir)
	cmd.Env = append(os.Environ(), "MUTANT="+strconv.Itoa(id), "REACHED="+r.marks(), "GOMEMLIMIT=2GiB")
	out, err := cmd.CombinedOutput()
	if err != nil && id < 0 {
		return fmt.Errorf("%w\n%s", err, out[max(0, len(out)-4000):])
	}
	return err
}

// report prints a table by package and what survived. It fails if a package is below its floor.
func report(list []*mutant, floors string) error {
	least, err := readFloors(floors)
	if err != nil {
		return err
	}
	total, killed := map[string]int{}, map[string]int{}
	for _, m := range list {
		if m.Status == "" {
			continue // there was no time for it
		}
		pkg := strings.TrimPrefix(m.Package, module+"/")
		total[pkg]++
		if m.Status == "killed" {
			killed[pkg]++
		}
	}
	all, dead := 0, 0
	fmt.Printf("%-28s %8s %7s\n", "package", "mutants", "killed")
	for _, pkg := range slices.Sorted(maps.Keys(total)) {
		share := 100 * float64(killed[pkg]) / float64(total[pkg])
		fmt.Printf("%-28s %8d %6.0f%%\n", pkg, total[pkg], share)
		all, dead = all+total[pkg], dead+killed[pkg]
		// A sample of a few says little: its floor is met if the share could be by chance.
		if slack := 100 / float64(total[pkg]); share+2*slack < least[pkg] {
			err = errors.Join(err, fmt.Errorf("%s: %.0f %% are killed, and its floor is %.0f %%", pkg, share, least[pkg]))
		}
	}
	fmt.Printf("%-28s %8d %6.0f%%\n", "all", all, 100*float64(dead)/float64(max(1, all)))
	for _, m := range list {
		if m.Status != "killed" && m.Status != "" {
			fmt.Printf("%s\t%s:%d\t%s\t%s\n", m.Status, m.File, m.Line, m.Operator, m.Change)
		}
	}
	return err
}

func readFloors(path string) (map[string]float64, error) {
	least := map[string]float64{}
	if path == "" {
		return least, nil
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		line := strings.TrimSpace(lines.Text())
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		pkg, share, ok := strings.Cut(line, " ")
		n, err := strconv.ParseFloat(strings.TrimSpace(share), 64)
		if !ok || err != nil {
			return nil, fmt.Errorf("%s: a line is a package, a space and a share in percent: %s", path, line)
		}
		least[pkg] = n
	}
	return least, nil
}
