package gate_test

import (
	"archive/zip"
	"iter"
	"os"
	"path/filepath"
	"testing"

	"github.com/anamnesis-go/anamnesis/gate"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
)

// A part of a distributed checkpoint is judged with the file that describes it, or refused: it is no
// data because a file beside it lists it that is not judged itself. A shell's * leaves .metadata
// out, and so may an exclusion.
func TestAPartIsJudgedWithItsDescriptionOrRefused(t *testing.T) {
	dir := t.TempDir()
	z, err := zip.OpenReader("../corpus/valid/dcp/plain.zip")
	if err != nil {
		t.Fatal(err)
	}
	defer z.Close()
	if err := os.CopyFS(dir, z); err != nil {
		t.Fatal(err)
	}
	part := filepath.Join(dir, "__0_0.distcp")
	hostile := func(path string) {
		t.Helper()
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		text := make([]byte, info.Size())
		copy(text, "\x80\x02cos\nsystem\nX\x02\x00\x00\x00id\x85R.")
		if err := os.WriteFile(path, text, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	leaveOut, err := gate.Exclude(".metadata")
	if err != nil {
		t.Fatal(err)
	}
	honest := true
	for range 2 {
		for _, tc := range []struct {
			name, path string
			gate       gate.Gate
			accepted   bool
		}{
			{"the folder", dir, gate.Gate{}, honest},
			{"the part alone", part, gate.Gate{}, false},
			{"without its description", dir, gate.Gate{Exclude: leaveOut}, false},
		} {
			b := limits.Policy{}.Budget(t.Context())
			inside := "."
			if tc.path == part {
				inside = filepath.Base(part)
			}
			for how, all := range map[string]iter.Seq2[*gate.Verdict, error]{"CheckPath": tc.gate.CheckPath(b, tc.path), "CheckFS": tc.gate.CheckFS(b, os.DirFS(dir), inside, inside)} {
				worst := wire.OK
				for v, err := range all {
					if err != nil {
						t.Fatal(err)
					}
					worst = max(worst, v.Class())
					v.Close()
				}
				if (worst == wire.OK) != tc.accepted {
					t.Errorf("honest %v, %s, %s: %v", honest, tc.name, how, worst)
				}
			}
			b.Close()
		}
		hostile(part)
		honest = false
	}
}
