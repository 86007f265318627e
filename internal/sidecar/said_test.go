package sidecar_test

import (
	"archive/zip"
	"bytes"
	"fmt"
	"io"
	"path"
	"strings"
	"testing"

	"github.com/anamnesis-go/anamnesis/corpus"
	"github.com/anamnesis-go/anamnesis/internal/corpustest"
	"github.com/anamnesis-go/anamnesis/internal/ledger"
	"github.com/anamnesis-go/anamnesis/internal/sidecar"
	"github.com/anamnesis-go/anamnesis/limits"
)

// said returns how a text ends: its class, or all that is found but the texts for people, and the
// templates that are handed on.
func said(t *testing.T, name, text string) string {
	t.Helper()
	b := limits.Policy{}.Budget(t.Context())
	defer b.Close()
	var out strings.Builder
	out.WriteString("found")
	found, err := sidecar.Check(b, sidecar.Text{
		Name: name, R: strings.NewReader(text), Size: int64(len(text)),
		Template: func(where, text string) { fmt.Fprintf(&out, " template %q %q", where, text) },
	})
	if err != nil {
		return corpustest.Ending(t, err)
	}
	for _, f := range found {
		fmt.Fprintf(&out, " %s %v %q %d %s", f.Code, f.Severity, f.Where, f.Off, f.Case)
	}
	return out.String()
}

// A beside is a text of a recipe.
type beside struct{ name, text string }

// textsOf lists the texts of the recipes of the gate: files that are sent alone, and those of folders.
func textsOf(t *testing.T, r *corpus.Recipe) (list []beside) {
	t.Helper()
	add := func(name string, data []byte) {
		switch path.Ext(name) {
		case ".json", ".yaml", ".yml", ".txt", ".md", ".toml", ".ini", ".cfg", ".jinja", ".j2", ".pbtxt", ".prototxt", ".textproto", ".gin", ".py", "":
			if len(data) > 0 && len(data) <= 16<<10 {
				list = append(list, beside{name, string(data)})
			}
		}
	}
	data := r.Bytes()
	if !r.Folder {
		add(r.File, data)
		return list
	}
	z, err := zip.NewReader(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range z.File {
		body, err := f.Open()
		if err != nil {
			t.Fatal(f.Name, err)
		}
		one, err := io.ReadAll(body)
		if err != nil {
			t.Fatal(f.Name, err)
		}
		add(f.Name, one)
	}
	return list
}

// Each text of the recipes of the gate says the same, and charges the same, when it is read as it is and
// after each change of one byte; a charge of it that is refused ends it as a limit.
func TestTextsOfRecipesSayAndChargeWhatIsWritten(t *testing.T) {
	texts := 0
	for _, r := range corpus.Gate() {
		list := textsOf(t, &r)
		if texts += len(list); len(list) == 0 {
			continue
		}
		t.Run(r.Name, func(t *testing.T) {
			ledger.Charges(t)
			for _, f := range list {
				corpustest.DamagedTexts(t, path.Base(f.name), f.text, 24, func(text string) string { return said(t, f.name, text) })
			}
			for _, f := range list {
				corpustest.EachCharge(t, func() error {
					b := limits.Policy{}.Budget(t.Context())
					defer b.Close()
					_, err := sidecar.Check(b, sidecar.Text{Name: f.name, R: strings.NewReader(f.text), Size: int64(len(f.text))})
					return err
				})
			}
		})
	}
	if texts < 400 {
		t.Errorf("%d texts", texts)
	}
}
