package page_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/anamnesis-go/anamnesis/gate"
	"github.com/anamnesis-go/anamnesis/gate/page"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

func reportOf(t *testing.T, path string) *page.Report {
	t.Helper()
	b := limits.Policy{}.Budget(context.Background())
	t.Cleanup(b.Close)
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	r := bytes.NewReader(text)
	v, err := gate.Check(b, r, r.Size(), gate.Hint{Name: path[strings.LastIndexByte(path, '/')+1:]})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(v.Close)
	m, err := parser.Decode(b, r, r.Size())
	if err != nil {
		m = nil
	} else {
		t.Cleanup(func() { m.Close() })
	}
	out, err := page.New(b, path, r.Size(), m, v)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func TestAReportContainsEverythingThatIsShown(t *testing.T) {
	r := reportOf(t, "../../testdata/demo/checkpoint.pt")
	if r.Format != "pth" || !r.Verdict.Accepted || r.Verdict.Safe == nil || !*r.Verdict.Safe || r.Verdict.WeightsOnly != "yes" {
		t.Errorf("%+v", r.Verdict)
	}
	if len(r.Tensors) != 24 || r.Totals.Tensors != 24 || len(r.Globals) != 4 {
		t.Errorf("%d tensors, %d globals", len(r.Tensors), len(r.Globals))
	}
	text, err := json.Marshal(r.Tensors[1])
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(`["embed.weight",1,[96,16],6144,3392,0]`, string(text)); diff != "" {
		t.Error(diff)
	}
	r = reportOf(t, "../../testdata/demo/tiny.gguf")
	if len(r.Metadata) == 0 || r.Metadata[0].Value != "llama" {
		t.Errorf("metadata %v", r.Metadata)
	}
	if text, err := json.Marshal(r.Metadata); err != nil || !strings.Contains(string(text), `"value":0.00001}`) {
		t.Errorf("an epsilon of 32 bits: %s", text)
	}
}

// Text of a file never becomes markup, and only the page's own script may run.
func TestTextOfAFileIsEscaped(t *testing.T) {
	const evil = "</script><script>alert(1)</script><!--"
	r := reportOf(t, "../../testdata/demo/tiny.gguf")
	r.Name, r.Tensors[0].Name = evil, evil
	r.Templates = []page.Template{{Name: evil, Text: evil}}
	var out bytes.Buffer
	if err := page.Write(&out, r); err != nil {
		t.Fatal(err)
	}
	text := out.String()
	if strings.Contains(text, "alert(1)</script>") || strings.Count(text, "<script") != 2 {
		t.Error("a text of the file is markup")
	}
	policy := regexp.MustCompile(`content="(default-src 'none'[^"]*)"`).FindStringSubmatch(text)
	if policy == nil {
		t.Fatal("no policy")
	}
	for _, never := range []string{"unsafe-inline", "http", "*", "connect-src", "'self'"} {
		if strings.Contains(policy[1], never) {
			t.Errorf("the policy allows %s: %s", never, policy[1])
		}
	}
	if regexp.MustCompile(`(?i)(src|href)="?(https?:)?//`).MatchString(text) {
		t.Error("the page asks for something")
	}
}

func TestARefusedFileHasAReport(t *testing.T) {
	r := page.Refused("x.pt", 3, fmt.Errorf("broken"))
	if r.Verdict.Accepted || len(r.Verdict.Findings) != 1 {
		t.Errorf("%+v", r.Verdict)
	}
}

// A report says accepted of what a gate accepted, and of nothing else.
func TestAReportWithoutAVerdictAcceptsNothing(t *testing.T) {
	b := limits.Policy{}.Budget(context.Background())
	defer b.Close()
	m, err := parser.Open(b, "../../testdata/demo/model.safetensors")
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	for what, of := range map[string]struct {
		m        tensor.Model
		v        *gate.Verdict
		readable bool
	}{"nothing": {}, "a model": {m: m, readable: true}, "a verdict that nothing made": {m: m, v: &gate.Verdict{}}} {
		r, err := page.New(b, "x", 0, of.m, of.v)
		if err != nil || r.Verdict.Accepted || r.Verdict.Readable != of.readable || (r.Verdict.Class == "ok") != of.readable {
			t.Errorf("%s: %v, %+v", what, err, r.Verdict)
		}
	}
}

// A report of what an account does not allow is not made.
func TestAReportIsCharged(t *testing.T) {
	open := limits.Policy{}.Budget(context.Background())
	defer open.Close()
	m, err := parser.Open(open, "../../testdata/demo/model.safetensors")
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	b := limits.Policy{MaxItems: 3}.Budget(context.Background())
	defer b.Close()
	if _, err := page.New(b, "x", 0, m, nil); err == nil {
		t.Error("24 tensors are 3 items")
	}
}

// A page of a model that lies in a folder.
func ExampleWrite() {
	b := limits.Policy{}.Budget(context.Background())
	defer b.Close()
	m, err := parser.Open(b, "../../testdata/demo/model.safetensors")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer m.Close()
	report, err := page.New(b, "model.safetensors", 0, m, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	var out bytes.Buffer
	if err := page.Write(&out, report); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(report.Format, report.Totals.Tensors, strings.HasPrefix(out.String(), "<!DOCTYPE html>"))
	// Output: safetensors 24 true
}

// A report that is written piece by piece is the report.
func TestAReportIsWrittenAsItIs(t *testing.T) {
	for _, r := range []*page.Report{
		{Tensors: []page.Tensor{}},
		{Name: "]}", Tensors: []page.Tensor{{Name: "a", Shape: []int64{2, 3}}, {Name: "b<"}}},
	} {
		want, err := json.Marshal(r)
		if err != nil {
			t.Fatal(err)
		}
		var got bytes.Buffer
		if err := r.WriteJSON(&got); err != nil || got.String() != string(want)+"\n" {
			t.Errorf("%v: %s, not %s", err, &got, want)
		}
	}
}
