package folder_test

import (
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/anamnesis-go/anamnesis/internal/faulty"
	"github.com/anamnesis-go/anamnesis/internal/folder"
)

// A text that could become the name is found in every spelling. A text that only contains its
// letters, or could only become other names, is not.
func TestWhatATextDenotes(t *testing.T) {
	s := folder.Search{Names: []string{".git", ".gitignore", "model.sig"}}
	for text, want := range map[string]bool{
		"a.json\n{\"f\":\".g*/config\"}":                                  true,
		"a.json\n{\"f\":\".gi?/config\"}":                                 true,
		"a.json\n{\"f\":\".[g]it/config\"}":                               true,
		"a.json\n{\"f\":\".g[h-j]t/config\"}":                             true,
		"a.json\n{\"f\":\".{g,h}it/config\"}":                             true,
		"a.json\n{\"f\":\"*/config\"}":                                    true,
		"a.json\n{\"f\":\"**/*.txt\"}":                                    true,
		"a.json\n{\"f\":\"*\"}":                                           true,
		"a.json\n{\"f\":\"x/../.g*/config\"}":                             false, // x is a folder of its own: what is above it is asked by Values
		"a.json\n{\"f\":\"./.g*/config\"}":                                true,
		"a.json\n{\"f\":\"../.g*/config\"}":                               true,
		"a.json\n{\"f\":\"$a/.g*/config\"}":                               true,
		"a.json\n{\"f\":\"$a$b\"}":                                        true,
		"a.json\n{\"f\":\"$a$b/config\"}":                                 true,
		"a.json\n{\"f\":\"{a}{b}\"}":                                      true,
		"a.json\n{\"f\":\"{{a}}{{b}}\"}":                                  true,
		"a.json\n{\"f\":\"#{a}#{b}\"}":                                    true,
		"a.json\n{\"f\":\"%(a)s%(b)s/x\"}":                                true,
		"a.json\n{\"f\":\"%A%%B%/x\"}":                                    true,
		"a.json\n{\"f\":\".g%s/x\"}":                                      true,
		"a.json\n{\"f\":\".g<b>/x\"}":                                     true,
		"a.json\n{\"f\":\".g@b@/x\"}":                                     true,
		"a.json\n{\"f\":\".g^^it/x\"}":                                    true, // an unknown mark
		"a.json\n{\"f\":\"GIT~1/config\"}":                                true,
		"a.json\n{\"f\":\"gi7EB~1/config\"}":                              true,
		"a.json\n{\"f\":\".git./config\"}":                                true,
		"a.json\n{\"f\":\"mod*.sig\"}":                                    true,
		"a.json\n{\"f\":\"model.\\u017fig\"}":                             true, // ſ
		"a.json\n{\"f\":\".g\\u200eit/x\"}":                               true,
		"a.json\n{\"f\":[\"a\",\".g*\"]}":                                 true,
		"noname\n{\"f\":\".g*/x\"}":                                       true,
		"a.txt\n{\"f\":\".g*/x\"}":                                        true,
		"a.yaml\nf: .g*/x\n":                                              true,
		"a.yaml\nf: \".g\\\n  it/x\"\n":                                   true,
		"a.yaml\nf: !!binary LmdpdA==\n":                                  true,
		"a.yaml\nf: !x!binary LmdpdA==\n":                                 true,
		"a.yaml\nf: !join [.g, it]\n":                                     true,
		"a.yaml\n- ! LmdpdA==\n":                                          false, // a tag without a name changes nothing
		"a.yaml\nf: ${a.${b}}${c}/x\n":                                    true,
		"a.yaml\nf: \"*\"\n":                                              true,
		"a.ini\n[x]\nf = .g%(b)s/x\n":                                     true,
		"a.xml\n<f>.g<![CDATA[it/x]]></f>":                                true,
		"a.xml\n<f>.g<!-- x -->it/x</f>":                                  true,
		"a.xml\n<f>.g<?x y?>it/x</f>":                                     true,
		"a.xml\n<!DOCTYPE f [<!ENTITY a \".g\">]><f>&a;it/x</f>":          true,
		"a.pbtxt\nf: \".g\" \"it/x\"":                                     true,
		"README.md\n---\nf: .g*/x\n---\n":                                 true,
		"Modelfile\nFROM .g*/x\n":                                         true,
		"a.json\n{\"a\":\"model-${size}\",\"b\":\"data/*.csv\"}":          false,
		"a.json\n{\"a\":\"${a}\",\"b\":\"{b}\",\"c\":\"$c/x\"}":           false,
		"a.json\n{\"chat_template\":\"{{ a }}{{ b }}\",\"x\":1}":          false,
		"a.json\n{\"target_modules\":\".*(q_proj|v_proj)$\"}":             false,
		"a.json\n{\"a\":\"*.safetensors\",\"b\":\"see **this**, (it)\"}":  false,
		"a.json\n{\"a\":\"<|im_start|>\",\"b\":\"[UNK]\",\"c\":\"</s>\"}": false,
		"a.yaml\n# a * b\nx: [1, 2]\ny: {a: 1}\nz: |\n  * a\n  * b\n":     false,
		"a.xml\n<?xml version=\"1.0\"?>\n<a b=\"c\"><!-- x --></a>":       false,
		"README.md\n---\nl: mit\n---\n.g*/x\n":                            false,
		"a.py\nopen('.g' 'it')":                                           false,
		"tokenizer.json\n{\"f\":\".g*/x\"}":                               false,
	} {
		name, body, _ := strings.Cut(text, "\n")
		open := func() (io.ReadCloser, error) { return io.NopCloser(strings.NewReader(body)), nil }
		got, err := s.Denotes(name, open)
		if err != nil {
			t.Error(err)
		}
		if (got != "") != want {
			t.Errorf("%s %q: %q", name, body, got)
		}
	}
}

// One name is looked for as one of several is.
func TestOneNameIsDenoted(t *testing.T) {
	for text, want := range map[string]bool{`{"f":".g*/config"}`: true, `{"f":"mod*.sig"}`: false, `{"f":"x"}`: false} {
		s := folder.Search{Names: []string{".git"}}
		found, err := s.Denotes("a.json", func() (io.ReadCloser, error) { return io.NopCloser(strings.NewReader(text)), nil })
		if err != nil || (found != "") != want {
			t.Errorf("%s: %q: %v", text, found, err)
		}
	}
}

// A text of which a read fails is no text in which nothing was found.
func TestAReadThatFailsIsNoAnswer(t *testing.T) {
	long := strings.Repeat("- a plain line of a list\n", 12_000) // more than is looked at at once
	for name, text := range map[string]string{"a.json": `{"f": "x", "g": ["y", 1, "z"]}`, "a.yaml": "f: x\ng: [y, z]\n", "long.yaml": long} {
		s := folder.Search{Names: []string{".git"}}
		for at := 0; at < len(text); at += 1 + len(text)/40 {
			fails := io.MultiReader(strings.NewReader(text[:at]), iotest.ErrReader(faulty.ErrDisk))
			for opens := 1; opens <= 2; opens++ { // JSON is opened twice
				n := 0
				found, err := s.Denotes(name, func() (io.ReadCloser, error) {
					if n++; n == opens {
						return io.NopCloser(fails), nil
					}
					return io.NopCloser(strings.NewReader(text)), nil
				})
				if n >= opens && !errors.Is(err, faulty.ErrDisk) {
					t.Errorf("%s: the read of byte %d, opened for the %d. time, fails: %q, %v", name, at, opens, found, err)
				}
			}
		}
		refuse := func() (io.ReadCloser, error) { return nil, faulty.ErrDisk }
		if found, err := s.Denotes(name, refuse); !errors.Is(err, faulty.ErrDisk) {
			t.Errorf("%s cannot be opened: %q, %v", name, found, err)
		}
	}
}
