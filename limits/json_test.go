package limits_test

import (
	"encoding/json"
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/limits/limitstest"
	"github.com/google/go-cmp/cmp"
)

func TestReadPolicyAccepts(t *testing.T) {
	for _, c := range []struct {
		name, text string
		want       limits.Policy
	}{
		{"an empty object is the default", `{}`, limits.Policy{}},
		{"sizes as text", `{"max_total_bytes": "64MiB", "max_single_alloc": "3 KiB"}`,
			limits.Policy{MaxTotalBytes: 64 << 20, MaxSingleAlloc: 3 << 10}},
		{"sizes as bytes", `{"max_working_set": 1000}`, limits.Policy{MaxWorkingSet: 1000}},
		{"counts", `{"max_items": 7, "max_steps": 9, "max_depth": 3, "max_inflate_ratio": 1032, "max_expand_ratio": 1}`,
			limits.Policy{MaxItems: 7, MaxSteps: 9, MaxDepth: 3, MaxInflateRatio: 1032, MaxExpandRatio: 1}},
		{"the largest number", `{"max_items": 9223372036854775807}`, limits.Policy{MaxItems: math.MaxInt64}},
		{"the largest size", `{"max_total_bytes": "8191PiB"}`, limits.Policy{MaxTotalBytes: 8191 << 50}},
		{"the deepest nesting", `{"max_depth": 10000}`, limits.Policy{MaxDepth: limits.MaxDepthCeiling}},
		{"a timeout", `{"timeout": "90s"}`, limits.Policy{Timeout: 90 * time.Second}},
		{"no timeout", `{"timeout": "none"}`, limits.Policy{Timeout: limits.NoTimeout}},
		{"lists and the switch", `{"quirks": ["gguf.gaps"], "refuse_formats": ["pth", "npz"], "refuse_findings": ["*"], "refuse_unknown_members": true}`,
			limits.Policy{Quirks: []string{"gguf.gaps"}, RefuseFormats: []string{"pth", "npz"}, RefuseFindings: []string{"*"}, RefuseUnknownMembers: true}},
		{"empty lists", `{"quirks": []}`, limits.Policy{}},
		{"space around", " \n{\t}\r\n ", limits.Policy{}},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := limits.ReadPolicy(strings.NewReader(c.text))
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(c.want, got); d != "" {
				t.Error(d)
			}
		})
	}
}

func TestReadPolicyRefuses(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"nothing", ``, `not a JSON object`},
		{"null", `null`, `not a JSON object`},
		{"a list", `[]`, `not a JSON object`},
		{"an unknown field", `{"max_bytes": 1}`, `field "max_bytes": unknown field`},
		{"a field of another spelling", `{"MaxItems": 1}`, `field "MaxItems": unknown field`},
		{"a field of another case", `{"Max_items": 1}`, `field "Max_items": unknown field`},
		{"a duplicate field", `{"max_items": 1, "max_items": 1}`, `field "max_items" appears twice`},
		{"a duplicate in escapes", `{"max_items": 1, "max_ite\u006ds": 1}`, `field "max_items" appears twice`},
		{"a negative number", `{"max_items": -1}`, `field "max_items": "-1" is not a whole number`},
		{"a negative size", `{"max_total_bytes": "-64MiB"}`, `field "max_total_bytes": "-64" is not a whole number`},
		{"zero", `{"max_items": 0}`, `field "max_items": 0 is not a ceiling: leave it out for the default, or write 1`},
		{"zero with a unit", `{"max_total_bytes": "0GiB"}`, `field "max_total_bytes": 0 is not a ceiling: leave it out for the default, or write 1`},
		{"a fraction", `{"max_steps": 1.5}`, `field "max_steps": "1.5" is not a whole number`},
		{"an exponent", `{"max_steps": 1e3}`, `field "max_steps": "1e3" is not a whole number`},
		{"an overflowing number", `{"max_steps": 9223372036854775808}`, `field "max_steps": "9223372036854775808" passes 2^63-1`},
		{"an overflowing size", `{"max_total_bytes": "8192PiB"}`, `field "max_total_bytes": "8192PiB" is more than any file can hold`},
		{"a decimal unit", `{"max_total_bytes": "64MB"}`, `field "max_total_bytes": unknown unit in "64MB": write B, KiB, MiB, GiB, TiB or PiB`},
		{"a unit in small letters", `{"max_total_bytes": "64mib"}`, `field "max_total_bytes": unknown unit in "64mib": write B, KiB, MiB, GiB, TiB or PiB`},
		{"a unit alone", `{"max_total_bytes": "MiB"}`, `field "max_total_bytes": a number is missing`},
		{"an empty size", `{"max_total_bytes": ""}`, `field "max_total_bytes": a number is missing`},
		{"a unit on a count", `{"max_items": "4MiB"}`, `field "max_items": "4MiB" is a string: expected a number`},
		{"a list as a number", `{"max_items": [1]}`, `field "max_items": expected a number or a size`},
		{"a null number", `{"max_items": null}`, `field "max_items": expected a number or a size`},
		{"a time without unit", `{"timeout": 60}`, `field "timeout": "60" has no unit: write "60s", or "none"`},
		{"a time in text without unit", `{"timeout": "60"}`, `field "timeout": "60" is not a time: write "60s", "5m", "1h30m" or "none"`},
		{"a negative time", `{"timeout": "-1s"}`, `field "timeout": "-1s" is not a time: write "60s", "5m", "1h30m" or "none"`},
		{"no time at all", `{"timeout": "0s"}`, `field "timeout": "0s" is not a time: write "60s", "5m", "1h30m" or "none"`},
		{"depth past its ceiling", `{"max_depth": 10001}`, `field "max_depth": 10001 is more than 10000, the deepest that any policy allows`},
		{"a name as a list", `{"quirks": "gguf.gaps"}`, `field "quirks": expected a list of names`},
		{"a number in a list", `{"quirks": [1]}`, `field "quirks": expected a list of names`},
		{"an empty name", `{"quirks": [""]}`, `field "quirks": expected a list of names`},
		{"a list in a list", `{"quirks": [["a"]]}`, `field "quirks": expected a list of names`},
		{"a negative count", `{"max_items": -5}`, `field "max_items": "-5" is not a whole number`},
		{"a finding with a slip of the pen", `{"refuse_findings": ["gguf.token_dup"]}`, `field "refuse_findings": no finding has the name "gguf.token_dup"`},
		{"a star among the formats", `{"refuse_formats": ["*"]}`, `field "refuse_formats": no format has the name "*" (dcp, deepspeed, ggml, gguf, hdf5, keras, npy, npz, onnx, pth, safetensors, tfbundle, tflite)`},
		{"a switch in text", `{"refuse_unknown_members": "true"}`, `field "refuse_unknown_members": expected true or false`},
		{"text after the object", `{} {}`, `text after the object`},
		{"an object that does not end", `{"max_items": 1`, `unexpected EOF`},
		{"a list that does not end", `{"quirks": ["a"`, `field "quirks": unexpected EOF`},
		{"bytes that are not text", "{\"quirks\": [\"\xff\"]}", `not UTF-8 text`},
		{"a control character in a name of a field", `{"\u001b[2J": 1}`, `field "\x1b[2J": unknown field`},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := limits.ReadPolicy(strings.NewReader(c.text))
			if err == nil {
				t.Fatalf("accepted as %+v", got)
			}
			if d := cmp.Diff("policy: "+c.want, err.Error()); d != "" {
				t.Error(d)
			}
		})
	}
}

func TestReadPolicyIsBounded(t *testing.T) {
	text := `{"quirks": ["` + strings.Repeat("a", limits.MaxPolicyBytes) + `"]}`
	if _, err := limits.ReadPolicy(strings.NewReader(text)); err == nil || !strings.Contains(err.Error(), "more than 1048576 bytes") {
		t.Errorf("got %v", err)
	}
}

func TestPolicyRoundTrip(t *testing.T) {
	policies := map[string]limits.Policy{
		"the zero policy": {},
		"odd values": {
			MaxSingleAlloc: 1, MaxTotalBytes: math.MaxInt64, MaxItems: 3, MaxInflateRatio: 5, MaxExpandRatio: 7,
			MaxDepth: 11, MaxSteps: 13, MaxWorkingSet: 1<<20 + 1, Timeout: 1500 * time.Millisecond,
			MaxOpenFiles: 17, MaxRequests: 19, MaxFetched: 1<<33 + 1,
			Quirks: []string{"gguf.nul", "gguf.gaps"}, RefuseFormats: []string{"npy"}, RefuseFindings: []string{"npz.case"}, RefuseUnknownMembers: true,
		},
		"whole units": {MaxSingleAlloc: 1 << 10, MaxTotalBytes: 1 << 40, MaxWorkingSet: 3 << 50, Timeout: 3 * time.Hour},
		"no timeout":  {Timeout: limits.NoTimeout},
	}
	for _, name := range limits.Profiles() {
		policies["profile "+name], _ = limits.Profile(name)
	}
	for name, p := range policies {
		t.Run(name, func(t *testing.T) {
			direct, err := p.MarshalJSON()
			if err != nil {
				t.Fatal(err)
			}
			nested, err := json.Marshal(p)
			if err != nil {
				t.Fatal(err)
			}
			for _, text := range [][]byte{direct, nested} {
				got, err := limits.ParsePolicy(text)
				if err != nil {
					t.Fatalf("%s: %v", text, err)
				}
				if d := cmp.Diff(p.Filled(), got); d != "" {
					t.Errorf("%s: %s", text, d)
				}
			}
		})
	}
}

func TestMarshalPolicyShowsDefaults(t *testing.T) {
	const want = `{
  "max_single_alloc": "256MiB",
  "max_total_bytes": "1GiB",
  "max_items": 4000000,
  "max_inflate_ratio": 200,
  "max_expand_ratio": 64,
  "max_depth": 128,
  "max_steps": 200000000,
  "max_working_set": "512MiB",
  "max_open_files": 1024,
  "max_requests": 20000,
  "max_fetched": "4TiB",
  "timeout": "1m",
  "quirks": [],
  "refuse_formats": [],
  "refuse_findings": [],
  "refuse_unknown_members": false
}`
	got, err := limits.Policy{}.MarshalJSON()
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(want, string(got)); d != "" {
		t.Error(d)
	}
}

func TestProfilesDifferOnlyInFields(t *testing.T) {
	server, ok := limits.Profile("server")
	if !ok {
		t.Fatal("no profile server")
	}
	if d := cmp.Diff(limits.Policy{}.Filled(), server); d != "" {
		t.Errorf("server is not the default: %s", d)
	}
	strict, _ := limits.Profile("strict")
	if !strict.RefusesFormat("pth") || !strict.RefusesFinding("gguf.gaps") || !strict.RefuseUnknownMembers {
		t.Errorf("strict does not refuse what it promises: %+v", strict)
	}
	edge, _ := limits.Profile("edge")
	if edge.MaxTotalBytes != 64<<20 {
		t.Errorf("edge holds %d bytes", edge.MaxTotalBytes)
	}
	if _, ok := limits.Profile("none"); ok {
		t.Error("a profile that does not exist was found")
	}
}

func TestValidate(t *testing.T) {
	for _, c := range []struct {
		name, want string
		p          limits.Policy
	}{
		{"a negative number", `policy: field "max_items": -1 is negative`, limits.Policy{MaxItems: -1}},
		{"a negative timeout", `policy: field "timeout": -2 is negative`, limits.Policy{Timeout: -2}},
		{"depth past its ceiling", `policy: field "max_depth": 10001 is more than 10000`, limits.Policy{MaxDepth: 10001}},
		{"an unknown quirk", `policy: field "quirks": no quirk has the name "gguf.gap" (detect.polyglot, gguf.gaps, gguf.nul, pth.tensors-only, zip.store-hints)`, limits.Policy{Quirks: []string{"gguf.nul", "gguf.gap"}}},
		{"an unknown format", `policy: field "refuse_formats": no format has the name "PTH" (dcp, deepspeed, ggml, gguf, hdf5, keras, npy, npz, onnx, pth, safetensors, tfbundle, tflite)`, limits.Policy{RefuseFormats: []string{"PTH"}}},
		{"an unknown finding", `policy: field "refuse_findings": no finding has the name "gguf.\u202e"`, limits.Policy{RefuseFindings: []string{"*", "gguf.\u202e"}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			err := c.p.Validate()
			if err == nil || err.Error() != c.want {
				t.Errorf("got %v, want %s", err, c.want)
			}
			if !errors.Is(err, limits.ErrPolicy) {
				t.Errorf("%v is not an error of a policy", err)
			}
			b := limitstest.Open(t, c.p)
			w := b.Workspace()
			_, opened := b.OpenFile()
			for i, refused := range []error{b.Err(), b.Alloc(1), b.Hold(1), b.Items(1), b.Enter(), b.Step(1), w.Hold(1), w.Alloc(1), opened} {
				if !errors.Is(refused, limits.ErrPolicy) {
					t.Errorf("charge %d: got %v", i, refused)
				}
			}
			if _, err := c.p.MarshalJSON(); err == nil {
				t.Error("written as JSON")
			}
		})
	}
	if err := (&limits.Policy{Timeout: limits.NoTimeout}).Validate(); err != nil {
		t.Error(err)
	}
}

func TestFormatSize(t *testing.T) {
	for n, want := range map[int64]string{
		0: "0", 1: "1", 1023: "1023", 1024: "1KiB", 1536: "1536", 64 << 20: "64MiB", 3 << 30: "3GiB", 5 << 40: "5TiB", 7 << 50: "7PiB",
		math.MaxInt64: "9223372036854775807",
	} {
		got := limits.FormatSize(n)
		if got != want {
			t.Errorf("%d: got %s, want %s", n, got, want)
		}
		if back, err := limits.ParseSize(got); err != nil || back != n {
			t.Errorf("%s: reads back as %d, %v", got, back, err)
		}
	}
}

// An axis that shares a name could not be told apart.
func TestEveryAxisHasNames(t *testing.T) {
	seen := map[string]bool{}
	for _, a := range limits.Axes() {
		for _, name := range []string{"name " + a.String(), "field " + a.Field()} {
			if seen[name] || strings.HasSuffix(name, " ") {
				t.Errorf("axis %d: %q is empty or taken", a, name)
			}
			seen[name] = true
		}
	}
}
