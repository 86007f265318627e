package loaders

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"
)

// An answer is a row of a ledger of crosscheck: what a library said of one folder.
type answer struct {
	kind, width, to, verdict, why, date string
	wrote, loaded                       string // a digest of what amn wrote, and when that was loaded, if not then
	versions                            map[string]string
}

// answers reads a packed ledger, whose layout crosscheck/contract/ledger.py states.
func answers(t *testing.T, path string) []answer {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if len(data) >= 1<<20 {
		t.Errorf("%s has %d bytes: pack it with crosscheck/contract/ledger.py", path, len(data))
	}
	type run struct {
		Date     string
		Versions map[string]string
		Also     map[string]map[string]string
	}
	var runs []run
	var out []answer
	asked := map[string]bool{}
	for lines := bufio.NewScanner(bytes.NewReader(data)); lines.Scan(); {
		var line struct {
			Runs        []run
			Type, Width string
			Rows        [][]any
			Wrote       map[string]string
			Loaded      map[string]string
		}
		if err := json.Unmarshal(lines.Bytes(), &line); err != nil {
			t.Fatal(path, err)
		}
		if line.Runs != nil {
			runs = line.Runs
			continue
		}
		if line.Rows == nil {
			t.Fatalf("%s: a line has no rows: pack it with crosscheck/contract/ledger.py", path)
		}
		for _, row := range line.Rows {
			of := runs[int(row[1].(float64))]
			a := answer{kind: line.Type, width: line.Width, verdict: row[2].(string), date: of.Date, versions: of.Versions}
			if len(row) > 3 {
				a.why = row[3].(string)
			}
			for to := range strings.FieldsSeq(row[0].(string)) {
				a.to, a.wrote, a.loaded = to, line.Wrote[to], line.Loaded[to]
				if key := fmt.Sprint(a.kind, "/", a.width, "/", a.to); asked[key] {
					t.Errorf("%s: %s is answered twice", path, key)
				} else {
					asked[key] = true
				}
				out = append(out, a)
			}
		}
	}
	return out
}

// ofAMachine finds answers that are not about a model: where a sweep found a folder of its own in the
// way, or did not find one, or where torch got no thread.
var ofAMachine = regexp.MustCompile(`would not be overwritten|INTERNAL ASSERT FAILED|(^|[\s"'])/(tmp|home|root|var|work)/`)

// What a row says of the bytes that amn wrote, and of the loading that it repeats.
var (
	ofBytes = regexp.MustCompile(`^[0-9a-f]{16}$`)
	onADay  = regexp.MustCompile(`^20\d\d-\d\d-\d\d( [0-9a-f]{8})?$`)
)

// Every answer has a date and versions, none is wrong, and each is about the model. One that repeats an older loading has
// the digest of what was written both times.
func TestLedgersAreWhole(t *testing.T) {
	for _, name := range []string{"every", "loads"} {
		rows := answers(t, "../../crosscheck/contract/"+name+".jsonl")
		if len(rows) < 2000 {
			t.Errorf("%s: %d answers", name, len(rows))
		}
		for _, a := range rows {
			switch a.verdict {
			case "equal", "numbers", "said", "refused", "breaks", "not built", "read":
			default:
				t.Errorf("%s: %s of width %s to %s is %q: %s", name, a.kind, a.width, a.to, a.verdict, a.why)
			}
			if ofAMachine.MatchString(a.why) {
				t.Errorf("%s: %s of width %s to %s is an answer about a folder of the sweep: %s", name, a.kind, a.width, a.to, a.why)
			}
			if a.date == "" || a.versions["transformers"] == "" || a.versions["torch"] == "" {
				t.Errorf("%s: %s to %s has no date or no versions", name, a.kind, a.to)
			}
			if a.wrote != "" && !ofBytes.MatchString(a.wrote) || a.loaded != "" && (a.wrote == "" || !onADay.MatchString(a.loaded) || a.loaded[:10] > a.date) {
				t.Errorf("%s: %s to %s of %s wrote %q, which was loaded on %q", name, a.kind, a.to, a.date, a.wrote, a.loaded)
			}
		}
	}
}

// The counts that docs print are those of the ledgers.
func TestDocumentsCountTheLedgers(t *testing.T) {
	page := map[string]string{}
	for _, name := range []string{"loads", "quantize"} {
		text, err := os.ReadFile("../../docs/" + name + ".md")
		if err != nil {
			t.Fatal(err)
		}
		page[name] = string(text)
	}
	says := func(name, line string) {
		if !strings.Contains(page[name], line) {
			t.Errorf("docs/%s.md does not say %q: make it anew with crosscheck/contract/page.py or odd.py", name, line)
		}
	}

	targets := []string{"nf4", "fp8", "w4a16", "nvfp4"}
	kinds, folders, of := map[string]bool{}, 0, map[string]int{}
	for _, a := range answers(t, "../../crosscheck/contract/every.jsonl") {
		if strings.HasPrefix(a.why, "no class of its own") {
			continue
		}
		kinds[a.kind], folders = true, folders+1
		of[a.verdict+"/"+a.to]++
	}
	says("loads", fmt.Sprintf("\n%d model types, %d folders, ", len(kinds), folders))
	for verdict, words := range map[string]string{
		"equal": "loaded, with equal parameters and answers", "said": "not loaded as it is by transformers, and `Loads` said so",
		"refused": "refused by amn before a byte was written", "breaks": "not loaded by transformers even before it was quantized", "not built": "not built here", "WRONG": "wrong: a bug, not mended yet",
		"numbers": "loaded, with equal parameters; no input is known with which it runs here, or its answers differ from run to run",
	} {
		line := "| " + words + " |"
		for _, to := range targets {
			line += fmt.Sprintf(" %d |", of[verdict+"/"+to])
		}
		says("loads", line)
	}

	kinds, folders, of = map[string]bool{}, 0, map[string]int{}
	byTarget := map[string]map[string]int{}
	for _, a := range answers(t, "../../crosscheck/contract/loads.jsonl") {
		kinds[a.kind], folders = true, folders+1
		of[a.verdict]++
		if byTarget[a.to] == nil {
			byTarget[a.to] = map[string]int{}
		}
		byTarget[a.to][a.verdict]++
	}
	verdicts := []string{"equal", "numbers", "read", "said", "refused", "not built", "WRONG"}
	var total []string
	for _, v := range verdicts {
		if of[v] > 0 || v == "WRONG" {
			total = append(total, fmt.Sprintf("%d %s", of[v], v))
		}
	}
	says("quantize", fmt.Sprintf("\n%d folders of %d types, ", folders, len(kinds)))
	says("quantize", ": "+strings.Join(total, ", ")+".\n")
	for to, count := range byTarget {
		line := "| " + to + " |"
		for _, v := range verdicts {
			line += fmt.Sprintf(" %d |", count[v])
		}
		says("quantize", line)
	}

	kinds, of = flat(t, "adapters")
	says("loads", fmt.Sprintf("%d types, %d equal, %d refused by amn, %d that PEFT does not merge, %d not built here, %d WRONG", len(kinds), of["equal"], of["refused"], of["not merged"], of["not built"], of["WRONG"]))
	_, of = flat(t, "mapped")
	line := fmt.Sprintf(": %d equal, ", of["equal"])
	if of["read"] > 0 {
		line += fmt.Sprintf("%d read, ", of["read"])
	}
	says("loads", line+fmt.Sprintf("%d WRONG.\n", of["WRONG"]))
}

// flat returns the types and the number of each verdict of a ledger that is not packed.
func flat(t *testing.T, name string) (kinds map[string]bool, verdicts map[string]int) {
	t.Helper()
	data, err := os.ReadFile("../../crosscheck/contract/" + name + ".jsonl")
	if err != nil {
		t.Fatal(err)
	}
	kinds, verdicts = map[string]bool{}, map[string]int{}
	for line := range strings.Lines(string(data)) {
		var r struct{ Type, Verdict string }
		if err := json.Unmarshal([]byte(line), &r); err != nil {
			t.Fatal(name, err)
		}
		kinds[r.Type] = true
		verdicts[r.Verdict]++
	}
	return kinds, verdicts
}
