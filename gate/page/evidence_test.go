package page_test

import (
	"archive/tar"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/anamnesis-go/anamnesis/gate"
	"github.com/anamnesis-go/anamnesis/gate/page"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser"
)

// explained judges a file and returns the report with its evidence.
func explained(t *testing.T, name string, file []byte) *page.Report {
	t.Helper()
	b := limits.Policy{}.Budget(t.Context())
	t.Cleanup(b.Close)
	r := bytes.NewReader(file)
	v, err := gate.New(gate.Policy{}).Check(b, r, int64(len(file)), gate.Hint{Name: name})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(v.Close)
	made, err := page.New(b, name, int64(len(file)), nil, v)
	if err != nil {
		t.Fatal(err)
	}
	if err := made.Evidence(b, r, int64(len(file)), v); err != nil {
		t.Fatal(err)
	}
	return made
}

// Each refusal has the bytes at its offset, and the pickle is a program in which what is refused
// stands with its neighbours, however long it is.
func TestTheEvidenceOfAPickle(t *testing.T) {
	const many = 5000
	file := []byte("\x80\x02]q\x00(" + strings.Repeat("K\x07", many) + "ecos\nsystem\nX\x02\x00\x00\x00id\x85R" + strings.Repeat("0K\x01", many) + ".")
	r := explained(t, "long.pkl", file)
	if r.Verdict.Accepted || len(r.Verdict.Findings) == 0 {
		t.Fatalf("%+v", r.Verdict)
	}
	for _, f := range r.Verdict.Findings {
		at := *f.Offset - f.From
		if at < 0 || at >= int64(len(f.Bytes)) || f.Bytes[at] != file[*f.Offset] || f.From%16 != 0 {
			t.Errorf("%s: offset %d, bytes from %d: %x", f.Rule, *f.Offset, f.From, f.Bytes)
		}
	}
	if len(r.Programs) != 1 {
		t.Fatalf("%d programs", len(r.Programs))
	}
	p := r.Programs[0]
	var refused []string
	count := p.Left
	for k, l := range p.Lines {
		count += 1 + l.Skipped
		if l.Refused {
			refused = append(refused, l.Op)
			if p.Lines[k-1].Skipped > 0 {
				t.Errorf("%s has no neighbour before it", l.Op)
			}
		}
	}
	if fmt.Sprint(refused) != "[GLOBAL REDUCE]" {
		t.Errorf("refused are %v", refused)
	}
	if want := int64(4 + many + 5 + 2*many + 1); count != want || len(p.Lines) > 400 {
		t.Errorf("%d instructions are listed or counted, want %d; %d are listed", count, want, len(p.Lines))
	}
}

// tarOf is an archive of one file.
func tarOf(t *testing.T, name, text string) []byte {
	t.Helper()
	var out bytes.Buffer
	w := tar.NewWriter(&out)
	if err := errors.Join(w.WriteHeader(&tar.Header{Name: name, Mode: 0o644, Size: int64(len(text))}), wrote(w.Write([]byte(text))), w.Close()); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func wrote(_ int, err error) error { return err }

// Offsets of what was unpacked are not offsets of the file: no bytes are shown for them.
func TestNoEvidenceOfWhatWasUnpacked(t *testing.T) {
	r := explained(t, "a.tar", tarOf(t, "a.pkl", "\x80\x02cos\nsystem\nX\x02\x00\x00\x00id\x85R."))
	if r.Verdict.Accepted || len(r.Programs) > 0 {
		t.Errorf("%+v", r)
	}
	for _, f := range r.Verdict.Findings {
		if f.Bytes != nil {
			t.Errorf("%s has bytes", f.Rule)
		}
	}
	var none *page.Report
	if none.Evidence(nil, nil, 0, nil) == nil {
		t.Error("no report has evidence")
	}
}

// The evidence is paid for.
// A finding in a folder has the bytes of its file, and the report lists the files with the classes
// that the gate gave them. In an archive of the folder, offsets are of what was unpacked: it has none.
func TestTheEvidenceOfAFolder(t *testing.T) {
	pickle := []byte("\x80\x02cos\nsystem\nX\x02\x00\x00\x00id\x85R.")
	var packed bytes.Buffer
	z := tar.NewWriter(&packed)
	if err := errors.Join(z.WriteHeader(&tar.Header{Name: "in.pkl", Size: int64(len(pickle)), Mode: 0o644}), func() error { _, err := z.Write(pickle); return err }(), z.Close()); err != nil {
		t.Fatal(err)
	}
	files := fstest.MapFS{"a.tar": {Data: packed.Bytes()}, "below/bad.pkl": {Data: pickle}, "config.json": {Data: []byte("{}")}}
	b := limits.Policy{}.Budget(t.Context())
	defer b.Close()
	v, err := gate.New(gate.Policy{}).CheckFolder(b, files, gate.Hint{Name: "folder"})
	if err != nil {
		t.Fatal(err)
	}
	defer v.Close()
	r, err := page.New(b, "folder", v.Size, nil, v)
	if err == nil {
		err = r.FolderEvidence(b, files, v)
	}
	if err != nil {
		t.Fatal(err)
	}
	classes := map[string]string{}
	for _, f := range r.Files {
		classes[f.Name] = f.Class
	}
	if want := map[string]string{"a.tar!in.pkl": "forbidden", "below/bad.pkl": "forbidden", "config.json": "ok"}; !maps.Equal(classes, want) {
		t.Errorf("%v, want %v", classes, want)
	}
	with := 0
	for _, f := range r.Verdict.Findings {
		if !strings.HasPrefix(f.Where, `"below/bad.pkl"`) {
			if len(f.Bytes) > 0 {
				t.Errorf("%s has bytes", f.Where)
			}
			continue
		}
		if f.Offset == nil || !bytes.Equal(f.Bytes, pickle) || f.From != 0 {
			t.Errorf("%s, %v: bytes from %d: %q", f.Where, f.Offset, f.From, f.Bytes)
		}
		with++
	}
	if with == 0 {
		t.Errorf("no finding of below/bad.pkl among %+v", r.Verdict.Findings)
	}
	poor := limits.Policy{MaxSteps: 1}.Budget(t.Context())
	defer poor.Close()
	if err := r.FolderEvidence(poor, files, v); wire.ClassOf(err) != wire.Limit {
		t.Errorf("one step is enough: %v", err)
	}
	if err := r.FolderEvidence(b, nil, v); err == nil {
		t.Error("no folder has evidence")
	}
}

func TestEvidenceIsPaid(t *testing.T) {
	file := []byte("\x80\x02cos\nsystem\nX\x02\x00\x00\x00id\x85R" + strings.Repeat("0K\x01", 5000) + ".")
	b := limits.Policy{}.Budget(t.Context())
	defer b.Close()
	v, err := gate.New(gate.Policy{}).Check(b, bytes.NewReader(file), int64(len(file)), gate.Hint{Name: "a.pkl"})
	if err != nil {
		t.Fatal(err)
	}
	defer v.Close()
	made, err := page.New(b, "a.pkl", int64(len(file)), nil, v)
	if err != nil {
		t.Fatal(err)
	}
	poor := limits.Policy{MaxItems: 100}.Budget(t.Context())
	defer poor.Close()
	if err := made.Evidence(poor, bytes.NewReader(file), int64(len(file)), v); wire.ClassOf(err) != wire.Limit {
		t.Errorf("%v", err)
	}
}

// A quantized weight is shown as one, with what the configuration states.
func TestWeightsAndConfiguration(t *testing.T) {
	b := limits.Policy{}.Budget(t.Context())
	defer b.Close()
	m, err := parser.Open(b, "../../testdata/demo/llama-fp8")
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	r, err := page.New(b, "llama-fp8", 0, m, nil)
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Weights) != 14 { // seven matrices of two layers
		t.Errorf("%d weights", len(r.Weights))
	}
	for _, w := range r.Weights {
		if len(w.Tensors) != 2 || r.Tensors[w.Tensors[0]].Name != w.Name || r.Tensors[w.Tensors[1]].Name != w.Name+"_scale_inv" || w.Scheme != "FP8" {
			t.Errorf("%+v", w)
		}
	}
	text, err := json.Marshal(r.Weights[0])
	if err != nil || !strings.HasPrefix(string(text), `["model.layers.0.`) {
		t.Errorf("%s %v", text, err)
	}
	states := map[string]any{}
	for _, p := range r.Config {
		states[p.Key] = p.Value
	}
	if states["model_type"] != "llama" || states["num_hidden_layers"] != "2" {
		t.Errorf("the configuration states %v", states)
	}
}
