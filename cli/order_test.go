package cli_test

import (
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/anamnesis-go/anamnesis/cli"
)

// layered writes a model whose layers are sorted by bytes: 0, 1, 10, 11, 2.
func layered(t *testing.T, name string, value byte) string {
	t.Helper()
	head, at := "{", 0
	for _, n := range []int{0, 1, 10, 11, 2} {
		head += fmt.Sprintf(`"model.language_model.layers.%d.self_attn.q_proj.weight":{"dtype":"U8","shape":[4],"data_offsets":[%d,%d]},`, n, at, at+4)
		at += 4
	}
	head = head[:len(head)-1] + "}"
	head += strings.Repeat(" ", -len(head)&7)
	data := append(binary.LittleEndian.AppendUint64(nil, uint64(len(head))), head...)
	for range at {
		data = append(data, value)
	}
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// Every listing for people has layer 2 before layer 10.
func TestListingsHaveLayersInOrder(t *testing.T) {
	path, other := layered(t, "a.safetensors", 1), layered(t, "b.safetensors", 2)
	for _, args := range []string{
		"parse " + path, "parse --sort name " + path, "parse --tensor *weight " + path, "stats " + path, "hash " + path, "diff " + path + " " + other,
		"convert --to safetensors --dry-run --rename model.*=* " + path, "edit --dry-run --rename model.*=* -o x.safetensors " + path,
	} {
		r := amn(t, nil, strings.Fields(args)...)
		var at []int
		for _, n := range []int{0, 1, 2, 10, 11} {
			at = append(at, strings.Index(r.out, fmt.Sprintf("layers.%d.", n)))
		}
		for i := range at {
			if at[i] < 0 || i > 0 && at[i] < at[i-1] {
				t.Errorf("%s: %v\n%s%s", args, at, r.out, r.err)
				break
			}
		}
	}
	for _, args := range []string{"parse --sort file " + path, "parse --json " + path} {
		if out := amn(t, nil, strings.Fields(args)...).out; strings.Index(out, "layers.10.") > strings.Index(out, "layers.2.") {
			t.Errorf("%s is not in the order of the file:\n%s", args, out)
		}
	}
}

// However narrow a terminal is, what tells one name from the next is there.
func TestNarrowTerminalsTellNamesApart(t *testing.T) {
	path, other := layered(t, "a.safetensors", 1), layered(t, "b.safetensors", 2)
	for _, args := range []string{"parse " + path, "stats " + path, "hash " + path, "diff " + path + " " + other, "convert --to safetensors --dry-run --rename model.*=* " + path} {
		var out, errs strings.Builder
		cli.Main(t.Context(), strings.Fields(args), cli.Stdio{In: strings.NewReader(""), Out: &out, Err: &errs, Columns: 60})
		if !utf8.ValidString(out.String()) || strings.Count(out.String(), "10.self_attn.q_proj.weight") == 0 || strings.Count(out.String(), "2.self_attn.q_proj.weight") == 0 {
			t.Errorf("%s:\n%s%s", args, out.String(), errs.String())
		}
	}
}

// A name that no tensor has is an error, and nothing is printed for it.
func TestANameThatMatchesNoTensorIsAnError(t *testing.T) {
	path := layered(t, "a.safetensors", 1)
	out := filepath.Join(t.TempDir(), "out")
	for _, args := range []string{
		"parse --tensor nomatch " + path, "stats --tensor nomatch " + path, "diff --tensor nomatch " + path + " " + path,
		"dequantize --copy --tensor nomatch -o " + out + " " + path, "convert --to npz --keep nomatch -o " + out + " " + path,
		"convert --to npz --drop nomatch -o " + out + " " + path, "convert --to npz --strip-prefix nomatch -o " + out + " " + path,
		"convert --to npz --rename nomatch=x -o " + out + " " + path, "convert --to npz --select nomatch -o " + out + " " + path,
		"edit --rename nomatch=x -o " + out + " " + path, "edit --delete nomatch -o " + out + " " + path,
		"quantize --exclude nomatch -o " + out + " " + path, "quantize --include nomatch -o " + out + " " + path,
	} {
		r := amn(t, nil, strings.Fields(args)...)
		if r.code != 2 || r.out != "" || !strings.Contains(r.err, "amn: ") {
			t.Errorf("%s: exit %d\n%s%s", args, r.code, r.out, r.err)
		}
		if _, err := os.Lstat(out); err == nil {
			t.Errorf("%s wrote something", args)
			os.RemoveAll(out)
		}
	}
}
