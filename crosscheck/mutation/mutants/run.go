package main

import (
	"cmp"
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/anamnesis-go/anamnesis/crosscheck/mutation/source"
)

// A suite is the tests of a package that match a pattern.
type suite struct {
	dir, run string

	once  sync.Once
	err   error
	tests []test // those that reach a mutant of the sample, the cheapest first
}

type test struct {
	name    string
	reached map[int]bool
	took    time.Duration // of a processor, without a mutant
}

// corpusSuites are those that judge and read whole files, whatever the package. The sample of
// CI leaves out what takes longest.
var (
	corpusSuites = [][2]string{
		{"fuzz", "^(TestEachHostileFileEndsWithItsClassAndOffset|TestEachHonestFileIsReadWhole|TestEveryPlaceThatChargesIsReached|TestChargesAreThoseOfTheModel|TestSecondReaders.*)$"},
		{"gate", "Recipes|TheCorpus|Verdicts|Streams"},
	}
	quickSuites = [][2]string{
		{"fuzz", "^(TestEachHostileFileEndsWithItsClassAndOffset|TestEachHonestFileIsReadWhole)$"},
		{"gate", "^TestRecipesOfTheGate$"},
	}
)

// more are further suites for some packages.
var more = map[string][]string{
	"quant": {"quant"}, "convert": {"convert", "cli"}, "merge": {"merge", "cli"}, "internal/form": {"quant", "convert"}, "internal/family": {"convert", "cli"}, "internal/tokenizer": {"internal/family", "convert"},
	"internal/config": {"quant"}, "internal/scheme": {"quant"}, "quant/bnb": {"quant", "convert"}, "internal/jsontree": {"internal/tokenizer", "internal/family", "merge"}, "digest": {"cli"}, "compare": {"cli"}, "stats": {"cli"}, "parser": {"parser", "cli"}, "limits": {"parser", "internal/wire"},
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
	if reached[n] == 0 {
		reached[n] = 1
	}
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
	quick, own         bool

	sync.Mutex
	suites map[string]*suite
	built  map[string]string // by folder, the program of its tests, "" if it has none
}

// runAll runs the sample. Mutants that were not begun in time, and those of which the machine
// could not tell, have no status afterwards.
func (o *options) runAll(list []*source.Package, chosen []*mutant) error {
	dir, err := os.MkdirTemp("", "mutants")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	r := runner{root: o.root, dir: dir, chosen: chosen, quick: o.quick, own: o.own, suites: map[string]*suite{}, built: map[string]string{}}
	for _, m := range chosen {
		r.count = max(r.count, m.ID+1)
	}
	if r.overlay, err = source.Overlay(o.root, module, dir, "mutant", fmt.Sprintf(mutantPackage, r.count), list); err != nil {
		return err
	}
	began := time.Now()
	var needed []string
	for _, m := range chosen {
		needed = append(needed, r.suitesOf(m)[0].dir)
	}
	if o.quick && !o.own {
		needed = append(needed, "fuzz", "gate")
	}
	if err := r.build(needed); err != nil {
		return err
	}
	fmt.Fprintf(os.Stderr, "built in %.0f s\n", time.Since(began).Seconds())
	return r.judgeAll(o.within, began)
}

// judgeAll runs two mutants at a time.
func (r *runner) judgeAll(within time.Duration, began time.Time) error {
	work, results := make(chan *mutant), make(chan error)
	for range workers {
		go func() {
			var err error
			for m := range work {
				if err == nil && (within == 0 || time.Since(began) < within) {
					err = r.judge(m)
				}
			}
			results <- err
		}()
	}
	for _, m := range r.chosen {
		work <- m
	}
	close(work)
	var first error
	for range workers {
		first = cmp.Or(first, <-results)
	}
	if ran := count(r.chosen, func(m *mutant) bool { return m.Status != "" }); ran < len(r.chosen) {
		fmt.Printf("after %.0f s: %d of %d mutants were run\n", time.Since(began).Seconds(), ran, len(r.chosen))
	}
	return first
}

func count(list []*mutant, is func(*mutant) bool) (n int) {
	for _, m := range list {
		if is(m) {
			n++
		}
	}
	return n
}

// workers is how many tests run at a time.
const workers = 2

// suitesOf returns the suites that may notice a mutant: first its own package's.
func (r *runner) suitesOf(m *mutant) (list []*suite) {
	pkg := strings.TrimPrefix(m.Package, module+"/")
	get := func(dir, run string) {
		r.Lock()
		defer r.Unlock()
		s := r.suites[dir+" "+run]
		if s == nil {
			s = &suite{dir: dir, run: run}
			r.suites[dir+" "+run] = s
		}
		if !slices.Contains(list, s) {
			list = append(list, s)
		}
	}
	get(pkg, ".")
	if r.own {
		return list
	}
	corpus := corpusSuites
	if r.quick {
		corpus = quickSuites
	}
	for _, c := range corpus {
		get(c[0], c[1])
	}
	if r.quick {
		return list
	}
	for prefix, dirs := range more {
		if pkg == prefix || strings.HasPrefix(pkg, prefix+"/") {
			for _, d := range dirs {
				get(d, ".")
			}
		}
	}
	return list
}

// judge runs the suites that reach a mutant until one fails.
func (r *runner) judge(m *mutant) error {
	status := "not reached"
	for _, s := range r.suitesOf(m) {
		if s.once.Do(func() { s.err = r.calibrate(s) }); s.err != nil {
			return s.err
		}
		for _, test := range s.tests {
			if !test.reached[m.ID] {
				continue
			}
			switch end, _ := r.test(s, test.name, m.ID, test.took, nil); end {
			case passed:
				status = "survived"
			case undecided:
				fmt.Fprintf(os.Stderr, "the machine is too slow to say what %s.%s does with %s:%d\n", s.dir, test.name, m.File, m.Line)
				return nil
			default:
				m.Status, m.Killed = "killed", s.dir+"."+test.name
				fmt.Fprintf(os.Stderr, "%s %s:%d %s: %s\n", m.Killed, m.File, m.Line, m.Operator, m.Change)
				return nil
			}
		}
	}
	m.Status = status
	fmt.Fprintf(os.Stderr, "%s: %s:%d %s: %s\n", m.Status, m.File, m.Line, m.Operator, m.Change)
	return nil
}

// build makes the programs of the tests of packages, all by one command if their names allow it.
func (r *runner) build(dirs []string) error {
	slices.Sort(dirs)
	dirs = slices.Compact(dirs)
	for len(dirs) > 0 {
		into, err := os.MkdirTemp(r.dir, "tests")
		if err != nil {
			return err
		}
		args := []string{"test", "-c", "-vet=off", "-overlay", r.overlay, "-o", into + "/"}
		bases, later := map[string]string{}, []string(nil)
		for _, d := range dirs {
			if bases[path.Base(d)] != "" {
				later = append(later, d)
				continue
			}
			bases[path.Base(d)] = d
			args = append(args, "./"+d)
		}
		build := exec.Command("go", args...)
		build.Dir, build.Stderr = r.root, os.Stderr
		if err := build.Run(); err != nil {
			return fmt.Errorf("go %s: %w", strings.Join(args, " "), err)
		}
		for base, d := range bases {
			r.built[d] = ""
			if binary := filepath.Join(into, base+".test"); exists(binary) {
				r.built[d] = binary
			}
		}
		dirs = later
	}
	return nil
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// binary returns the program of the tests of a package, which it builds if nobody has.
func (r *runner) binary(dir string) (string, error) {
	r.Lock()
	defer r.Unlock()
	if _, ok := r.built[dir]; !ok {
		if err := r.build([]string{dir}); err != nil {
			return "", err
		}
	}
	return r.built[dir], nil
}

// calibrate runs each test of a suite without a mutant, once.
func (r *runner) calibrate(s *suite) error {
	binary, err := r.binary(s.dir)
	if err != nil || binary == "" {
		return err
	}
	names := exec.Command(binary, "-test.list", s.run)
	names.Dir = filepath.Join(r.root, s.dir)
	out, err := names.Output()
	if err != nil {
		return fmt.Errorf("%s: %w", s.dir, err)
	}
	for _, name := range strings.Fields(string(out)) {
		if !strings.HasPrefix(name, "Test") && !strings.HasPrefix(name, "Fuzz") && !strings.HasPrefix(name, "Example") {
			continue
		}
		t := test{name: name, reached: map[int]bool{}}
		end, took := r.test(s, name, -1, 0, func(marks []byte) {
			for _, m := range r.chosen {
				if marks[m.ID] != 0 {
					t.reached[m.ID] = true
				}
			}
		})
		if end != passed {
			// What a program allocates is not what it allocates with the places of mutants in it.
			fmt.Fprintf(os.Stderr, "left out: %s.%s fails in this program without a mutant\n", s.dir, name)
			continue
		}
		if t.took = took; len(t.reached) > 0 {
			s.tests = append(s.tests, t)
		}
	}
	slices.SortStableFunc(s.tests, func(a, b test) int { return cmp.Compare(a.took, b.took) })
	return nil
}
