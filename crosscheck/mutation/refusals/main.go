// Command refusals lists the places that refuse a file, and which of them no committed file
// reaches. A place is a statement that makes an error of a class. It is reached if a recipe or
// a seed of the corpus, read by the tests that read them all, runs it.
//
//	go run ./refusals -root ../..              a table by package, and the places that are not reached
//	go run ./refusals -root ../.. -known FILE  the same, which fails if a place is not reached and not listed in FILE
//	go run ./refusals -root ../.. -suite quant  what the files that one package's tests read reach
//	go run ./refusals -root ../.. -which       each place with the first recipe that reaches it; minutes
//	go run ./refusals -root ../.. -dropped 6   drops six refusals of each package, one at a time, and counts which its fuzz target notices by its seeds
package main

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"flag"
	"fmt"
	"go/ast"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/anamnesis-go/anamnesis/crosscheck/mutation/source"
)

const module = "github.com/anamnesis-go/anamnesis"

// packages are those that judge or read files of strangers.
var packages = []string{
	"./parser/...", "./vm", "./gate", "./quant/...", "./digest", "./internal/wire", "./internal/strictjson", "./internal/jsontree", "./internal/config", "./internal/scheme",
	"./internal/polyglot", "./internal/unpack", "./internal/bzip2", "./internal/lzma", "./internal/protobuf", "./internal/hdf5", "./internal/sidecar", "./internal/jinja", "./internal/form",
}

// A suite is the tests of a package that read committed files.
type suite struct{ dir, run string }

var corpusSuites = []suite{
	{"fuzz", "^(TestEachHostileFileEndsWithItsClassAndOffset|TestEachHonestFileIsReadWhole)$"},
	{"gate", "Recipes|Honest|Folders|TheCorpus"},
	{"quant", "^TestEachQuantizedModelOfTheTablesIsRefused$"},
}

// allSuites are every test of the packages that read files, and of those above them.
var allSuites = []suite{
	{"fuzz", "."}, {"gate", "."}, {"parser", "."}, {"vm", "."}, {"quant", "."}, {"convert", "."}, {"cli", "."}, {"digest", "."},
	{"internal/polyglot", "."}, {"internal/unpack", "."}, {"internal/bzip2", "."}, {"internal/lzma", "."}, {"parser/onnx", "."}, {"internal/hdf5", "."}, {"internal/sidecar", "."}, {"internal/jinja", "."}, {"internal/config", "."}, {"internal/scheme", "."}, {"internal/form", "."}, {"internal/strictjson", "."}, {"internal/wire", "."},
	{"parser/gguf", "."}, {"parser/npy", "."}, {"parser/npz", "."}, {"parser/pth", "."}, {"parser/safetensors", "."}, {"parser/zip", "."}, {"parser/tensor", "."},
}

func main() {
	root := flag.String("root", ".", "folder of the module")
	known := flag.String("known", "", "file with places that need not be reached: file, tab, text of the line, tab, reason")
	tests := flag.Bool("tests", false, "count what any test reaches, not only what the corpus does")
	which := flag.Bool("which", false, "name the recipe that reaches each place")
	only := flag.String("suite", "", "run the tests of this package alone")
	asJSON := flag.Bool("json", false, "print all places as JSON")
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
	if err := run(*root, *known, *only, *tests, *which, *asJSON); err != nil {
		fmt.Fprintln(os.Stderr, "refusals:", err)
		os.Exit(1)
	}
}

func run(root, known, only string, tests, which, asJSON bool) error {
	root, err := filepath.Abs(root)
	if err != nil {
		return err
	}
	list, err := source.Load(root, packages...)
	if err != nil {
		return err
	}
	var all []*place
	for _, p := range list {
		places(p, func(f *source.File, at ast.Stmt) {
			f.Before(at.Pos(), fmt.Sprintf("reached.At(%d); ", len(all)))
			all = append(all, &place{Package: strings.TrimPrefix(p.Path, module+"/"), File: f.Name, Line: f.Line(at.Pos()), Text: f.LineText(at.Pos())})
		})
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
	suites := corpusSuites
	if tests {
		suites = allSuites
	}
	for _, s := range suites {
		if only != "" && s.dir != only {
			continue
		}
		if err := s.measure(root, dir, overlay, all, which); err != nil {
			return fmt.Errorf("%s: %w", s.dir, err)
		}
	}
	if asJSON {
		return json.NewEncoder(os.Stdout).Encode(all)
	}
	return report(all, known)
}

// reached is the package that the places call: a byte a place, in a file that outlives the
// process and its children.
const reached = `package reached

import (
	"os"
	"syscall"
)

var seen = make([]byte, %d)

func init() {
	f, err := os.OpenFile(os.Getenv("REACHED"), os.O_RDWR, 0)
	if err != nil {
		return
	}
	defer f.Close()
	if shared, err := syscall.Mmap(int(f.Fd()), 0, len(seen), syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_SHARED); err == nil {
		seen = shared
	}
}

func At(n int) { seen[n] = 1 }
`

// measure builds the tests of a suite with the overlay, runs them, and marks what they reach.
func (s *suite) measure(root, dir, overlay string, all []*place, which bool) error {
	binary := filepath.Join(dir, strings.ReplaceAll(s.dir, "/", "-")+".test")
	build := exec.Command("go", "test", "-c", "-vet=off", "-overlay", overlay, "-o", binary, "./"+s.dir)
	build.Dir, build.Stderr = root, os.Stderr
	if err := build.Run(); err != nil {
		return err
	}
	if _, err := os.Stat(binary); err != nil { // a package without tests
		return nil
	}
	mark := func(run, by string) error {
		marks := filepath.Join(dir, "marks")
		if err := os.WriteFile(marks, make([]byte, len(all)), 0o666); err != nil {
			return err
		}
		cmd := exec.Command(binary, "-test.run", run)
		cmd.Dir, cmd.Env = filepath.Join(root, s.dir), append(os.Environ(), "REACHED="+marks)
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("%s: %w\n%s", run, err, tail(out))
		}
		body, err := os.ReadFile(marks)
		if err != nil {
			return err
		}
		for i, p := range all {
			if body[i] != 0 {
				p.Reached, p.By = true, cmp.Or(p.By, by)
			}
		}
		return nil
	}
	if !which {
		return mark(s.run, "")
	}
	out, err := s.names(root, binary)
	if err != nil {
		return err
	}
	for _, name := range out {
		var exact []string
		for part := range strings.SplitSeq(name, "/") {
			exact = append(exact, "^"+quoteMeta(part)+"$")
		}
		if err := mark(strings.Join(exact, "/"), name); err != nil {
			return err
		}
	}
	return nil
}

// names lists the subtests of a suite that have no subtests.
func (s *suite) names(root, binary string) ([]string, error) {
	cmd := exec.Command(binary, "-test.run", s.run, "-test.v")
	cmd.Dir = filepath.Join(root, s.dir)
	out, err := cmd.Output()
	if err != nil {
		return nil, err
	}
	var list []string
	for lines := bufio.NewScanner(bytes.NewReader(out)); lines.Scan(); {
		if name, ok := strings.CutPrefix(lines.Text(), "=== RUN   "); ok {
			list = append(list, name)
		}
	}
	return slices.DeleteFunc(slices.Clone(list), func(name string) bool {
		return slices.ContainsFunc(list, func(other string) bool { return strings.HasPrefix(other, name+"/") })
	}), nil
}

func quoteMeta(s string) string {
	return strings.NewReplacer(`\`, `\\`, ".", `\.`, "+", `\+`, "*", `\*`, "?", `\?`, "(", `\(`, ")", `\)`, "[", `\[`, "]", `\]`, "|", `\|`, "^", `\^`, "$", `\$`).Replace(s)
}

func tail(out []byte) []byte { return out[max(0, len(out)-4000):] }

// report prints the table and the places that nothing reaches. It fails if one of them is not
// among the known, or if a known one is reached or gone.
func report(all []*place, known string) error {
	excused, err := source.ReadReasons(known)
	if err != nil {
		return err
	}
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
		key := p.File + "\t" + p.Text
		if excused[key] > 0 {
			excused[key]--
		} else {
			fresh = append(fresh, p)
		}
	}
	fmt.Printf("%-28s %7s %8s\n", "package", "places", "reached")
	for _, n := range names {
		fmt.Printf("%-28s %7d %7.0f%%\n", n, sums[n].places, 100*float64(sums[n].reached)/float64(sums[n].places))
	}
	fmt.Printf("%-28s %7d %7.1f%%\n", "all", len(all), 100*float64(len(all)-len(missing))/float64(len(all)))
	if known == "" {
		fresh = missing
	}
	for _, p := range fresh {
		fmt.Printf("%s:%d\t%s\n", p.File, p.Line, p.Text)
	}
	for key, n := range excused {
		if n > 0 {
			fmt.Printf("listed in %s, and reached or gone: %s\n", known, key)
			err = fmt.Errorf("%s has places that need not be listed", known)
		}
	}
	if known != "" && len(fresh) > 0 {
		return fmt.Errorf("%d places refuse a file, and no committed file reaches them: add a recipe, or a line to %s with the reason", len(fresh), known)
	}
	return err
}
