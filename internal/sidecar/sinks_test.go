package sidecar

import (
	"encoding/json"
	"os"
	"strings"
	"testing"
)

// fetched are exceptions by which a library fetches a model, without its code, and notRun those whose
// loader needs a GPU or is no package.
var (
	fetched = setOf("hf_tokenizer_name mm_vision_tower")
	notRun  = setOf("mm_vision_tower")
)

// Each exception has its lines: the library was run with markers in the member, and they reached
// nothing, or a hub where the row says that a model is fetched.
func TestEachExceptionHasItsLine(t *testing.T) {
	data, err := os.ReadFile("../../crosscheck/sinks/sinks.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	type line struct {
		Member, File, Library, Version, Grammar, Said string
		Reached                                       any
	}
	lines := map[string][]line{}
	for text := range strings.Lines(string(data)) {
		var l line
		if err := json.Unmarshal([]byte(text), &l); err != nil {
			t.Fatal(err)
		}
		lines[l.Member] = append(lines[l.Member], l)
	}
	for i, table := range [][]explained{exceptions[:], repositories[:]} {
		for _, e := range table {
			for _, member := range strings.Fields(e.members) {
				if len(lines[member]) == 0 {
					t.Errorf("%s has no line", member)
				}
				for _, l := range lines[member] {
					switch {
					case i == 1: // a warning says that it fetches
					case l.Reached == "not run" && !notRun()[member]:
						t.Errorf("%s was not run: %s", member, l.Said)
					case l.Reached == "nothing" && l.Said != "":
						t.Errorf("%s: the loader ended early: %s", member, l.Said)
					case l.Reached == "nothing" || l.Reached == "not run":
					default:
						if list, _ := l.Reached.([]any); !fetched()[member] || len(list) != 1 || list[0] != "hub" {
							t.Errorf("%s of %s %s with a %s reached %v", member, l.Library, l.Version, l.Grammar, l.Reached)
						}
					}
				}
			}
		}
	}
}
