package report

import (
	"fmt"
	"slices"

	"github.com/anamnesis-go/anamnesis/cli/internal/run"
	"github.com/anamnesis-go/anamnesis/cli/internal/term"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// OtherValues summarizes the values of a checkpoint that are not tensors, "" for none.
func OtherValues(m tensor.Model) string {
	if m.Format() != "pth" {
		return ""
	}
	v := ViewOf(m)
	return metadata(m, &v)
}

// NotUnderstood lists the parts of a checkpoint that --tensors-only has skipped.
func NotUnderstood(m tensor.Model) []string {
	var list []string
	for _, f := range m.Findings() {
		if f.Code == "pth.not-understood" {
			list = append(list, term.Tidy(f.Text, wire.MaxMessage))
		}
	}
	return list
}

// FirstFew returns the first elements of a list, and how many more there are.
func FirstFew(list []string) []string {
	if len(list) <= maxLeftOut {
		return list
	}
	return append(slices.Clone(list[:maxLeftOut]), fmt.Sprintf("and %d more", len(list)-maxLeftOut))
}

// PrintSkipped prints to standard error which parts of a checkpoint --tensors-only has skipped.
func PrintSkipped(s *run.Run, path string, m tensor.Model) {
	if list := NotUnderstood(m); len(list) > 0 && !s.Quiet {
		fmt.Fprintf(s.Err, "amn: %s: %s of the pickle skipped; nothing was run\n", term.Path(path), term.Plural(int64(len(list)), "thing"))
		for _, text := range FirstFew(list) {
			fmt.Fprintf(s.Err, "     %s\n", text)
		}
	}
}

// ChoiceText says which of several sets of weights is read, "" if there is only one.
func ChoiceText(m tensor.Model) string {
	for _, f := range m.Findings() {
		if f.Code == "detect.choice" {
			return f.Text
		}
	}
	return ""
}
