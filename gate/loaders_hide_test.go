package gate_test

import (
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/anamnesis-go/anamnesis/gate"
	"github.com/anamnesis-go/anamnesis/limits"
)

// hazards are texts of a file that is judged by its name, of which any two can be one: parts joins them.
var hazards = []struct {
	name  string
	join  func(a, b string) string
	parts []string
}{
	{"config.json", members, []string{
		`"_attn_implementation_internal": "evil/kernels"`, `"_experts_implementation_internal": "evil/kernels"`, `"trust_remote_code": true`,
		`"auto_map": {"AutoModel": "evil/x--m.M"}`, `"_target_": "evil.run"`, `"function": "os.system"`, `"py/object": "os.x"`, `":serialized:": "x"`,
		`"class_name": "Lambda"`, `"e": {"class_name": "X", "module": "evil"}`, `"f": {"config": {"vocabulary": "/x"}, "class_name": "TextVectorization"}`,
		`"g": {"__loader__": "FunctionNode", "__module__": "numpy", "__class__": "x"}`, `"h": {"__loader__": "JsonNode", "__module__": "evil", "__class__": "x"}`,
		`"i": {"__kind__": "x", "class": "evil.X"}`, `"j": {"type": "pyref", "module": "evil", "name": "x"}`, `"k": "$exec('x')"`, `"conv_feature_layers": "exec('x')"`,
		`"vocab_file": "/etc/passwd"`, `"weight_map": {"a": "../x"}`, `"l": "evil.so"`, `"chat_template": "{{ x.__class__ }}"`, `"m": {"chat_template": "{{ messages | pickle }}"}`,
		`"n": {"chat_template": "{% for a in range(999999999) %}{{ a }}{% endfor %}"}`, `"num_hidden_layers": 10000000`, `"o": "a.b.c"`,
	}},
	{"tokenizer.json", members, []string{
		`"normalizer": {"type": "Replace", "pattern": {"Regex": "(a*)*b"}, "content": "x"}`, `"padding": {"strategy": {"Fixed": 4000000000}}`, `"function": "os.system"`, `"_target_": "evil.run"`,
	}},
	{"model.yaml", lines, []string{
		"_target_: evil.run", "a: !!python/object/apply:x.y [1]", "b: !apply:x.y [1]", "target: evil_.run", "c: os.system", "class_path: os.system", "d: $exec('x')", "trust_remote_code: true",
		"e: ../../x", "file_path_metas: {a: /etc/x}", "remote_code: x", "conv_feature_layers: exec('x')", "_instantiator: x.y", "module: evil.x", "custom_imports: {imports: [evil]}", "f: !include:../../x",
	}},
	{"MLmodel", lines, []string{"loader_module: evil", "a: !!python/object/apply:x.y [1]", "_target_: evil.run", "trust_remote_code: true", "b: a.b.c"}},
	{"config.toml", lines, []string{`_target_ = "evil.run"`, `a = "os.system"`, `trust_remote_code = true`, `b = "x.y.z"`}},
	{"config.cfg", lines, []string{"[nlp.after_creation]\n@readers = \"srsly.read_json.v1\"", "a = os.system", "_target_ = evil.run", "trust_remote_code = true", "b = x.y.z"}},
	{"m.gin", lines, []string{"import os", "a = @os.system"}},
	{"python_env.yaml", lines, []string{"- a;touch x", "- --index-url https://example.org", "_target_: evil.run", "c: os.system"}},
	{"bentofile.yaml", lines, []string{"system_packages: [a]", "base_image: x", "_target_: evil.run", "- a;touch x"}},
	{"README.md", func(a, b string) string { return "---\n" + a + "\n" + b + "\n---\n" }, []string{"prior: /x", "prior: a/b", "data_files: /x"}},
	{"chat_template.jinja", func(a, b string) string { return a + b }, []string{
		"{{ x.__class__ }}", "{{ x | pickle }}", "{% include 'x' %}", "{{ x['a' ~ b] }}", "{{ config }}", "{{ a.b()() }}", "{% for a in range(999999999) %}{{ a }}{% endfor %}",
	}},
}

func members(a, b string) string {
	if a == "" || b == "" {
		return "{" + a + b + "}"
	}
	return "{" + a + ", " + b + "}"
}

func lines(a, b string) string { return a + "\n" + b + "\n" }

// refusedBy judges a text, and returns the rules that refuse it.
func refusedBy(t *testing.T, p gate.Policy, name, text string) map[string]bool {
	t.Helper()
	b := limits.Policy{}.Budget(t.Context())
	defer b.Close()
	g := gate.Gate{Policy: p, Digest: true}
	v, err := g.Check(b, strings.NewReader(text), int64(len(text)), gate.Hint{Name: name, Beside: true})
	if err != nil {
		t.Fatal(err)
	}
	defer v.Close()
	rules := map[string]bool{}
	for _, r := range v.Refusals() {
		rules[r.Rule] = true
	}
	if v.Accepted() != (len(rules) == 0) {
		t.Fatalf("%s %q: accepted: %v, by %v", name, text, v.Accepted(), rules)
	}
	return rules
}

// lowerings are the policies that let findings of some rules pass: by severity, off, by an exception
// for a name, and for a content, as a baseline has it.
func lowerings(rules []string, name, text string) map[string]gate.Policy {
	sum := sha256.Sum256([]byte(text))
	digest := hex.EncodeToString(sum[:])
	out := map[string]gate.Policy{}
	for _, rule := range rules {
		add := func(what string, change func(p *gate.Policy)) {
			p := out[what]
			change(&p)
			out[what] = p
		}
		add("note", func(p *gate.Policy) { p.Rules = append(p.Rules, gate.Change{Rule: rule, Severity: "note"}) })
		add("off", func(p *gate.Policy) { p.Rules = append(p.Rules, gate.Change{Rule: rule, Severity: "off"}) })
		add("name", func(p *gate.Policy) {
			p.Ignore = append(p.Ignore, gate.Exception{Rule: rule, Path: name, Reason: "read"})
		})
		add("content", func(p *gate.Policy) {
			p.Ignore = append(p.Ignore, gate.Exception{Rule: rule, SHA256: digest, Reason: "baseline"})
		})
	}
	return out
}

// Whatever a policy lets pass of a text, it refuses what else is in it: each finding is made whatever
// was found before. This tries all pairs, in both orders, and one after a hundred of the other.
func TestALoweredDangerHidesNoOther(t *testing.T) {
	tried := 0
	for _, h := range hazards {
		t.Run(h.name, func(t *testing.T) {
			alone := make([]map[string]bool, len(h.parts))
			for i, part := range h.parts {
				if alone[i] = refusedBy(t, gate.Policy{FailOn: gate.FailOnWarning}, h.name, h.join(part, "")); len(alone[i]) == 0 {
					t.Errorf("%s: accepted", part)
				}
			}
			for i, a := range h.parts {
				for j, b := range h.parts {
					left := maps.Clone(alone[j])
					maps.DeleteFunc(left, func(rule string, _ bool) bool { return alone[i][rule] })
					if len(left) == 0 {
						continue
					}
					for n, text := range []string{h.join(a, b), h.join(b, a), h.join(again(h.name, a), b)} {
						if n == 2 && again(h.name, a) == "" {
							continue
						}
						for what, p := range lowerings(slices.Collect(maps.Keys(alone[i])), h.name, text) {
							p.FailOn = gate.FailOnWarning
							got := refusedBy(t, p, h.name, text)
							for rule := range left {
								if !got[rule] {
									t.Errorf("%.200q, with %v lowered (%s): refused by %v, and not by %s", text, alone[i], what, got, rule)
								}
							}
							tried++
						}
					}
				}
			}
		})
	}
	if tried < 5000 {
		t.Errorf("%d tried", tried)
	}
}

// again is a part a hundred times, where a text may have it so often.
func again(name, part string) string {
	switch {
	case strings.HasSuffix(name, ".json"):
		var all []string
		for i := range 100 {
			all = append(all, `"again`+strconv.Itoa(i)+`": {`+part+`}`)
		}
		return strings.Join(all, ", ")
	case name == "README.md":
		return ""
	}
	return strings.TrimSuffix(strings.Repeat(part+"\n", 100), "\n")
}

// A danger that the host's versions make a note hides no other danger of the same text.
func TestVersionsOfTheHostHideNoOther(t *testing.T) {
	own, tried := map[string]string{}, 0
	for _, name := range gate.Libraries() {
		own[name] = "none"
	}
	for _, h := range hazards {
		for i, a := range h.parts {
			if len(refusedBy(t, gate.Policy{Loaders: own}, h.name, h.join(a, ""))) > 0 {
				continue
			}
			for j, b := range h.parts {
				if left := refusedBy(t, gate.Policy{Loaders: own}, h.name, h.join(b, "")); i == j || len(left) == 0 {
					continue
				}
				for _, text := range []string{h.join(a, b), h.join(b, a)} {
					if got := refusedBy(t, gate.Policy{Loaders: own}, h.name, text); len(got) == 0 {
						t.Errorf("%s: %s: accepted", h.name, text)
					}
					tried++
				}
			}
		}
	}
	if tried < 40 {
		t.Errorf("%d tried", tried)
	}
}

// An exception for a content says nothing of reasons against a pickle that are not listed.
func TestAnExceptionCoversWhatIsListedAlone(t *testing.T) {
	many := strings.Repeat("cos\nsystem\n0", 70)
	for text, accepted := range map[string]bool{"cos\nsystem\n.": true, many + "Px\n.": false} {
		p := lowerings([]string{"pickle.global"}, "m.pkl", text)["content"]
		b := limits.Policy{}.Budget(t.Context())
		g := gate.Gate{Policy: p, Digest: true}
		v, err := g.Check(b, strings.NewReader(text), int64(len(text)), gate.Hint{Name: "m.pkl", Beside: true})
		if err != nil || v.Accepted() != accepted {
			t.Errorf("%.30q: %v, accepted: %v", text, err, v.Accepted())
		}
		v.Close()
		b.Close()
	}
}
