package polyglot_test

import (
	"crypto/sha1"
	"strings"
	"testing"

	"github.com/anamnesis-go/anamnesis/internal/ledger"
	"github.com/anamnesis-go/anamnesis/internal/polyglot"
	"github.com/anamnesis-go/anamnesis/limits"
)

// Files that git writes for itself are harmless if they are complete; files that only begin like
// them are not.
func TestFilesOfGitAreHarmlessIfComplete(t *testing.T) {
	ledger.Charges(t)
	summed := func(text string) string {
		sum := sha1.Sum([]byte(text))
		return text + string(sum[:])
	}
	for _, c := range []struct{ data, want string }{
		{summed("DIRC\x00\x00\x00\x02\x00\x00\x00\x00"), "a file of git"},
		{summed("PACK\x00\x00\x00\x02\x00\x00\x00\x00"), "a file of git"},
		{summed("\xfftOc\x00\x00\x00\x02" + strings.Repeat("\x00", 1064)), "a file of git"},
		{summed("CGPH\x01\x01\x04\x00" + strings.Repeat("\x00", 80)), "a file of git"},
		{"blob 4\x00text", "an object of git"},
		{"blob 43\x00version https://git-lfs.github.com/spec/v1\n", "an object of git"},
		{"blob 5\x00\x80\x02N.x", ""}, // a checkout writes it as a file
		{"blob 13\x00cos\nsystem\n)R", ""},
		{"blob 11\x00blob 4\x00text", ""},
		{"tree 0\x00", "an object of git"},
		{"commit 2\x00a\n", "an object of git"},
		{summed("DIRC\x00\x00\x00\x02\x00\x00\x00\x00") + "x", ""},
		{"DIRC\x00\x00\x00\x02\x00\x00\x00\x00" + strings.Repeat("\x00", 20), ""},
		{"PACK\x00\x00\x00\x02", ""},
		{summed("DIRC\x00\x00\x00\x09\x00\x00\x00\x00"), ""},
		{summed("PACK\x00\x00\x00\x02\ncos\nsystem\n(S'id'\ntR."), ""},                              // a pickle for a loader with persistent objects
		{summed("CGPH\x01\x01\x04\x00" + strings.Repeat("x", 65) + "cos\nsystem\n(S'id'\ntR."), ""}, // a pickle: bytes, then a call
		// A ZIP archive to readers that look only for its end record: the checksum is its comment.
		{summed("PACK\x00\x00\x00\x02\x00\x00\x00\x00PK\x05\x06" + strings.Repeat("\x00", 16) + "\x14\x00"), ""},
		{"blob 6\x00\x80\x02N.x", ""},
		{"blob 05\x00\x80\x02N.x", ""},
		{"blob -1\x00", ""},
		{"blob 5", "a text"},
	} {
		b := limits.Policy{}.Budget(t.Context())
		got, err := polyglot.Harmless(b, strings.NewReader(c.data), int64(len(c.data)))
		if err != nil || got != c.want {
			t.Errorf("%.40q: %q, want %q; %v", c.data, got, c.want, err)
		}
		b.Close()
	}
}
