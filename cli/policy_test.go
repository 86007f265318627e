package cli_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A policy that names what nobody knows, or a number that cannot be, ends before
// any file is read.
func TestAPolicyThatCannotBeEndsTheProgram(t *testing.T) {
	dir := t.TempDir()
	for i, c := range []struct{ policy, says string }{
		{`{"max_items": -5}`, `field "max_items": "-5" is not a whole number`},
		{`{"refuse_findings": ["gguf.token_dup"]}`, `field "refuse_findings": no finding has the name "gguf.token_dup"`},
		{`{"refuse_formats": ["pickle"]}`, `field "refuse_formats": no format has the name "pickle" (gguf, npy,`},
		{`{"quirks": ["gguf.gap"]}`, `field "quirks": no quirk has the name "gguf.gap"`},
	} {
		policy := filepath.Join(dir, fmt.Sprint(i, ".json"))
		if err := os.WriteFile(policy, []byte(c.policy), 0o666); err != nil {
			t.Fatal(err)
		}
		for _, command := range []string{"inspect", "scan"} {
			r := amn(t, nil, command, "--limits", policy, filepath.Join(dir, "absent.gguf"))
			if r.code != 2 || !strings.Contains(r.err, c.says) || r.out != "" {
				t.Errorf("%s %s: exit %d, %q", command, c.policy, r.code, r.err)
			}
		}
	}
}

// More shards than files may be open are refused by class.
func TestShardsBeyondTheOpenFilesAreALimit(t *testing.T) {
	dir := t.TempDir()
	const shards = 12
	for i := range shards {
		header := fmt.Sprintf(`{"t%d":{"dtype":"U8","shape":[0],"data_offsets":[0,0]}}`, i)
		file := fmt.Sprintf("%c\x00\x00\x00\x00\x00\x00\x00%s", len(header), header)
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("model-%05d-of-%05d.safetensors", i+1, shards)), []byte(file), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	if r := amn(t, nil, "inspect", "--max-open-files", "12", dir); r.code != 0 {
		t.Errorf("as many files as shards: exit %d, %s", r.code, r.err)
	}
	r := amn(t, nil, "inspect", "--max-open-files", "11", dir)
	if r.code != 6 || !strings.Contains(r.err, "limit open_files: 1 wanted, 0 left") || !strings.Contains(r.err, "--max-open-files raises it") {
		t.Errorf("exit %d, %s", r.code, r.err)
	}
}
