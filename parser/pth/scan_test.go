package pth_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/anamnesis-go/anamnesis/corpus"
	"github.com/anamnesis-go/anamnesis/internal/faulty"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/pth"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

func scan(t testing.TB, data string) *pth.Report {
	t.Helper()
	b := limits.Policy{}.Budget(t.Context())
	t.Cleanup(b.Close)
	return pth.Scan(b, strings.NewReader(data), int64(len(data)))
}

// pickles lists the names of the pickles of a report, with what is refused in each.
func pickles(r *pth.Report) []string {
	var out []string
	for _, p := range r.Pickles {
		text := p.Name
		for _, g := range p.Report.Graph.Globals() {
			if g.Status != 0 {
				text += " " + g.String()
			}
		}
		out = append(out, text)
	}
	return out
}

// recipe builds a hostile file by its name.
func recipe(t testing.TB, name string) string {
	t.Helper()
	for _, r := range corpus.Hostile("pth") {
		if r.Name == name {
			return string(r.Bytes())
		}
	}
	t.Fatalf("no recipe %s", name)
	return ""
}

// A scan sees every pickle, whichever of them is forbidden.
func TestScanContinuesAfterAForbiddenPickle(t *testing.T) {
	five := []string{"pickle 1 (magic)", "pickle 2 (protocol)", "pickle 3 (system)", "pickle 4 (checkpoint)", "pickle 5 (keys)"}
	for k, name := range map[int]string{1: "legacy-call-in-protocol", 2: "legacy-call-in-system", 4: "legacy-call-in-keys"} {
		want := slices.Clone(five)
		want[k] += " os.system"
		r := scan(t, recipe(t, name))
		if diff := cmp.Diff(want, pickles(r)); diff != "" || wire.ClassOf(r.Err) != wire.Forbidden {
			t.Errorf("%s: %v\n%s", name, r.Err, diff)
		}
	}
	r := scan(t, recipe(t, "call-in-pickle"))
	if diff := cmp.Diff([]string{"data.pkl os.system"}, pickles(r)); diff != "" || wire.ClassOf(r.Err) != wire.Forbidden || r.File != nil {
		t.Errorf("%v\n%s", r.Err, diff)
	}
}

const call = "\x80\x02cos\nsystem\nX\x02\x00\x00\x00id\x85R."

func TestScanOfPlainPickles(t *testing.T) {
	for _, c := range []struct {
		data  string
		class wire.Class
		want  []string
	}{
		{"\x80\x02K\x01.", wire.OK, []string{"pickle"}},
		{"\x80\x02K\x01.\x80\x04N.", wire.OK, []string{"pickle", "pickle 2"}},
		{"\x80\x02K\x01." + call, wire.Forbidden, []string{"pickle", "pickle 2 os.system"}},
		{call + call, wire.Forbidden, []string{"pickle os.system", "pickle 2 os.system"}},
		{call + "\xff", wire.Forbidden, []string{"pickle os.system", "pickle 2"}},
		{"\x80\x02K\x01.\xff", wire.Malformed, []string{"pickle", "pickle 2"}},
		{"\x80\x02K", wire.Truncated, []string{"pickle"}},
		{"cos\nsystem\n(S'id'\ntR", wire.Forbidden, []string{"pickle os.system"}}, // cut after the call
		{"", wire.Truncated, nil},
		{strings.Repeat("\x80\x02N.", 1025), wire.Unsupported, nil},
	} {
		r := scan(t, c.data)
		if got := wire.ClassOf(r.Err); got != c.class {
			t.Errorf("%.20q: class %v: %v", c.data, got, r.Err)
		}
		if diff := cmp.Diff(c.want, pickles(r)); diff != "" && c.want != nil {
			t.Errorf("%.20q: %s", c.data, diff)
		}
	}
}

func TestScanRefusesAPickleThatIsAnArchiveToo(t *testing.T) {
	end := "PK\x05\x06" + strings.Repeat("\x00", 18) // zipfile opens it anywhere in the last 64 KiB
	tar := []byte("\x80\x02X\xf9\x01\x00\x00" + strings.Repeat("\x00", 505) + "0N.")
	sum := 8 * int(' ')
	for _, c := range tar[:512] {
		sum += int(c)
	}
	copy(tar[148:], fmt.Sprintf("%o", sum))
	for name, data := range map[string]string{
		"a zip archive": "\x80\x04B\x16\x00\x00\x00" + end + "0N.",
		"a tar archive": string(tar),
	} {
		r := scan(t, data)
		if wire.ClassOf(r.Err) != wire.Unsupported || !strings.Contains(r.Err.Error(), "archive") {
			t.Errorf("%s: %v", name, r.Err)
		}
	}
}

// Other pickles of an archive are scanned too; other members are not.
func TestScanLooksAtEveryPickleOfAnArchive(t *testing.T) {
	build := func(extra string) string {
		r, err := corpus.Parse("pth", "x", "# a checkpoint\nexpect: ok\n--\nzip {\nentry \"a/data.pkl\" { op PROTO 2; op NONE; op STOP }\nentry \"a/version\" { str \"3\\n\" }\n"+extra+"\n}\n", []string{"ok"})
		if err != nil {
			t.Fatal(err)
		}
		return string(r.Bytes())
	}
	r := scan(t, build(`entry "a/hooks.pkl" { op PROTO 2; op GLOBAL "os" "system"; op STOP }`))
	if diff := cmp.Diff([]string{"hooks.pkl os.system", "data.pkl"}, pickles(r)); diff != "" || wire.ClassOf(r.Err) != wire.Forbidden {
		t.Errorf("%v\n%s", r.Err, diff)
	}
	r = scan(t, build(`entry "a/notes.pkl" { str "no pickle" }`))
	if r.Err != nil || r.File == nil || len(r.File.Findings()) != 1 {
		t.Errorf("%v", r.Err)
	}
	r = scan(t, build(`entry "a/empty.pkl" { }`))
	if r.Err != nil {
		t.Error(r.Err)
	}
}

// Each honest file is accepted, with both verdicts that torch itself gives.
func TestScanAcceptsWhatTorchWrote(t *testing.T) {
	refused := []string{"collections", "nested-tensor", "numpy"} // by torch's restricted loader
	for _, g := range goldens(t) {
		r := scan(t, string(checkpoint(t, g.File)))
		if r.Err != nil {
			t.Errorf("%s: %v", g.File, r.Err)
			continue
		}
		taken := true
		for _, p := range r.Pickles {
			if !p.Report.Safe.OK {
				t.Errorf("%s: %s is not safe: %v", g.File, p.Name, p.Report.Safe.Reasons)
			}
			taken = taken && p.Report.WeightsOnly.OK
		}
		want := !strings.Contains(g.File, "-p4") && !strings.Contains(g.File, "-p5") &&
			!slices.ContainsFunc(refused, func(s string) bool { return strings.HasPrefix(g.File, s) })
		if taken != want && !strings.Contains(g.File, "-p3") {
			t.Errorf("%s: torch's restricted loader takes it: %v, want %v", g.File, taken, want)
		}
	}
}

// A smaller account ends a scan with class limit, at any place.
func TestScanKeepsToItsAccount(t *testing.T) {
	for _, name := range []string{"checkpoint.pt", "checkpoint-legacy.pt"} {
		data := checkpoint(t, name)
		whole := limits.Policy{}.Budget(t.Context())
		if r := pth.Scan(whole, bytes.NewReader(data), int64(len(data))); r.Err != nil {
			t.Fatal(r.Err)
		}
		peak := whole.Usage()[limits.Total].Peak
		whole.Close()
		for most := int64(1); most < peak; most += 1 + peak/200 {
			for _, decode := range []func(*limits.Budget, io.ReaderAt, int64) error{
				func(b *limits.Budget, r io.ReaderAt, n int64) error { return pth.Scan(b, r, n).Err },
				func(b *limits.Budget, r io.ReaderAt, n int64) error { _, err := pth.Decode(b, r, n); return err },
			} {
				b := limits.Policy{MaxTotalBytes: most}.Budget(t.Context())
				if err := decode(b, bytes.NewReader(data), int64(len(data))); err != nil && wire.ClassOf(err) != wire.Limit {
					t.Errorf("%s with %d bytes: %v", name, most, err)
				}
				b.Close()
			}
		}
	}
}

// An error of the reader is never a verdict on the file.
func TestDecodeKeepsTheReadersErrors(t *testing.T) {
	for _, name := range []string{"checkpoint.pt", "tied-legacy.pt"} {
		data := checkpoint(t, name)
		failed := 0
		for from := range int64(len(data)) {
			b := limits.Policy{}.Budget(t.Context())
			f, err := pth.Decode(b, faulty.Reader{Data: data, From: from}, int64(len(data)))
			if err == nil {
				err = f.Verify(b)
			}
			if err != nil {
				failed++
				if !errors.Is(err, faulty.ErrDisk) || wire.ClassOf(err) != wire.Internal {
					t.Fatalf("%s from %d on: %v", name, from, err)
				}
			}
			b.Close()
		}
		if failed < len(data)/2 {
			t.Errorf("%s: only %d of %d failed", name, failed, len(data))
		}
	}
}

// A File is read by many at once.
func TestFilesAreSafeForConcurrentUse(t *testing.T) {
	f, b := decode(t, checkpoint(t, "conj-neg.pt"))
	want := shown(t, f, b)
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			if diff := cmp.Diff(want, shown(t, f, b)); diff != "" {
				t.Error(diff)
			}
			for range f.Meta() {
			}
			if err := f.Verify(b); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
}

func TestSniffRecognizesPickles(t *testing.T) {
	for _, c := range []struct {
		head string
		kind pth.Kind
		name string
	}{
		{"", pth.KindNone, ""},
		{"PK\x03\x04", pth.KindArchive, ""},
		{"PK\x05\x06", pth.KindNone, ""},
		{string(checkpoint(t, "tied-legacy.pt")), pth.KindLegacy, ""},
		{string(checkpoint(t, "checkpoint-legacy-p4.pt")), pth.KindLegacy, ""},
		{"L119547037146038801333356L\n.", pth.KindLegacy, ""},
		{"L119547037146038801333357L\n.", pth.KindNone, ""},
		{"\x80\x02\x8a", pth.KindNone, ""}, // too short to be told
		{"\x80\x02}.", pth.KindPickle, ""},
		{"\x80\x06}.", pth.KindNone, ""},
		{"\x1f\x8b\x08", pth.KindWrapper, "gzip stream"},
		{strings.Repeat("x", 257) + "ustar\x0000", pth.KindWrapper, "tar archive (PyTorch 0.1, or a packed folder)"},
		{"hello", pth.KindNone, ""},
	} {
		kind, name := pth.Sniff([]byte(c.head[:min(len(c.head), pth.SniffLen)]))
		if kind != c.kind || name != c.name {
			t.Errorf("%.20q is %v %q, want %v %q", c.head, kind, name, c.kind, c.name)
		}
	}
}

// Findings of a checkpoint, by code.
func TestFindings(t *testing.T) {
	codes := func(found []tensor.Finding) (out []string) {
		for _, f := range found {
			out = append(out, f.Code)
		}
		return out
	}
	f, _ := decode(t, checkpoint(t, "colliding.pt"))
	if diff := cmp.Diff([]string{"pth.name-collision"}, codes(f.Findings())); diff != "" {
		t.Error(diff)
	}
	for _, code := range []string{"pth.name-collision", "*"} {
		b := limits.Policy{RefuseFindings: []string{code}}.Budget(t.Context())
		data := checkpoint(t, "colliding.pt")
		if _, err := pth.Decode(b, bytes.NewReader(data), int64(len(data))); wire.ClassOf(err) != wire.Forbidden {
			t.Error(err)
		}
		b.Close()
	}
}

// A file that joblib compressed is named as such, and not called a broken pickle.
func TestScanNamesACompressedPickle(t *testing.T) {
	for _, level := range []string{"\x01", "\x5e", "\x9c", "\xda"} {
		err := scan(t, "x"+level+"\x63\x64\x01\x00").Err
		if wire.ClassOf(err) != wire.Unsupported || !strings.Contains(err.Error(), "zlib") {
			t.Error(err)
		}
	}
	if err := scan(t, "x\x00\x63\x64").Err; wire.ClassOf(err) != wire.Malformed {
		t.Error(err)
	}
}
