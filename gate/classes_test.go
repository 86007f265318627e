package gate_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/anamnesis-go/anamnesis/corpus"
	"github.com/anamnesis-go/anamnesis/gate"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/vm"
)

// A policy that allows a class set accepts files of the library, but not files that were changed in
// parts that the library ignores. Other policies accept neither, and their refusal names the set.
func TestClassSets(t *testing.T) {
	tabular, ok := gate.Profile("tabular")
	if !ok {
		t.Fatal("there is no profile tabular")
	}
	for _, part := range []struct {
		folder string
		least  int
		class  wire.Class
	}{{"accepted", 3, wire.OK}, {"refused", 15, wire.Forbidden}} {
		files, err := filepath.Glob("../testdata/gate/classes/" + part.folder + "/*.pkl")
		if err != nil || len(files) < part.least {
			t.Fatal(files, err)
		}
		for _, path := range files {
			data, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if v, _ := check(t, gate.Gate{Policy: tabular}, string(data), gate.Hint{Name: "m.pkl"}); v.Class() != part.class {
				t.Errorf("%s with the set: %v", path, v.Err)
			}
			v, _ := check(t, gate.Gate{}, string(data), gate.Hint{Name: "m.pkl"})
			if v.Class() != wire.Forbidden {
				t.Errorf("%s without the set: %v", path, v.Err)
			}
			if hint := strings.Contains(v.Err.Error(), `a policy with "classes": ["`); hint != (part.class == wire.OK) {
				t.Errorf("%s: %v", path, v.Err)
			}
		}
	}
}

// The verdict names the classes that only a set allows.
func TestVerdictNamesClassesOfSets(t *testing.T) {
	data, err := os.ReadFile("../testdata/gate/classes/accepted/onehot.pkl")
	if err != nil {
		t.Fatal(err)
	}
	tabular, _ := gate.Profile("tabular")
	v, _ := check(t, gate.Gate{Policy: tabular}, string(data), gate.Hint{Name: "m.pkl"})
	if len(v.Allowed) != 1 || v.Allowed[0] != "sklearn.preprocessing._encoders.OneHotEncoder" {
		t.Errorf("%q", v.Allowed)
	}
}

// Allowing all class sets accepts no hostile recipe of a pickle that is refused without them.
// One is an estimator without a state, which is harmless.
func TestClassSetsAdmitNoHostilePickle(t *testing.T) {
	tabular, _ := gate.Profile("tabular")
	for _, s := range vm.ClassSets() {
		tabular.Classes = append(tabular.Classes, s.Name)
	}
	tried := 0
	for _, r := range corpus.Hostile("pickle") {
		if r.Policy != nil {
			continue
		}
		before, _ := check(t, gate.Gate{}, string(r.Bytes()), gate.Hint{Name: r.File})
		after, _ := check(t, gate.Gate{Policy: tabular}, string(r.Bytes()), gate.Hint{Name: r.File})
		if after.Accepted() != before.Accepted() && r.Name != "sklearn-model" {
			t.Errorf("%s: %v before, %v after", r.Name, before.Err, after.Err)
		}
		tried++
	}
	if tried < 300 {
		t.Errorf("only %d recipes", tried)
	}
}

func TestPolicyRefusesUnknownClassSets(t *testing.T) {
	if _, err := gate.ReadPolicy(strings.NewReader(`{"version": 3, "classes": ["nosuch"]}`)); err == nil || !strings.Contains(err.Error(), `no class set has the name "nosuch" (gensim,`) {
		t.Error(err)
	}
}

// A policy may require versions of the library for which a set was made.
func TestPolicyNamesVersionsOfClassSets(t *testing.T) {
	for text, want := range map[string]string{
		`"lightgbm>=4"`:    "",
		`"sklearn==1.9"`:   "",
		`"lightgbm<4"`:     "",
		`"lightgbm<2"`:     "is made from lightgbm 2.",
		`"lightgbm>=99"`:   "is made from lightgbm 2.",
		`"lightgbm~4"`:     "no class set has the name",
		`"lightgbm>=four"`: "is not a version",
		`"lightgbm!=4"`:    "says nothing about a version",
		`"LightGBM>=4"`:    "no class set has the name",
	} {
		p, err := gate.ReadPolicy(strings.NewReader(`{"version": 3, "classes": [` + text + `]}`))
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", text, err)
		}
		if err != nil {
			continue
		}
		data, err := os.ReadFile("../testdata/gate/classes/accepted/lightgbm-categories.pkl")
		if err != nil {
			t.Fatal(err)
		}
		if v, _ := check(t, gate.Gate{Policy: p}, string(data), gate.Hint{Name: "m.pkl"}); v.Accepted() != (text == `"lightgbm>=4"`) {
			t.Errorf("%s: %v", text, v.Err)
		}
	}
}

// A refusal says which version or attribute a class set does not have.
func TestRefusalsOfClassSetsNameTheVersionOrTheAttribute(t *testing.T) {
	p, err := gate.ReadPolicy(strings.NewReader(`{"version": 3, "classes": ["sklearn", "lightgbm"]}`))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ name, old, new, want string }{
		{"onehot", "1.9.1", "1.10.", `BUILD states version "1.10." of scikit-learn, from which the class set sklearn was not made`},
		{"onehot", "handle_unknown", "handle_unknows", `BUILD gives it the attribute "handle_unknows", which it has in no version of scikit-learn that could have written the rest of the file`},
		{"older-lightgbm-booster", "pandas_categorical", "pandas_categoricas", `BUILD gives it the attribute "pandas_categoricas", which it has in no version of lightgbm`},
	} {
		data, err := os.ReadFile("../testdata/gate/classes/accepted/" + c.name + ".pkl")
		if err != nil {
			t.Fatal(err)
		}
		changed := strings.ReplaceAll(string(data), c.old, c.new)
		if changed == string(data) {
			t.Fatalf("%s does not hold %q", c.name, c.old)
		}
		if v, _ := check(t, gate.Gate{Policy: p}, changed, gate.Hint{Name: "m.pkl"}); v.Err == nil || !strings.Contains(v.Err.Error(), c.want) {
			t.Errorf("%s, %s: %v", c.name, c.new, v.Err)
		}
	}
}

// A verdict lists the versions that could have written a file and that the policy allows.
func TestVerdictsListTheVersionsOfClassSets(t *testing.T) {
	for classes, want := range map[string]string{
		`"lightgbm"`:            "lightgbm 4.0.0 4.1.0 4.2.0 4.3.0 4.4.0 4.5.0 4.6.0 4.7.0",
		`"lightgbm>=4.6"`:       "lightgbm 4.6.0 4.7.0",
		`"lightgbm<4", "scipy"`: "lightgbm",
		`"scipy"`:               "",
	} {
		p, err := gate.ReadPolicy(strings.NewReader(`{"version": 3, "classes": [` + classes + `]}`))
		if err != nil {
			t.Fatal(err)
		}
		data, err := os.ReadFile("../testdata/gate/classes/accepted/lightgbm-categories.pkl")
		if err != nil {
			t.Fatal(err)
		}
		v, _ := check(t, gate.Gate{Policy: p}, string(data), gate.Hint{Name: "m.pkl"})
		var words []string
		for s, versions := range p.SetUses(v.Pickles[0].Report) {
			words = append(append(words, s.Module()), versions...)
		}
		if got := strings.Join(words, " "); got != want {
			t.Errorf("%s: %q, want %q", classes, got, want)
		}
	}
}
