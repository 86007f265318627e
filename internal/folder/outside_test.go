package folder_test

import (
	"io"
	"strings"
	"testing"

	"github.com/anamnesis-go/anamnesis/internal/folder"
)

// A whole value or key that goes up or is absolute is found, however it is written; prose,
// words of a vocabulary and names below the text are not.
func TestValuesThatLeaveAreFoundHoweverTheyAreWritten(t *testing.T) {
	for text, want := range map[string]string{
		"modules.json\n[{\"path\":\"../evil\"}]":                                      "path=../evil",
		"a.json\n{\"a\":{\"b\":[1,\"x/../../evil\"]}}":                                "b=x/../../evil",
		"a.json\n{\"p\":\"\\u002e\\u002e\\/evil\"}":                                   "p=../evil",
		"a.json\n{\"p\":\"..\\\\evil\"}":                                              "p=../evil",
		"a.json\n{\"p\":\"..\"}":                                                      "p=..",
		"a.json\n{\"../evil\":[\"a\",\"B\"]}":                                         "=../evil",
		"a.json\n{\"../\":17, \"..\" : -1}":                                           "",
		"a.json\n{p: ../evil}":                                                        "p=../evil",
		"a.json\n{\"a\": 1, // \"\n\"p\": \"../evil\"}":                               "p=../evil",
		"a.json\n{\"p\":\"/tmp/evil\",\"q\":\"/\"}":                                   "p=/tmp/evil",
		"a.json\n{\"p\":\"file:///tmp/%65vil\"}":                                      "p=/tmp/evil",
		"noname\n{\"p\":\"../evil\"}":                                                 "p=../evil",
		"a.txt\n{\"p\":\"../evil\"}":                                                  "p=../evil",
		"a.json\n\xff\xfe{\x00\"\x00p\x00\"\x00:\x00\"\x00.\x00.\x00/\x00\"\x00}\x00": "p=../",
		"a.yaml\nvocab: ../evil # why":                                                "vocab=../evil",
		"a.yaml\nvocab:\n  - '../evil'":                                               "=../evil",
		"a.yaml\nvocab: >-\n  ../evil\n":                                              "=../evil",
		"a.yaml\nvocab: \"\\x2e./evil\"":                                              "vocab=../evil",
		"a.yaml\n? ../evil\n: 1":                                                      "=../evil",
		"a.yaml\na: {b: !x ../evil, c: d}":                                            "b=../evil",
		"a.yaml\n\"../evil\": 3x":                                                     "=../evil",
		"a.yaml\n{\"../\": 3, \"..\": -1.5}":                                          "",
		"a.toml\np = \"../evil\"":                                                     "p=../evil",
		"a.xml\n<data file=\"&#46;./evil\"/>":                                         "file=../evil",
		"a.xml\n<a>\n<tmp>../evil</tmp></a>":                                          "=../evil",
		"Modelfile\nFROM ../evil.gguf":                                                "FROM=../evil.gguf",
		"Modelfile\nadapter \"../e v\"":                                               "adapter=../e v",
		"README.md\n---\nbase: ../evil\n---\n../x\n":                                  "base=../evil",
		"README.md\n../x\n":                                                           "",
		"LICENSE\n../x\n":                                                             "",
		"vocab.json\n{\"a\":\"../x\"}":                                                "",
		"a.txt\n../x\n":                                                               "",
		"a.json\n{\"p\":\"see ..\",\"q\":\"a..b/c\",\"r\":\"...\",\"u\":\"https://e/x\",\"v\":\"line\\n../x\"}": "",
		"a.safetensors\n\x40\x00\x00\x00\x00\x00\x00\x00{\"p\":\"../evil\"}":                                    "",
	} {
		name, text, _ := strings.Cut(text, "\n")
		var got []string
		err := folder.Values(name, func() (io.ReadCloser, error) { return io.NopCloser(strings.NewReader(text)), nil }, func(v folder.Value) error {
			got = append(got, v.Member+"="+v.Path)
			return nil
		})
		if has := strings.Join(got, " "); err != nil || want == "" && has != "" || want != "" && !strings.Contains(" "+has, " "+want) {
			t.Errorf("%s %q: %q, not %q (%v)", name, text, has, want, err)
		}
	}
}
