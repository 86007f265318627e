package cli_test

import (
	"bytes"
	"strings"
	"testing"
)

// Without a terminal view says what to use in its place, and draws nothing.
func TestViewNeedsATerminal(t *testing.T) {
	for _, c := range []struct {
		args []string
		says string
	}{
		{[]string{"view", demo + "/model.safetensors"}, "amn inspect and amn parse print the same"},
		{[]string{"view", "--json", demo + "/model.safetensors"}, "amn parse --json"},
	} {
		var out, errs bytes.Buffer
		if code := run(t, nil, &out, &errs, c.args...); code != 2 || out.Len() > 0 || !strings.Contains(errs.String(), c.says) {
			t.Errorf("%q: exit %d, %q, %q", c.args, code, &out, &errs)
		}
	}
}
