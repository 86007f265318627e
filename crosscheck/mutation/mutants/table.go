package main

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/anamnesis-go/anamnesis/crosscheck/mutation/source"
)

// The lines of a document between which its table stands.
const (
	tableBegins = "<!-- mutants: written by make mutants-table -->"
	tableEnds   = "<!-- end of mutants -->"
)

// tabulate measures a sample of each package, and writes the table of a document. A package
// that is not measured this time keeps its row.
func (o *options) tabulate() error {
	body, err := os.ReadFile(o.table)
	if err != nil {
		return err
	}
	before, rest, ok := strings.Cut(string(body), tableBegins)
	old, after, ends := strings.Cut(rest, tableEnds)
	if !ok || !ends {
		return fmt.Errorf("%s has no lines %q and %q", o.table, tableBegins, tableEnds)
	}
	measured, err := source.Load(o.root, packages...)
	if err != nil {
		return err
	}
	rows := map[string]string{}
	for line := range strings.Lines(old) {
		if f := strings.Split(line, "|"); len(f) > 2 && strings.Contains(f[1], "`") {
			rows[strings.Trim(strings.TrimSpace(f[1]), "`")] = line
		}
	}
	write := func() error {
		var out strings.Builder
		out.WriteString("\n| package | mutants run | killed | of charges dropped | survived | not reached | date |\n|---|---|---|---|---|---|---|\n")
		for _, m := range measured {
			out.WriteString(rows[strings.TrimPrefix(m.Path, module+"/")])
		}
		text := before + tableBegins + "\n" + out.String() + "\n" + tableEnds + after
		return os.WriteFile(o.table, []byte(text), 0o666)
	}
	if o.from != "" {
		for _, path := range strings.Fields(o.from) {
			list, err := readRun(path)
			if err != nil {
				return err
			}
			name := strings.TrimPrefix(list[0].Package, module+"/")
			rows[name] = row(name, list)
		}
		return write()
	}
	asked, err := source.Load(o.root, o.patterns...)
	if err != nil {
		return err
	}
	for _, p := range asked {
		name := strings.TrimPrefix(p.Path, module+"/")
		list, chosen, err := o.choose([]string{"./" + name})
		if err != nil {
			return err
		}
		if err := o.runAll(list, chosen); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		rows[name] = row(name, chosen)
		if err := write(); err != nil {
			return err
		}
	}
	return nil
}

// readRun reads the mutants of one package that -json printed.
func readRun(path string) ([]*mutant, error) {
	list, err := readMutants(path)
	for _, m := range list {
		if m.Package != list[0].Package {
			return nil, fmt.Errorf("%s holds mutants of %s and %s", path, list[0].Package, m.Package)
		}
	}
	return list, err
}

// readMutants reads the mutants that -json printed.
func readMutants(path string) (list []*mutant, err error) {
	body, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	for line := range strings.Lines(string(body)) {
		if !strings.HasPrefix(line, "{") {
			continue // how many were run
		}
		m := new(mutant)
		if err := json.Unmarshal([]byte(line), m); err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		list = append(list, m)
	}
	if len(list) == 0 {
		return nil, fmt.Errorf("%s holds no mutants", path)
	}
	return list, nil
}

// key tells a mutant in a program of other tests, or of code that changed elsewhere in its file.
func (m *mutant) key() string {
	return fmt.Sprintf("%s\t%s\t%s\t%s\t%s", m.File, m.Function, m.Operator, m.Text, m.Change)
}

// leftOf returns the keys of the mutants of a run that were not killed.
func leftOf(path string) (map[string]bool, error) {
	list, err := readMutants(path)
	left := map[string]bool{}
	for _, m := range list {
		if m.Status != "killed" {
			left[m.key()] = true
		}
	}
	return left, err
}

// row is the line of a package.
func row(name string, list []*mutant) string {
	run, killed, survived, unreached, charges, noticed := 0, 0, 0, 0, 0, 0
	for _, m := range list {
		if m.Status == "" {
			continue // there was no time for it
		}
		run++
		switch m.Status {
		case "killed":
			killed++
		case "survived":
			survived++
		default:
			unreached++
		}
		if m.Operator == "charge dropped" {
			charges++
			if m.Status == "killed" {
				noticed++
			}
		}
	}
	return fmt.Sprintf("| `%s` | %d | %.0f %% | %d of %d | %d | %d | %s |\n", name, run, 100*float64(killed)/float64(max(1, run)), noticed, charges, survived, unreached, time.Now().UTC().Format("2006-01-02"))
}
