package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"
)

// A score is what became of the mutants of a package.
type score struct{ run, killed int }

// improbable is how seldom a sample may be below its floor by chance: of a package whose share
// is just the floor, once in ten thousand samples.
const improbable = 1e-4

// below reports whether a score is too low to be a sample of a package with at least this share.
func (s score) below(percent float64) bool {
	p := percent / 100
	if s.run == 0 || p <= 0 {
		return false
	}
	if p >= 1 {
		return s.killed < s.run
	}
	sum := 0.0
	for k := range s.killed + 1 {
		all, _ := math.Lgamma(float64(s.run + 1))
		killed, _ := math.Lgamma(float64(k + 1))
		left, _ := math.Lgamma(float64(s.run - k + 1))
		sum += math.Exp(all - killed - left + float64(k)*math.Log(p) + float64(s.run-k)*math.Log1p(-p))
	}
	return sum < improbable
}

func (s score) share() float64 { return 100 * float64(s.killed) / float64(max(1, s.run)) }

// report prints a table by package and what survived. It fails if a package is below its floor,
// or all of them together are below theirs.
func report(out io.Writer, list []*mutant, floors string) error {
	least, err := readFloors(floors)
	if err != nil {
		return err
	}
	scores := map[string]score{}
	for _, m := range list {
		if m.Status == "" {
			continue // there was no time for it
		}
		for _, name := range []string{strings.TrimPrefix(m.Package, module+"/"), "all"} {
			s := scores[name]
			s.run++
			if m.Status == "killed" {
				s.killed++
			}
			scores[name] = s
		}
	}
	names := slices.DeleteFunc(slices.Sorted(maps.Keys(scores)), func(name string) bool { return name == "all" })
	fmt.Fprintf(out, "%-28s %8s %7s\n", "package", "mutants", "killed")
	for _, name := range append(names, "all") {
		s := scores[name]
		fmt.Fprintf(out, "%-28s %8d %6.0f%%\n", name, s.run, s.share())
		if s.below(least[name]) {
			err = errors.Join(err, fmt.Errorf("%s: %d of %d are killed, too few for a sample of a package with %.0f %%", name, s.killed, s.run, least[name]))
		}
	}
	for _, m := range list {
		if m.Status != "killed" && m.Status != "" {
			fmt.Fprintf(out, "%s\t%s:%d\t%s\t%s\n", m.Status, m.File, m.Line, m.Operator, m.Change)
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
