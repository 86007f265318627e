package fuzz_test

import (
	"bytes"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/anamnesis-go/anamnesis/corpus"
	"github.com/anamnesis-go/anamnesis/fuzz"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/pth"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
	"github.com/anamnesis-go/anamnesis/vm"
)

var pthTarget = fuzz.Models(pth.Decode)

// agree tests that Scan and Decode agree on a file: an accepted file has no forbidden
// global and the same tensors, a refused one is refused, and is forbidden if Decode says
// so.
func agree(t *testing.T, data []byte) {
	t.Helper()
	b := fuzz.Ceilings.Budget(t.Context())
	defer b.Close()
	loaded, err := pth.Decode(b, bytes.NewReader(data), int64(len(data)))
	again := fuzz.Ceilings.Budget(t.Context())
	defer again.Close()
	scanned := pth.Scan(again, bytes.NewReader(data), int64(len(data)))
	if wire.ClassOf(err) == wire.Limit || wire.ClassOf(scanned.Err) == wire.Limit {
		return // a scan holds more than a load
	}
	if kind, _ := pth.Sniff(data[:min(len(data), pth.SniffLen)]); kind != pth.KindArchive && kind != pth.KindLegacy {
		return // what only a scan reads
	}
	if err != nil {
		if class := wire.ClassOf(err); scanned.Err == nil || class == wire.Forbidden && wire.ClassOf(scanned.Err) != class {
			t.Fatalf("load says %v, scan %v", err, scanned.Err)
		}
		return
	}
	if scanned.Err != nil {
		t.Fatalf("load accepts, scan says %v", scanned.Err)
	}
	for _, p := range scanned.Pickles {
		if !p.Report.Safe.OK {
			t.Fatalf("load accepts, scan says of %s: %+v", p.Name, p.Report.Safe)
		}
		for _, g := range p.Report.Graph.Globals() {
			if g.Status != vm.Allowed {
				t.Fatalf("load accepts, scan finds %v %v", g.Status, g)
			}
		}
	}
	want, got := slices.Collect(loaded.Tensors()), slices.Collect(scanned.File.Tensors())
	if diff := cmp.Diff(want, got); diff != "" {
		t.Fatalf("load -, scan +:\n%s", diff)
	}
}

// build builds the file of a recipe.
func build(t *testing.T, text string) []byte {
	t.Helper()
	r, err := corpus.Parse("pth", "plan", text, []string{"ok"})
	if err != nil {
		t.Fatalf("the plan is no recipe: %v\n%s", err, text)
	}
	return r.Bytes()
}

// records names the members of a built archive as torch does; the first body is the
// pickle.
func records(pickle []byte) fuzz.Naming {
	return func(i int, raw []byte) (string, []byte) {
		switch i {
		case 0:
			return "a/data.pkl", pickle
		case 1:
			return "a/version", []byte("3\n")
		}
		if len(raw) > 0 && raw[0]&15 == 15 {
			return "a/byteorder", []byte("big")
		}
		return "a/data/" + string(rune('0'+i-2)), raw
	}
}

// control returns the byte that decides about other members.
func control(data []byte) byte {
	if len(data) == 0 {
		return 0
	}
	return data[len(data)-1]
}

// FuzzPTH tests the reader with any bytes, archives of planned checkpoints, and planned
// archives around them.
func FuzzPTH(f *testing.F) {
	addSeeds(f, "pth")
	answersFirst(f, "read")
	f.Fuzz(func(t *testing.T, data []byte) {
		pthTarget.Check(t, data)
		agree(t, data)
		plan := fuzz.NewCheckpoint(data, false)
		whole := build(t, plan.Archive(control(data)))
		pthTarget.Check(t, whole)
		agree(t, whole)
		broken := fuzz.Archive(t, data, records(plan.Pickle))
		pthTarget.Check(t, broken)
		agree(t, broken)
	})
}

// A planned checkpoint without a defect on purpose must mostly be accepted: else
// the target would only ever see refusals.
func TestPlannedCheckpointsAreMostlyAccepted(t *testing.T) {
	for _, legacy := range []bool{false, true} {
		accepted, total, tensors := 0, 0, 0
		for seed := range 400 {
			data := bytesOf(uint64(seed), 300)
			plan := fuzz.NewCheckpoint(data, legacy)
			if plan.Defects > 0 {
				continue
			}
			file := plan.Legacy()
			if !legacy {
				file = build(t, plan.Archive(1))
			}
			b := limits.Policy{}.Budget(t.Context())
			m, err := pth.Decode(b, bytes.NewReader(file), int64(len(file)))
			total++
			if err == nil {
				accepted++
				tensors += m.Len()
			}
			b.Close()
		}
		if total < 20 || accepted*4 < total || tensors < 4*accepted {
			t.Errorf("legacy %v: %d of %d accepted, %d tensors", legacy, accepted, total, tensors)
		}
	}
}

// bytesOf returns n bytes from a seed.
func bytesOf(seed uint64, n int) []byte {
	out := make([]byte, n)
	for i := range out {
		seed = seed*6364136223846793005 + 1442695040888963407
		out[i] = byte(seed >> 56)
	}
	return out
}

// FuzzTensorsOnly reads only the tensors of checkpoints whose pickles may request
// anything. A file that is accepted anyway must have the same tensors.
func FuzzTensorsOnly(f *testing.F) {
	addSeeds(f, "pth")
	policy := fuzz.Ceilings
	policy.Quirks = []string{pth.QuirkTensorsOnly}
	target := pthTarget
	target.Policy = &policy
	same := func(t *testing.T, data []byte) {
		target.Check(t, data)
		var found [2][]tensor.Info
		for i, p := range [...]*limits.Policy{&fuzz.Ceilings, &policy} {
			b := p.Budget(t.Context())
			defer b.Close()
			m, err := pth.Decode(b, bytes.NewReader(data), int64(len(data)))
			if err != nil {
				if i == 1 && wire.ClassOf(err) != wire.Limit {
					t.Fatalf("accepted, and refused where more is taken: %v", err)
				}
				return
			}
			found[i] = slices.Collect(m.Tensors())
		}
		if diff := cmp.Diff(found[0], found[1]); diff != "" {
			t.Fatalf("without the leniency -, with it +:\n%s", diff)
		}
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		same(t, data)
		plan := fuzz.NewCheckpoint(data, control(data)&1 != 0)
		if control(data)&1 != 0 {
			same(t, plan.Legacy())
		} else {
			same(t, build(t, plan.Archive(control(data))))
		}
		same(t, fuzz.Archive(t, data, records(plan.Pickle)))
	})
}
