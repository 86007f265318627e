package sidecar_test

import (
	"testing"

	"github.com/anamnesis-go/anamnesis/limits"
)

// A number sign within a quoted text or a block scalar hides nothing.
func TestCommentsAreOutsideOfQuotes(t *testing.T) {
	const tag, target = "sidecar.yaml-tag", "sidecar.target"
	for _, c := range []struct{ name, text, want string }{
		{"h.yaml", "a: {b: \"x\n  # z\", c: !apply:os.system [id]}\n", target},
		{"h.yaml", "a: {b: \"x\n  y # z\", c: !apply:os.system [id]}\n", target},
		{"h.yaml", "a: {b: 'x\n  # z', c: !apply:os.system [id]}\n", target},
		{"h.yaml", "a: {b: 'it''s\n  # z', c: !apply:os.system [id]}\n", target},
		{"h.yaml", "a: {b: \"\\\"\n  # z\", c: !apply:os.system [id]}\n", target},
		{"h.yaml", "a: {b: it's, c: \"x\n  # z\", d: !apply:os.system [id]}\n", target},
		{"h.yaml", "a: it's\nb: {c: \"x\n  # z\", d: !apply:os.system [id]}\n", target},
		{"h.yaml", "a: |\n  it's \"\nb: {c: \"x\n  # z\", d: !apply:os.system [id]}\n", target},
		{"h.yaml", "a: x # it's \"\nb: {c: \"x\n  # z\", d: !apply:os.system [id]}\n", target},
		{"h.yaml", "a: {b: \"x\n  # z\", c: !!python/name:os.system x}\n", tag},
		{"h.yaml", "{b: \"x\n  # z\", model: {_target_: os.mkdir, path: x}}\n", target + " sidecar.import"},
		{"h.yaml", "{b: \"x\n  # z\", trust_remote_code: true}\n", "sidecar.trust-remote-code"},
		{"h.yaml", "{b: \"x\n  # z\", activation: \"__import__('os').system('id')\"}\n", "sidecar.expression"},
		{"h.yaml", "activation: |-\n  [x, \"\"\"\n  # \"\"\", f()]\n", "sidecar.expression"},
		{"h.yaml", "a: b\\\n_target_: os.system\n", target + " sidecar.import"}, // no quotes: the backslash joins nothing
		{"h.yaml", "file_path_metas: {a: \"x\n# y\", b: /etc/passwd}\n", "sidecar.index-path"},
		{"h.yaml", "file_path_metas: {a: b,\nc: /etc/passwd}\n", "sidecar.index-path"},
		{"m/MLmodel", "flavors:\n  python_function: {b: \"x\n  # z\", loader_module: evilmod, code: src}\n", "sidecar.import"},
		{"h.yaml", "a: \"\\x21!python/object/apply:os.system [id]\"\n", tag},
		{"h.yaml", "a: \"\\u0021!python/object/apply:os.system [id]\"\n", tag},
		{"h.yaml", "a: \"!\\\n  !python/object/apply:os.system [id]\"\n", tag},
		{"h.yaml", "a: \"!pyth%6fn/x y\"\n", tag},
		{"h.yaml", "a: |\n  %TAG !p! tag:yaml.org,2002:pyth\n", tag},
		{"h.yaml", "a: {name: yaml.unsafe_load}\n", "sidecar.import"},
		{"c.toml", "a = {b = \"\"\"\n# \"\"\", _target_ = \"os.system\"}\n", target},
		{"c.toml", "a = {b = '''\n# ''', _target_ = \"os.system\"}\n", target},
		{"c.toml", "a = \"\"\"\n# \"\"\"\n_target_ = \"os.system\"\n", target + " sidecar.import"},

		{"h.yaml", "a: 'x' # _target_: os.system\n", ""},
		{"h.yaml", "# it's \"\n# _target_: os.system\na: it's # _target_: os.system\n", ""},
		{"h.yaml", "a: >\n  it's \"\n\n  so\n# _target_: os.system\nb: |2-  # _target_: x\n  y\n", ""},
		{"h.yaml", "- \"a\": b\n  'c': d\n- e\n- \"f\n   g\" # _target_: os.system\n", ""},
		{"h.yaml", "a: b\n  \"c\n# _target_: os.system\nd: {e: [f, \"g\"], h: ? } # _target_: os.system\n", ""},
		{"c.toml", "a = \"it's\" # _target_ = \"os.system\"\n# _target_ = \"os.system\"\n", ""},
	} {
		if got := but(check(t, limits.Policy{}, c.name, c.text), c.want); got != c.want {
			t.Errorf("%s %.80q: %q, want %q", c.name, c.text, got, c.want)
		}
	}
}

// Where loaders differ in what a quote opens, a number sign behind it is refused.
func TestQuotesThatCannotBeFollowedAreRefused(t *testing.T) {
	for _, text := range []string{
		"a: \"b\"\"c\nd # e\"\n", "a: [b#c, !x'd]\ne: f # g\n", "a: {b:\"c\"}\nd: e # f\n", "a: [|]\nb: c # d\n", "# a\u2028\"b\nc: d # e\n", "a: \"b\n--- # c\"\n",
	} {
		if got := check(t, limits.Policy{}, "h.yaml", text); got != "sidecar.unexplained" {
			t.Errorf("%q: %q", text, got)
		}
	}
}

// A call is one however Python's grammar lets it be written.
func TestCallsOfAnySpelling(t *testing.T) {
	for _, text := range []string{
		`exec ("x")`, `exec\t("x")`, `exec\n("x")`, `exec \\\n("x")`, `(exec) ("x")`, `(\nexec)("x")`, `[exec][0] ("x")`, `getattr (a, "b")`,
		`open ("x")`, `f"{exec ('x')}"`, `os.system ("x")`, `os . system ("x")`, `(exec # x\n("x"))`, `ｅxec ("x")`, `exec\x20("x")`, `exec\f("x")`, `max (["x"], key=eval)`,
	} {
		quoted := ""
		for _, c := range text {
			if c == '"' {
				quoted += `\`
			}
			quoted += string(c)
		}
		if got := check(t, limits.Policy{}, "hparams.yaml", "a: \""+quoted+"\"\n"); got == "" {
			t.Errorf("YAML %s: nothing", text)
		}
		if text == `exec\x20("x")` { // no escape of JSON
			continue
		}
		if got := check(t, limits.Policy{}, "configuration.json", `{"model": "`+quoted+`"}`); got == "" {
			t.Errorf("JSON %s: nothing", text)
		}
	}
	for _, text := range []string{"A model (base)", "in format (a b)", "an open (free) model", "opens the file (once)", "Gaussian units (GELU)", "the input size. Larger (x) is better", "(a) (b)", "量子化 (四)"} {
		if got := check(t, limits.Policy{}, "hparams.yaml", "a: "+text+"\n"); got != "" {
			t.Errorf("%s: %s", text, got)
		}
	}
}
