package sidecar

import (
	"slices"
	"strings"
	"testing"
)

// maxExceptions bounds the members whose text may name something and does not make the default
// policy refuse it.
const maxExceptions = 20

func TestExceptionsAreFewAndHaveReasons(t *testing.T) {
	keys := map[string]bool{}
	for _, e := range slices.Concat(exceptions[:], repositories[:]) {
		for _, name := range strings.Fields(e.members) {
			keys[name] = true
		}
		if len(e.why) < len("a token") || e.is == nil {
			t.Errorf("%s has no reason, or no grammar", e.members)
		}
		for _, file := range strings.Fields(e.in) {
			if schemaOf(file) == nil {
				t.Errorf("%s: no library is known to open %s", e.members, file)
			}
		}
	}
	if len(keys) > maxExceptions || len(keys) == 0 {
		t.Errorf("%d members, at most %d", len(keys), maxExceptions)
	}
}
