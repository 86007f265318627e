// Command mutants measures what the tests notice: it changes the code in one place, runs the
// tests of the package and those that read the corpus, and counts which changes end in a
// failure.
//
//	go run ./mutants -root ../.. ./vm ./gate           a sample of 30
//	go run ./mutants -root ../.. -n 0 ./parser/npy     all of a package, and what survived
//	go run ./mutants -root ../.. -list ./vm            the places, without running them
//	go run ./mutants -root ../.. -changed -quick -floors FILE  of four of the packages that changed since the last tag; fails below a floor
//	go run ./mutants -root ../.. -operator "charge dropped" ./vm  those of one kind
//	go run ./mutants -root ../.. -n 0 -own -json ./vm > FILE   with the tests of the package alone
//	go run ./mutants -root ../.. -n 0 -again FILE ./vm  those of a run that -json printed which were not killed, after a change of the tests
//	go run ./mutants -root ../.. -table FILE           a sample of each package; writes the table of FILE
//	go run ./mutants -root ../.. -table FILE -from "a.json b.json"  writes the rows of runs that -json printed
//
// All mutants are in one program, which is built once; an environment variable chooses one. Each
// runs the tests that reach it, one at a time, until one fails.
package main

import (
	"cmp"
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
	"strings"
	"time"

	"github.com/anamnesis-go/anamnesis/crosscheck/mutation/source"
)

const module = "github.com/anamnesis-go/anamnesis"

// packages are those whose tests are measured.
var packages = []string{
	"./limits", "./parser/...", "./vm", "./gate", "./gate/host", "./quant/...", "./digest", "./convert", "./merge/...", "./compare", "./stats", "./internal/wire", "./internal/strictjson", "./internal/jsontree",
	"./internal/config", "./internal/polyglot", "./internal/unpack", "./internal/bzip2", "./internal/lzma", "./parser/hdf5", "./internal/sidecar", "./internal/folder", "./internal/torchcode", "./internal/jinja", "./internal/form",
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
	flag.BoolVar(&o.changed, "changed", false, "take packages that changed since the last tag, or with the last commits: four, drawn by the seed")
	flag.BoolVar(&o.quick, "quick", false, "of the tests of other packages take only the quick ones that read the corpus")
	flag.BoolVar(&o.own, "own", false, "run no tests of other packages")
	flag.StringVar(&o.again, "again", "", "file that -json printed: take the mutants of it that were not killed")
	flag.StringVar(&o.known, "known", "", "file with equivalent mutants: file, tab, change, tab, reason")
	flag.StringVar(&o.operator, "operator", "", "take mutants of this kind alone")
	flag.DurationVar(&o.within, "within", 0, "begin no mutant after this time; 0 is no bound")
	flag.StringVar(&o.table, "table", "", "document whose table is written: a sample of each package")
	flag.StringVar(&o.from, "from", "", "with -table: files that -json printed, whose rows are written; nothing is run")
	flag.Parse()
	o.patterns = flag.Args()
	if err := o.run(); err != nil {
		fmt.Fprintln(os.Stderr, "mutants:", err)
		os.Exit(1)
	}
}

type options struct {
	root, seed, floors, known, operator, table, from, again string
	count                                                   int
	within                                                  time.Duration
	list, json, changed, quick, own                         bool
	patterns                                                []string
}

func (o *options) run() error {
	var err error
	if o.root, err = filepath.Abs(o.root); err != nil {
		return err
	}
	if o.seed == "" {
		// Sources without a history have the same sample each time.
		o.seed, _ = git(o.root, "rev-parse", "HEAD^{tree}")
	}
	switch {
	case o.changed:
		if o.patterns, err = changed(o.root, o.seed); err != nil {
			return err
		}
		if len(o.patterns) == 0 {
			fmt.Println("no package whose tests are measured has changed")
			return nil
		}
	case len(o.patterns) == 0:
		o.patterns = packages
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
	return report(os.Stdout, chosen, o.floors)
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
	if o.again != "" {
		left, err := leftOf(o.again)
		if err != nil {
			return nil, nil, err
		}
		chosen = slices.DeleteFunc(chosen, func(m *mutant) bool { return !left[m.key()] })
	}
	if o.count > 0 {
		chosen = sampleEach(chosen, o.count, o.seed)
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

// recentCommits is how many commits count as a change where no tag says since when.
const recentCommits = "30"

// drawn is how many of the changed packages a sample is of: the tests of each have to be built
// and run once without a mutant.
const drawn = 4

// changed draws some of the measured packages whose code, tests apart, has changed.
func changed(root, seed string) ([]string, error) {
	names, since := changedFiles(root)
	measured, err := source.Load(root, packages...)
	if err != nil {
		return nil, err
	}
	touched := map[string]bool{}
	for name := range strings.Lines(names) {
		if name = strings.TrimSpace(name); strings.HasSuffix(name, ".go") && !strings.HasSuffix(name, "_test.go") {
			touched[module+"/"+filepath.ToSlash(filepath.Dir(name))] = true
		}
	}
	var list []string
	for _, p := range measured {
		if touched[p.Path] || names == "" {
			list = append(list, "./"+strings.TrimPrefix(p.Path, module+"/"))
		}
	}
	of := len(list)
	random := rand.New(rand.NewPCG(number(seed), 3))
	random.Shuffle(of, func(i, j int) { list[i], list[j] = list[j], list[i] })
	list = list[:min(of, drawn)]
	slices.Sort(list)
	fmt.Printf("changed since %s: %d packages whose tests are measured; drawn: %s\n", since, of, strings.Join(list, " "))
	return list, nil
}

// changedFiles names the files that have changed since the commit that the last tag and this one
// have in common, or with the last commits if there is none between or no tag; and since when.
// Without a history it names nothing.
func changedFiles(root string) (names, since string) {
	if tag, err := git(root, "describe", "--tags", "--abbrev=0"); err == nil && tag != "" {
		if base, err := git(root, "merge-base", "HEAD", tag); err == nil {
			if names, err := git(root, "diff", "--name-only", base, "HEAD"); err == nil && names != "" {
				return names, tag
			}
		}
	}
	names, err := git(root, "log", "-n", recentCommits, "--name-only", "--format=")
	if err != nil || names == "" {
		return "", "ever: no history"
	}
	return names, "the " + recentCommits + " last commits"
}

// number is what a seed is to a generator.
func number(seed string) uint64 {
	h := fnv.New64a()
	io.WriteString(h, seed)
	return h.Sum64()
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
	own := map[string]*source.File{}
	for _, f := range p.Files {
		own[f.Path] = f
	}
	for _, name := range p.Built {
		name := filepath.Join(p.Dir, name)
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
	_, err := conf.Check(p.Path, set, files, info)
	return info, err
}

// sampleEach chooses mutants of each package, so that all have the same number or all their mutants.
func sampleEach(all []*mutant, n int, seed string) []*mutant {
	byPackage := map[string][]*mutant{}
	for _, m := range all {
		byPackage[m.Package] = append(byPackage[m.Package], m)
	}
	names := slices.Sorted(maps.Keys(byPackage))
	slices.SortStableFunc(names, func(a, b string) int { return cmp.Compare(len(byPackage[a]), len(byPackage[b])) })
	var chosen []*mutant
	for i, name := range names {
		some := sample(byPackage[name], (n-len(chosen))/(len(names)-i), seed+name)
		chosen = append(chosen, some...)
	}
	random := rand.New(rand.NewPCG(number(seed), 4))
	random.Shuffle(len(chosen), func(i, j int) { chosen[i], chosen[j] = chosen[j], chosen[i] })
	return chosen
}

// sample chooses mutants, the same for the same seed: by turns of the operators, so that a
// rare one is not left out.
func sample(all []*mutant, n int, seed string) []*mutant {
	random := rand.New(rand.NewPCG(number(seed), 1))
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
