package gate_test

import (
	"encoding/binary"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/anamnesis-go/anamnesis/gate"
)

// The first byte of a safetensors file is the low byte of a length. It may be any instruction of a
// pickle, letter or magic, and the file is still judged as safetensors.
func TestFirstByteOfSafetensors(t *testing.T) {
	for c := range 256 {
		size := c + 256
		for what, header := range map[string]string{
			"ok":                      `{"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}}`,
			"safetensors.tensor-size": `{"a":{"dtype":"U8","shape":[1],"data_offsets":[0,2]}}`,
			"json.syntax":             `{"a" 1}`,
			"safetensors.truncated":   `{"a":{`,
		} {
			text := string(binary.LittleEndian.AppendUint64(nil, uint64(size))) + header + strings.Repeat(" ", size-len(header)) + "x"
			if what == "safetensors.truncated" {
				text = text[:100]
			}
			for _, name := range []string{"", "file.safetensors", "file.pkl"} {
				for _, beside := range []bool{false, true} {
					v, _ := check(t, gate.Gate{}, text, gate.Hint{Name: name, Beside: beside})
					got := "ok"
					if r := v.Refusals(); len(r) > 0 {
						got = r[0].Rule
					}
					if got != what {
						t.Errorf("%#02x %q (beside %v): %s, want %s: %v", c, name, beside, got, what, v.Err)
					}
					if rule := streamed(t, text, name); rule != "" && rule != what {
						t.Errorf("%#02x %q: %s while it comes, want %s", c, name, rule, what)
					}
				}
			}
		}
	}
}

// streamed returns the rule that refuses a file while it arrives, if any.
func streamed(t *testing.T, text, name string) string {
	t.Helper()
	var g gate.Gate
	b := g.Policy.Limits.Budget(t.Context())
	defer b.Close()
	s := g.Stream(b, int64(len(text)), gate.Hint{Name: name})
	defer s.Close()
	if _, err := io.WriteString(s, text); err != nil && !errors.Is(err, gate.ErrRefused) {
		t.Fatal(err)
	}
	if v := s.Verdict(); v != nil {
		return v.Refusals()[0].Rule
	}
	return ""
}

// A complete ZIP archive with a bad first member is refused for that member, like a truncated one,
// wherever in the member's header the reason is.
func TestTheFirstMemberIsJudgedBeforeTheEndRecord(t *testing.T) {
	for _, n := range []int{1, 40, 70, 300, 4000, 5000} {
		name := strings.Repeat("n", n-1) + "\x01"
		header := "PK\x03\x04" + strings.Repeat("\x00", 22) + string(binary.LittleEndian.AppendUint16(nil, uint16(n))) + "\x00\x00" + name
		text := header + strings.Repeat("0", 6000)
		v, _ := check(t, gate.Gate{}, text, gate.Hint{Name: "m.pt"})
		whole, come := v.Refusals()[0].Rule, streamed(t, text, "m.pt")
		if come != "" && come != whole || n <= 4000 && come != "zip.name-control" {
			t.Errorf("a name of %d bytes: %q while it comes, %q when it is whole", n, come, whole)
		}
	}
}
