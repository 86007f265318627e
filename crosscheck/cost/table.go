package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// listed is how many rows of each measure are printed for a command.
const listed = 3

// table is what was found, in Markdown.
func (s *search) table() string {
	var out strings.Builder
	fmt.Fprintf(&out, "%s: `%s`, %d runs in %v of the processor. The median step takes %.0f ns, of %d runs that take at least %v.\n",
		time.Now().Format(time.DateOnly), strings.Join(s.flags(), " "), s.runs, cpu().Round(time.Second), s.median, len(s.counted), least)
	out.WriteString("\n| command | format | file | size | inflated | CPU time | of the bound | ends with |\n|---|---|---|---|---|---|---|---|\n")
	s.rows(byRate, func(r row) {
		fmt.Fprintf(&out, "| %s | %s | %s | %s | %s | %.3f s | %.2f | %s |\n", r.command, r.key.format, cell(r.in.name), size(int64(len(r.in.data))), size(r.price.inflated), r.price.cpu.Seconds(), r.score, r.price.class())
	})
	out.WriteString("\n| command | format | file | CPU time | steps | a step | times the median | ends with |\n|---|---|---|---|---|---|---|---|\n")
	s.rows(byStep, func(r row) {
		fmt.Fprintf(&out, "| %s | %s | %s | %.3f s | %d | %.0f ns | %.1f | %s |\n", r.command, r.key.format, cell(r.in.name), r.price.cpu.Seconds(), r.price.steps, r.score, r.score/max(s.median, 1), r.price.class())
	})
	out.WriteString("\n| command | format | file | size | CPU time | longest without a look | ends with |\n|---|---|---|---|---|---|---|\n")
	s.rows(byBlind, func(r row) {
		fmt.Fprintf(&out, "| %s | %s | %s | %s | %.3f s | %.1f ms | %s |\n", r.command, r.key.format, cell(r.in.name), size(int64(len(r.in.data))), r.price.cpu.Seconds(), r.score/1e6, r.price.class())
	})
	return out.String()
}

// flags are those of the command that change what is found.
func (s *search) flags() []string {
	list := []string{"go run ./crosscheck/cost"}
	flag.Visit(func(f *flag.Flag) {
		if f.Name != "table" && f.Name != "keep" && f.Name != "root" && f.Name != "profile" {
			list = append(list, fmt.Sprintf("-%s=%v", f.Name, f.Value))
		}
	})
	return list
}

// rows visits the dearest of each command.
func (s *search) rows(measure string, visit func(row)) {
	list := s.sorted(measure)
	for i := range commands {
		n := 0
		for _, r := range list {
			if r.command == commands[i].name && (n < listed || *just) && r.score > 0 {
				n++
				visit(r)
			}
		}
	}
}

func cell(name string) string { return "`" + strings.ReplaceAll(filepath.Base(name), "|", "") + "`" }

func size(n int64) string {
	switch {
	case n == 0:
		return "-"
	case n < mebi:
		return fmt.Sprintf("%.1f KiB", float64(n)/1024)
	}
	return fmt.Sprintf("%.1f MiB", float64(n)/mebi)
}

// The marks of the table in a document.
const (
	markBegin = "<!-- make cost -->\n"
	markEnd   = "<!-- end of make cost -->"
)

func replaceTable(file, text string) error {
	old, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	before, rest, ok := strings.Cut(string(old), markBegin)
	_, after, both := strings.Cut(rest, markEnd)
	if !ok || !both {
		return fmt.Errorf("%s has no marks %q and %q", file, strings.TrimSpace(markBegin), markEnd)
	}
	return os.WriteFile(file, []byte(before+markBegin+text+markEnd+after), 0o644)
}
