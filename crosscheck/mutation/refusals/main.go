// Command refusals lists the places that refuse a file, and which of them no committed file
// reaches. A place is a statement that makes an error of a class. It is reached if a recipe or
// a seed of the corpus, read by the tests that read them all, runs it.
//
//	go run ./refusals -root ../..              a table by package, and the places that are not reached
//	go run ./refusals -root ../.. -known FILE  the same, which fails if a place is not reached and not listed in FILE
//	go run ./refusals -root ../.. -suite quant  what the files that one package's tests read reach
//	go run ./refusals -root ../.. -programs     packages that are given more than a file, by the cases of their tests
//	go run ./refusals -root ../.. -which FILE  writes each place with the first file of the corpus that reaches it
//	go run ./refusals -root ../.. -known FILE -reasons  runs the tests that the reasons of FILE name, which have to reach their places
//	go run ./refusals -root ../.. -dropped 6   drops six refusals of each package, one at a time, and counts which its fuzz target notices by its seeds
package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"go/ast"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/anamnesis-go/anamnesis/crosscheck/mutation/source"
)

const module = "github.com/anamnesis-go/anamnesis"

// packages are those that judge or read files of strangers.
var packages = []string{
	"./parser/...", "./vm", "./gate", "./quant/...", "./digest", "./internal/wire", "./internal/strictjson", "./internal/jsontree", "./internal/config", "./internal/scheme",
	"./internal/polyglot", "./internal/unpack", "./internal/bzip2", "./internal/lzma", "./internal/protobuf", "./internal/flatbuffers", "./internal/narrow", "./internal/torchcode", "./parser/hdf5", "./internal/sidecar", "./internal/jinja", "./internal/form",
}

// programs are those that are given more than one file: a folder, a plan, options, a request. For
// them a case of a test counts as a file does.
var programs = []string{
	"./convert/...", "./internal/family/...", "./internal/tokenizer", "./internal/model", "./internal/encode", "./internal/msgpack", "./internal/folder", "./internal/elements", "./internal/spool",
	"./merge/...", "./compare", "./stats", "./limits", "./gate/attest", "./gate/bom", "./gate/clamd", "./gate/handler", "./gate/host", "./gate/page", "./gate/receipt", "./gate/report",
}

// A suite is the tests of a package that read committed files, one in each subtest.
type suite struct {
	dir, run string
	cases    bool // a program's own tests
}

var corpusSuites = []suite{
	{dir: "fuzz", run: "^(TestEachHostileFileEndsWithItsClassAndOffset|TestEachHonestFileIsReadWhole)$"},
	{dir: "gate", run: "^(TestRecipesOfTheGate|TestRecipesThatArriveAreRefusedByTheSameRule|TestReasonsNameRecipes|TestTheCorpusIsRefusedByRulesThatAreListed|TestFoldersWithALivePickleFail)$"},
	{dir: "quant", run: "^TestEachQuantizedModelOfTheTablesIsRefused$"},
	{dir: "quant/onnx", run: "^TestGraphsSayHowCodesAreRead$"},
}

// caseSuites are the tests of the programs: those of their own packages, and those of the programs
// that use them.
func caseSuites() (list []suite) {
	for _, dir := range []string{
		"internal/tokenizer", "internal/family", "internal/model", "internal/encode", "internal/msgpack", "internal/folder", "internal/elements", "internal/spool", "convert", "convert/forms", "merge", "merge/lora",
		"compare", "stats", "limits", "gate/attest", "gate/bom", "gate/clamd", "gate/handler", "gate/host", "gate/page", "gate/receipt", "gate/report",
	} {
		list = append(list, suite{dir: dir, run: ".", cases: true})
	}
	return list
}

func main() {
	root := flag.String("root", ".", "folder of the module")
	known := flag.String("known", "", "file with places that need not be reached: file, tab, text of the line, tab, reason")
	reasons := flag.Bool("reasons", false, "run the tests that the reasons name")
	which := flag.String("which", "", "file to which each place is written, with the subtest that reaches it first")
	only := flag.String("suite", "", "run the tests of this package alone")
	asJSON := flag.Bool("json", false, "print all places as JSON")
	cases := flag.Bool("programs", false, "measure the packages that are given more than a file, by the cases of their tests too")
	drop := flag.Int("dropped", -1, "drop so many refusals of each package (0: all), and count which its fuzz target notices by its seeds alone")
	seed := flag.String("seed", "", "what the sample of -dropped depends on")
	flag.Parse()
	if *drop >= 0 {
		if err := noticed(*root, *drop, *seed, flag.Args()); err != nil {
			fmt.Fprintln(os.Stderr, "refusals:", err)
			os.Exit(1)
		}
		return
	}
	if err := run(*root, *known, *only, *which, *reasons, *asJSON, *cases); err != nil {
		fmt.Fprintln(os.Stderr, "refusals:", err)
		os.Exit(1)
	}
}

func run(root, known, only, which string, reasons, asJSON, cases bool) error {
	root, err := filepath.Abs(root)
	if err != nil {
		return err
	}
	measured := packages
	if cases {
		measured = programs
	}
	list, err := source.Load(root, measured...)
	if err != nil {
		return err
	}
	var all []*place
	for _, p := range list {
		internal := internalErrors(p)
		places(p, func(f *source.File, at ast.Stmt) {
			f.Before(at.Pos(), fmt.Sprintf("reached.At(%d); ", len(all)))
			all = append(all, &place{
				Package: strings.TrimPrefix(p.Path, module+"/"), File: f.Name, Line: f.Line(at.Pos()), Text: f.LineText(at.Pos()), Internal: internal(f, at),
			})
		})
	}
	excused, err := readKnown(known)
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "refusals")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	overlay, err := source.Overlay(root, module, dir, "reached", fmt.Sprintf(reached, len(all)), list)
	if err != nil {
		return err
	}
	if reasons {
		return checkReasons(root, dir, overlay, all, excused)
	}
	suites := corpusSuites
	if cases {
		suites = caseSuites()
	}
	for _, s := range suites {
		if only != "" && s.dir != only {
			continue
		}
		if err := s.measure(root, dir, overlay, all); err != nil {
			return fmt.Errorf("%s: %w", s.dir, err)
		}
	}
	if which != "" {
		if err := writePlaces(which, all); err != nil {
			return err
		}
	}
	if asJSON {
		return json.NewEncoder(os.Stdout).Encode(all)
	}
	return report(all, excused)
}

// reached is the package that the places call: a byte a place, in a file that outlives the
// process and its children. The first time that the process itself comes to a place, it says so
// on its output, among the names of the tests that run.
const reached = `package reached

import (
	"os"
	"strconv"
	"syscall"
)

var (
	seen = make([]byte, %d)
	says = os.Getenv("REACHED_SAYS") != ""
)

func init() {
	os.Unsetenv("REACHED_SAYS") // what a child writes is read by its parent
	f, err := os.OpenFile(os.Getenv("REACHED"), os.O_RDWR, 0)
	if err != nil {
		return
	}
	defer f.Close()
	if shared, err := syscall.Mmap(int(f.Fd()), 0, len(seen), syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_SHARED); err == nil {
		seen = shared
	}
}

func At(n int) {
	if seen[n] != 0 {
		return
	}
	seen[n] = 1
	if says {
		syscall.Write(1, []byte("\n=== REACHED "+strconv.Itoa(n)+"\n"))
	}
}
`

// build makes the tests of a package with the overlay; "" if it has none.
func build(root, dir, overlay, pkg string) (string, error) {
	binary := filepath.Join(dir, strings.ReplaceAll(pkg, "/", "-")+".test")
	cmd := exec.Command("go", "test", "-c", "-vet=off", "-overlay", overlay, "-o", binary, "./"+pkg)
	cmd.Dir, cmd.Stderr = root, os.Stderr
	if err := cmd.Run(); err != nil {
		return "", err
	}
	if _, err := os.Stat(binary); err != nil {
		return "", nil
	}
	return binary, nil
}

// marks runs tests of a package and returns a byte for each place, 1 if it was reached, and by
// which test it was reached first.
func marks(root, dir, binary, pkg, run string, places int) (seen []byte, by map[int]string, err error) {
	path := filepath.Join(dir, "marks")
	if err := os.WriteFile(path, make([]byte, places), 0o666); err != nil {
		return nil, nil, err
	}
	cmd := exec.Command(binary, "-test.run", run, "-test.v")
	cmd.Dir, cmd.Env = filepath.Join(root, pkg), append(os.Environ(), "REACHED="+path, "REACHED_SAYS=1")
	out, failed := cmd.CombinedOutput()
	if failed != nil {
		failed = fmt.Errorf("%s: %w\n%s", run, failed, tail(out))
	}
	seen, err = os.ReadFile(path)
	return seen, reachedBy(out), errors.Join(failed, err)
}

// reachedBy reads what a test says on its output.
func reachedBy(out []byte) map[int]string {
	by, test := map[int]string{}, ""
	for line := range strings.Lines(string(out)) {
		line = strings.TrimSuffix(line, "\n")
		for _, begin := range []string{"=== RUN   ", "=== CONT  ", "=== NAME  "} {
			if name, ok := strings.CutPrefix(line, begin); ok {
				test = name
			}
		}
		if text, ok := strings.CutPrefix(line, "=== REACHED "); ok {
			if n, err := strconv.Atoi(text); err == nil {
				by[n] = test
			}
		}
	}
	return by
}

// measure builds the tests of a suite with the overlay, runs them, and marks what they reach.
func (s *suite) measure(root, dir, overlay string, all []*place) error {
	binary, err := build(root, dir, overlay, s.dir)
	if err != nil || binary == "" {
		return err
	}
	seen, by, err := marks(root, dir, binary, s.dir, s.run, len(all))
	if len(seen) == 0 || err != nil && !s.cases {
		return err
	}
	if err != nil {
		// A test may count what a program allocates, which is another number with the places in it.
		fmt.Fprintf(os.Stderr, "a test fails in this program: %s: %v\n", s.dir, err)
	}
	for i, p := range all {
		if seen[i] != 0 && !p.Reached {
			p.Reached, p.By = true, s.dir+"."+by[i]
		}
	}
	return nil
}

// writePlaces writes the places with what reaches them.
func writePlaces(path string, all []*place) error {
	var out strings.Builder
	for _, p := range all {
		fmt.Fprintf(&out, "%s:%d\t%s\t%s\n", p.File, p.Line, cmp.Or(p.By, "no file"), p.Text)
	}
	return os.WriteFile(path, []byte(out.String()), 0o666)
}

func tail(out []byte) []byte { return out[max(0, len(out)-4000):] }

// report prints the table and the places that nothing reaches. It fails if one of them is not
// among the known, or if a known one is reached or gone.
func report(all []*place, excused *known) error {
	type sum struct{ places, reached int }
	sums, names := map[string]*sum{}, []string{}
	var missing, fresh []*place
	for _, p := range all {
		s := sums[p.Package]
		if s == nil {
			s = &sum{}
			sums[p.Package], names = s, append(names, p.Package)
		}
		s.places++
		if p.Reached {
			s.reached++
			continue
		}
		missing = append(missing, p)
		if excused.take(p) == nil {
			fresh = append(fresh, p)
		}
	}
	fmt.Printf("%-28s %7s %8s\n", "package", "places", "reached")
	for _, n := range names {
		fmt.Printf("%-28s %7d %7.0f%%\n", n, sums[n].places, 100*float64(sums[n].reached)/float64(sums[n].places))
	}
	fmt.Printf("%-28s %7d %7.1f%%\n", "all", len(all), 100*float64(len(all)-len(missing))/float64(len(all)))
	if excused.path == "" {
		fresh = missing
	}
	for _, p := range fresh {
		fmt.Printf("%s:%d\t%s\n", p.File, p.Line, p.Text)
	}
	err := excused.left()
	if excused.path != "" && len(fresh) > 0 {
		return fmt.Errorf("%d places refuse a file, and no committed file reaches them: add a recipe, or a line to %s with the reason", len(fresh), excused.path)
	}
	return errors.Join(err, excused.wrong)
}
