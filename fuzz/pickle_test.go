package fuzz_test

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/anamnesis-go/anamnesis/fuzz"
	"github.com/anamnesis-go/anamnesis/internal/effort"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/limits/limitstest"
	"github.com/anamnesis-go/anamnesis/vm"
)

var pickleTarget = fuzz.Target{
	Read: func(b *limits.Budget, r io.ReaderAt, size int64) (fuzz.Answer, error) {
		g, err := vm.Load(b, r, 0, size)
		if err != nil {
			return fuzz.Answer{}, err
		}
		return fuzz.Text(describe(g)), nil
	},
	Measured: func(b *limits.Budget, r io.ReaderAt, size int64) error {
		_, err := vm.Load(b, r, 0, size)
		return err
	},
}

var scanTarget = fuzz.Target{
	Read: func(b *limits.Budget, r io.ReaderAt, size int64) (fuzz.Answer, error) {
		report := vm.ScanNext(b, r, 0, size)
		if err := report.Refusal(); err != nil {
			return fuzz.Answer{}, err
		}
		return fuzz.Text(describe(report.Graph) + events(report)), nil
	},
	Measured: func(b *limits.Budget, r io.ReaderAt, size int64) error {
		return vm.ScanNext(b, r, 0, size).Err
	},
}

// FuzzPickle tests the machine with any bytes, and with pickles whose values come from
// bytes: honest, damaged, and with an attack.
func FuzzPickle(f *testing.F) {
	addSeeds(f, "pickle")
	f.Fuzz(func(t *testing.T, data []byte) {
		pickleTarget.Check(t, data)
		if !pickleTarget.Check(t, fuzz.NewPickle(data).Bytes()) {
			t.Error("an honest pickle is refused")
		}
		pickleTarget.Check(t, fuzz.NewPickle(data).Damaged())
		if pickleTarget.Check(t, fuzz.NewPickle(data).Attack()) {
			t.Error("an attack is accepted")
		}
	})
}

// FuzzScan tests that a scan and a load of the same bytes agree, and that a listing ends
// where the scan does.
func FuzzScan(f *testing.F) {
	addSeeds(f, "pickle")
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, pickle := range [][]byte{data, fuzz.NewPickle(data).Damaged(), fuzz.NewPickle(data).Attack(), fuzz.Fragments(data)} {
			scanTarget.Check(t, pickle)
			sameRuns(t, pickle, fuzz.Ceilings)
		}
	})
}

// sameRuns compares two runs on the same bytes. A load that accepts returns what the scan
// does, and the scan finds nothing wrong; a load that refuses does so at the first offset
// that the scan reports.
func sameRuns(t testing.TB, data []byte, policy limits.Policy) {
	t.Helper()
	g, err := vm.Load(limitstest.Open(t, policy), bytes.NewReader(data), 0, int64(len(data)))
	report := vm.Scan(limitstest.Open(t, policy), bytes.NewReader(data), 0, int64(len(data)))
	first := firstOf(report)
	switch {
	case wire.ClassOf(err) == wire.Limit || wire.ClassOf(report.Err) == wire.Limit:
		return // a scan remembers more
	case err == nil:
		if first != nil || !report.Safe.OK || describe(g) != describe(report.Graph) {
			t.Errorf("load accepts, scan says %v %+v\n%s\n%s", first, report.Safe, describe(g), describe(report.Graph))
		}
		if g.WeightsOnly().OK != report.WeightsOnly.OK {
			t.Errorf("weights_only: load says %+v, scan %+v", g.WeightsOnly(), report.WeightsOnly)
		}
	case report.Safe.OK || wire.ClassOf(first) != wire.ClassOf(err) || offset(first) != offset(err):
		t.Errorf("load says %v, scan %v, safe %v", err, first, report.Safe.OK)
	}
	if n := strings.Count(events(report), "\n"); n != report.Len() {
		t.Errorf("%d events are listed of %d", n, report.Len())
	}
	plain := vm.ScanPlain(limitstest.Open(t, policy), bytes.NewReader(data), 0, int64(len(data)))
	if plain.Safe.OK && !report.Safe.OK && !strings.Contains(string(data), "joblib") || report.Safe.OK && !plain.Safe.OK {
		t.Errorf("a plain scan says %v, a scan %v", plain.Refusal(), report.Refusal())
	}
	for line, err := range vm.DisassemblePlain(limitstest.Open(t, policy), bytes.NewReader(data), 0, int64(len(data))) {
		if err == nil && line.Op == "" {
			t.Error("a plain listing has a line without an instruction")
		}
	}
	listed(t, data, report, policy)
}

// firstOf returns the first thing that a scan found: a refusal, or something forbidden.
func firstOf(r *vm.Report) error {
	refusal := r.Refusal()
	if r.Err != nil && (refusal == nil || offset(r.Err) <= offset(refusal)) {
		return r.Err
	}
	return refusal
}

// listed tests that a listing has a line for each instruction, in order, and the scan's
// error.
func listed(t testing.TB, data []byte, report *vm.Report, policy limits.Policy) {
	t.Helper()
	var at int64
	var last error
	for line, err := range vm.Disassemble(limitstest.Open(t, policy), bytes.NewReader(data), 0, int64(len(data))) {
		if last != nil {
			t.Fatal("the listing goes on after an error")
		}
		if last = err; err != nil {
			break
		}
		if line.Off < at || line.Op == "" || line.Depth < 0 || len(line.Text) > 300 || strings.ContainsAny(line.String(), "\n\r\x1b") {
			t.Fatalf("line %+v after %#x", line, at)
		}
		at = line.Off + 1
	}
	if wire.ClassOf(last) != wire.Limit && wire.ClassOf(report.Err) != wire.Limit && (last == nil) != (report.Err == nil) {
		t.Errorf("the listing says %v, the scan %v", last, report.Err)
	}
}

// describe returns a digest of a graph. A value met before is written as its number, so
// that shared and copied values differ.
func describe(g *vm.Graph) string {
	d := describer{seen: map[vm.Value]int{}}
	d.value(g.Root())
	for _, global := range g.Globals() {
		fmt.Fprintf(&d.out, "%v %v %d\n", global, global.Status, global.Off)
	}
	fmt.Fprint(&d.out, g.Notes(), g.WeightsOnly().OK, g.Protocol(), g.End())
	sum := sha256.Sum256([]byte(d.out.String()))
	return fmt.Sprintf("%d values, %x", len(d.seen), sum[:8])
}

type describer struct {
	out  strings.Builder
	seen map[vm.Value]int
}

func (d *describer) value(v vm.Value) {
	if i, ok := d.seen[v]; ok {
		fmt.Fprintf(&d.out, "#%d ", i)
		return
	}
	d.seen[v] = len(d.seen)
	fmt.Fprintf(&d.out, "(%v %v %d ", v.Kind(), v.ID(), v.Off())
	switch v.Kind() {
	case vm.KindInt:
		fmt.Fprint(&d.out, v.Big())
	case vm.KindFloat:
		fmt.Fprintf(&d.out, "%x", v.Float())
	case vm.KindText, vm.KindBytes:
		fmt.Fprintf(&d.out, "%q", v.Text())
	case vm.KindTuple, vm.KindList, vm.KindSet:
		for e := range v.Elems() {
			d.value(e)
		}
	case vm.KindDict:
		for key, value := range v.Entries() {
			d.value(key)
			d.value(value)
		}
	case vm.KindObject:
		d.value(v.Args())
	case vm.KindPersistent:
		d.value(v.PID())
	case vm.KindGlobal:
		d.out.WriteString(v.Global().String())
	}
	if state, ok := v.State(); ok {
		d.value(state)
	}
	if extra, ok := v.Extra(); ok {
		d.value(extra)
	}
	d.out.WriteByte(')')
}

// events returns what a scan lists as text.
func events(r *vm.Report) string {
	var out strings.Builder
	for e := range r.Events() {
		fmt.Fprintf(&out, "%v %s %#x %v %v", e.Use, e.Op, e.Off, e.OK, e.On)
		if e.Given {
			out.WriteString(e.With.Shape())
		}
		out.WriteByte('\n')
	}
	return out.String()
}

// The corpus alone runs the machine: by a load, a scan and a listing of every
// file; of the small ones also once for each charge, with a budget that just
// does not cover it, and cut at every byte (every third where the search is not whole).
// The coverage of this test is that of the corpus:
//
//	go test -run CorpusRuns -coverpkg=./vm ./fuzz
func TestCorpusRunsThePickleMachine(t *testing.T) {
	for i, file := range append(hostile(t, "pickle"), valid(t, "pickle")...) {
		t.Run(file.name, func(t *testing.T) {
			sameRuns(t, file.data, file.policy)
			if len(file.data) <= 512 && i%effort.Of(3, 1) == 0 {
				starved(t, file)
			}
			if len(file.data) <= 128 && file.recipe != nil {
				for n := 0; n < len(file.data); n += effort.Of(3, 1) {
					sameRuns(t, file.data[:n], file.policy)
				}
			}
		})
	}
}

// The ways to run a pickle, and the ceilings that they reach.
var pickleRuns = map[string]func(b *limits.Budget, data []byte) error{
	"load": func(b *limits.Budget, data []byte) error {
		_, err := vm.Load(b, bytes.NewReader(data), 0, int64(len(data)))
		return err
	},
	"load next": func(b *limits.Budget, data []byte) error {
		_, err := vm.LoadNext(b, bytes.NewReader(data), 0, int64(len(data)))
		return err
	},
	"scan next": func(b *limits.Budget, data []byte) error {
		return vm.ScanNext(b, bytes.NewReader(data), 0, int64(len(data))).Err
	},
	"scan": func(b *limits.Budget, data []byte) error {
		return vm.Scan(b, bytes.NewReader(data), 0, int64(len(data))).Err
	},
	"list": func(b *limits.Budget, data []byte) (err error) {
		for _, err = range vm.Disassemble(b, bytes.NewReader(data), 0, int64(len(data))) {
		}
		return err
	},
}

// starved runs a pickle under a limit that is reached at the first charge, then at the
// second, and so on, with strides after the first few hundred. Each run must end with a
// limit error and return all charges.
func starved(t *testing.T, file file) {
	t.Helper()
	for name, run := range pickleRuns {
		for axis, lower := range pickleCeilings {
			policy := file.policy
			for ceiling := int64(1); ; {
				lower(&policy, ceiling)
				b := limitstest.Open(t, policy)
				err := run(b, file.data)
				limit, ok := errors.AsType[*limits.Error](err)
				if held := limitstest.Used(b, limits.WorkingSet); held != 0 {
					t.Fatalf("%s: %d bytes of working set are held at the end", name, held)
				}
				b.Close()
				if !ok || limit.Axis != axis || limit.Want <= limit.Left || ceiling > 1<<20 {
					break
				}
				ceiling += max(limit.Want-limit.Left, ceiling/int64(effort.Of(16, 256)))
			}
		}
	}
}

var pickleCeilings = map[limits.Axis]func(*limits.Policy, int64){
	limits.WorkingSet: func(p *limits.Policy, n int64) { p.MaxWorkingSet = n },
	limits.Depth:      func(p *limits.Policy, n int64) { p.MaxDepth = n },
	limits.Items:      func(p *limits.Policy, n int64) { p.MaxItems = n },
	limits.StepCount:  func(p *limits.Policy, n int64) { p.MaxSteps = n },
}

// Fragments that fit by chance come further than a damaged plan: some are taken,
// some are refused for each reason.
func TestFragmentsRunTheSameInLoadAndScan(t *testing.T) {
	ends := map[wire.Class]int{}
	total := effort.Of(4000, 20000)
	for seed := range total {
		data := fuzz.Fragments(bytesOf(uint64(seed), 2+seed%14))
		sameRuns(t, data, limits.Policy{})
		_, err := loadAll(t, data)
		ends[wire.ClassOf(err)]++
	}
	for _, c := range []wire.Class{wire.OK, wire.Malformed, wire.Truncated, wire.Unsupported, wire.Forbidden} {
		if ends[c] < total/400 {
			t.Errorf("%d of %d end as %v", ends[c], total, c)
		}
	}
}

// A generator that is often refused would test the door only.
func TestBuiltPicklesAreWhatTheyClaim(t *testing.T) {
	damaged, longest := 0, 0
	const plans = 3000
	for seed := range plans {
		plan := make([]byte, 40+seed%400)
		state := uint64(seed)*0x9e3779b97f4a7c15 + 1
		for i := range plan {
			state ^= state << 13
			state ^= state >> 7
			state ^= state << 17
			plan[i] = byte(state >> 32)
		}
		honest := fuzz.NewPickle(plan).Bytes()
		longest = max(longest, len(honest))
		if _, err := loadAll(t, honest); err != nil {
			t.Fatalf("seed %d: an honest pickle is refused: %v\n%q", seed, err, honest)
		}
		if _, err := loadAll(t, fuzz.NewPickle(plan).Attack()); !errors.Is(err, wire.ErrForbidden) {
			t.Fatalf("seed %d: an attack is %v", seed, err)
		}
		if _, err := loadAll(t, fuzz.NewPickle(plan).Damaged()); err == nil {
			damaged++
		}
	}
	if damaged < plans/20 || damaged > plans*19/20 || longest < 1000 {
		t.Errorf("%d of %d damaged pickles are accepted, the longest has %d bytes", damaged, plans, longest)
	}
}

func loadAll(t testing.TB, data []byte) (*vm.Graph, error) {
	b := limits.Policy{}.Budget(t.Context())
	defer b.Close()
	return vm.Load(b, bytes.NewReader(data), 0, int64(len(data)))
}
