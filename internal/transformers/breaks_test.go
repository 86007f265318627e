package transformers

import (
	"slices"
	"strings"
	"testing"
)

// A row of breaks.txt names a library that formats are of, types that are known, and a reason.
func TestRowsOfTypesThatDoNotLoad(t *testing.T) {
	libraries := []string{"fp8", "compressed-tensors", "gptq", "awq", PackedRows}
	if len(breakRows()) == 0 {
		t.Fatal("there are none")
	}
	for key, why := range breakRows() {
		library, kind, _ := strings.Cut(key, "/")
		if !slices.Contains(libraries, library) || linearsOf(kind) == nil || why == "" {
			t.Errorf("%s: %q", key, why)
		}
	}
}
