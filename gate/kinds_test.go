package gate_test

import (
	"strings"
	"testing"

	"github.com/anamnesis-go/anamnesis/gate"
	"github.com/anamnesis-go/anamnesis/internal/sidecar"
	"github.com/anamnesis-go/anamnesis/internal/wire"
)

// What is not explained is refused: a member that was invented on the spot and could name
// something, in every text of every kind of folder, by the default too. Words pass.
func TestAnInventedMemberIsRefusedInEveryKindOfFolder(t *testing.T) {
	texts := 0
	for _, k := range sidecar.Kinds() {
		for _, of := range k.Texts {
			if of.Group == "" {
				continue
			}
			for _, name := range of.Names {
				texts++
				name = strings.ReplaceAll(name, "*", "bert")
				for value, refused := range map[string]bool{
					"some.module": true, "evil/repository": true, "../elsewhere": true, "a.b(c)": true, "{{ a }}": true, "https://example.org/x": true,
					"gAVLAC4AAAAA": true, "$(id)": true, "a word": false, "3.5": false,
				} {
					text := `{"invented_on_the_spot": {"deep": ["` + value + `"]}}`
					if strings.EqualFold(name, "mlmodel") && !strings.Contains(value, "(") {
						name, text = "MLmodel", "flavors:\n  invented_on_the_spot: {deep: [\""+value+"\"]}\n"
					}
					for _, profile := range []string{"server", "upload", "strict"} {
						policy, ok := gate.Profile(profile)
						if !ok {
							t.Fatal(profile)
						}
						v, _ := check(t, gate.Gate{Policy: policy}, text, gate.Hint{Name: name, Beside: true})
						if got := v.Class() == wire.Forbidden; got != refused || v.Class() != wire.OK && v.Class() != wire.Forbidden {
							t.Errorf("%s: %s with %q under %s: %v", k.Name, name, value, profile, v.Class())
						}
						v.Close()
					}
				}
			}
		}
	}
	if texts < 20 {
		t.Errorf("%d texts of kinds of folders", texts)
	}
}
