package report_test

import (
	"bytes"
	"context"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"strings"
	"testing"

	"github.com/anamnesis-go/anamnesis/gate"
	"github.com/anamnesis-go/anamnesis/gate/report"
	"github.com/anamnesis-go/anamnesis/limits"
)

const (
	evil  = "cos\nsystem\n(S'id'\ntR."
	model = "\x02\x00\x00\x00\x00\x00\x00\x00{}"
)

// written is a report about a pickle that runs code, a model, and a text beside.
func written(t *testing.T, format, path string) string {
	t.Helper()
	b := limits.Policy{}.Budget(t.Context())
	defer b.Close()
	var out bytes.Buffer
	w, err := report.New(format, &out, "1.2.3")
	if err != nil {
		t.Fatal(err)
	}
	g := gate.Gate{}
	for _, f := range []struct{ name, data string }{{path, evil}, {"m.safetensors", model}, {"README", "a note\n"}} {
		name := "x"
		if f.name == "README" {
			name = f.name // a document by its name
		}
		v, err := g.Check(b, strings.NewReader(f.data), int64(len(f.data)), gate.Hint{Name: name, Beside: true})
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(w.Add(f.name, v)); err != nil {
			t.Fatal(err)
		}
		v.Close()
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

// Names that mean something to each format.
const nasty = "a b/<x>|`%,:\"&é::error::\n.pkl"

func TestSARIFHasWhatGitHubAndGitLabAsk(t *testing.T) {
	var doc struct {
		Version string
		Runs    []struct {
			Tool struct {
				Driver struct {
					Name, Version string
					Rules         []struct {
						ID, HelpURI string
						Help        struct{ Text string }
					}
				}
			}
			Results []struct {
				RuleID, Level string
				Message       struct{ Text string }
				Locations     []struct {
					PhysicalLocation struct {
						ArtifactLocation struct{ URI string }
						Region           struct {
							StartLine, ByteLength int
							ByteOffset            *int
						}
					}
				}
			}
		}
	}
	if err := json.Unmarshal([]byte(written(t, "sarif", nasty)), &doc); err != nil {
		t.Fatal(err)
	}
	if doc.Version != "2.1.0" || len(doc.Runs) != 1 || doc.Runs[0].Tool.Driver.Name != "amn" || doc.Runs[0].Tool.Driver.Version != "1.2.3" {
		t.Errorf("%+v", doc)
	}
	listed := map[string]bool{}
	for _, r := range doc.Runs[0].Tool.Driver.Rules {
		listed[r.ID] = true
		if u, err := url.Parse(r.HelpURI); err != nil || u.Scheme != "https" || u.Fragment == "" || r.Help.Text == "" {
			t.Errorf("%+v: %v", r, err)
		}
	}
	if len(doc.Runs[0].Results) < 2 {
		t.Fatalf("%d results", len(doc.Runs[0].Results))
	}
	occur := map[string]bool{}
	for _, r := range doc.Runs[0].Results {
		occur[r.RuleID] = true
	}
	if len(listed) != len(occur) {
		t.Errorf("%d rules are listed, and %d occur", len(listed), len(occur))
	}
	for _, r := range doc.Runs[0].Results {
		at := r.Locations[0].PhysicalLocation
		if !listed[r.RuleID] || r.Level != "error" || r.Message.Text == "" || at.ArtifactLocation.URI == "" || strings.ContainsAny(at.ArtifactLocation.URI, " <>\n\"`|") ||
			at.Region.StartLine != 1 || at.Region.ByteOffset == nil {
			t.Errorf("%+v", r)
		}
	}
}

func TestJUnitIsXML(t *testing.T) {
	text := written(t, "junit", nasty)
	count := map[string]int{}
	for d := xml.NewDecoder(strings.NewReader(text)); ; {
		token, err := d.Token()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatalf("%v in\n%s", err, text)
		}
		if e, ok := token.(xml.StartElement); ok {
			count[e.Name.Local]++
		}
	}
	if count["testcase"] != 3 || count["failure"] != 1 || count["skipped"] != 1 {
		t.Errorf("%v", count)
	}
}

// The page has an article for each file, says what each rule that occurs means, and no text of a
// file is markup. Nothing in it runs.
func TestThePageForPeople(t *testing.T) {
	text := written(t, "html", nasty)
	count := map[string]int{}
	ids := map[string]bool{}
	var links []string
	d := xml.NewDecoder(strings.NewReader(text))
	d.Strict, d.AutoClose, d.Entity = false, xml.HTMLAutoClose, xml.HTMLEntity
	for {
		token, err := d.Token()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatalf("%v in\n%s", err, text)
		}
		e, ok := token.(xml.StartElement)
		if !ok {
			continue
		}
		count[e.Name.Local]++
		for _, a := range e.Attr {
			switch {
			case a.Name.Local == "id":
				ids["#"+a.Value] = true
			case a.Name.Local == "href":
				links = append(links, a.Value)
			case strings.HasPrefix(a.Name.Local, "on"), a.Name.Local == "style", a.Name.Local == "src":
				t.Errorf("%s has %s", e.Name.Local, a.Name.Local)
			}
		}
	}
	if count["article"] != 3 || count["script"] != 0 || count["x"] != 0 || count["li"] != len(links) || len(links) == 0 {
		t.Errorf("%v, %d links", count, len(links))
	}
	for _, l := range links {
		if !ids[l] {
			t.Errorf("nothing is at %s", l)
		}
	}
	if !strings.Contains(text, "<b>Files: 1 refused, 1 accepted, 1 skipped, because no loader takes them for a model.</b>") {
		t.Error("the page does not count its files:", text[max(0, len(text)-400):])
	}
}

func TestNamesCannotForgeAReport(t *testing.T) {
	for line := range strings.Lines(written(t, "github", nasty)) {
		if !strings.HasPrefix(line, "::error file=") || strings.Count(line, "::") != 2 {
			t.Errorf("%q", line)
		}
	}
	for i, line := range strings.Split(strings.TrimSpace(written(t, "markdown", nasty)), "\n") {
		if n := strings.Count(strings.ReplaceAll(line, `\|`, ""), "|"); n != 5 || i > 1 && strings.Contains(line, "<x>") {
			t.Errorf("%d cells: %q", n, line)
		}
	}
	if _, err := report.New("pdf", io.Discard, ""); err == nil {
		t.Error("an unknown format")
	}
}

func Example() {
	w, err := report.New("github", os.Stdout, "1.2.3")
	if err != nil {
		fmt.Println(err)
		return
	}
	b := limits.Policy{}.Budget(context.Background())
	defer b.Close()
	v, err := gate.Check(b, strings.NewReader(evil), int64(len(evil)), gate.Hint{Name: "m.pkl"})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer v.Close()
	if err := errors.Join(w.Add("m.pkl", v), w.Close()); err != nil {
		fmt.Println(err)
	}
	// Output:
	// ::error file=m.pkl,line=1,title=amn%3A pickle.global::pickle at 0x0: "os.system" is dangerous: starts programs
	// ::error file=m.pkl,line=1,title=amn%3A pickle.call::pickle at 0x13: "os.system" is dangerous: called with ("id")
}
