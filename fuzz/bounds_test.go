package fuzz_test

import (
	"archive/zip"
	"bytes"
	"strings"
	"testing"

	"github.com/anamnesis-go/anamnesis/fuzz"
	"github.com/anamnesis-go/anamnesis/gate"
	"github.com/anamnesis-go/anamnesis/internal/sidecar"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
)

// Bounds of what decoding costs: a sum for each file, and one for each byte. A file that declares
// terabytes in 100 bytes gets no more.
const (
	freeBytes    = 1 << 20
	freeDecoder  = 5 << 20 // a block of bzip2, which its decoder makes room for at once
	bytesPerByte = 64
	freeSteps    = 8 * limits.StepBatch // a legacy checkpoint is five pickles, each with a meter of its own
	stepsPerByte = 16
)

func TestDecodingAllocatesWhatItCharges(t *testing.T) {
	makeTables(t)
	for _, file := range wholeCorpus(t) {
		f := formatOf(t, file.format)
		b := file.policy.Budget(t.Context())
		var m opened
		allocated, charged := fuzz.Cost(b, func() {
			m, _ = f.decode(b, bytes.NewReader(file.data), int64(len(file.data)))
		})
		costs(t, file, "decoding", allocated, charged)
		if m != nil {
			again, all := fuzz.Cost(b, func() { m.Verify(b) })
			costs(t, file, "verifying", again, all-charged)
			m.Close()
		}
		b.Close()
	}
}

// makeTables has the process make the tables that it makes once, whichever file asks first: the
// rules of the gate, the globals of libraries' data, of which a refusal of a global reads all, and
// the members that libraries read in configurations.
func makeTables(t *testing.T) {
	t.Helper()
	for _, names := range []string{"cos\nsystem\n.", "csklearn.svm\nSVC\n."} { // what no policy allows, and what a set has
		b := limits.Policy{}.Budget(t.Context())
		defer b.Close()
		v, err := gate.Check(b, strings.NewReader(names), int64(len(names)), gate.Hint{Name: "model.pkl"})
		if err != nil {
			t.Fatal(err)
		}
		defer v.Close()
		if v.Class() != wire.Forbidden {
			t.Fatalf("a pickle of %q: %v", names, v.Err)
		}
	}
	b := limits.Policy{}.Budget(t.Context())
	defer b.Close()
	const text = `{"member": "module.name"}`
	if _, err := sidecar.Check(b, sidecar.Text{Name: "config.json", R: strings.NewReader(text), Size: int64(len(text))}); err != nil {
		t.Fatal(err)
	}
	if _, ok := gate.RuleOf("pickle.global"); !ok {
		t.Fatal("the rules have no pickle.global")
	}
}

func costs(t *testing.T, file file, what string, allocated, charged int64) {
	t.Helper()
	if allocated > 2*charged+fuzz.Slack {
		t.Errorf("%s %s/%s: %d bytes allocated, %d charged, for %d bytes of file", what, file.format, file.name, allocated, charged, len(file.data))
	}
}

func TestCostFollowsTheSizeOfTheFile(t *testing.T) {
	var worstBytes, worstSteps float64
	var tiny int64
	for _, file := range wholeCorpus(t) {
		f := formatOf(t, file.format)
		b := file.policy.Budget(t.Context())
		if m, err := f.decode(b, bytes.NewReader(file.data), int64(len(file.data))); err == nil {
			m.Close()
		}
		size, charged, steps := unpackedSize(file), b.Charged(), stepsOf(b)
		b.Close()
		free := int64(freeBytes)
		if file.format == "wrap" {
			free = freeDecoder
		} else if size <= 100 {
			tiny = max(tiny, charged)
		}
		if charged > free+bytesPerByte*size || size <= 100 && charged > free {
			t.Errorf("%s/%s: %d bytes charged for a file of %d", file.format, file.name, charged, size)
		}
		if steps > freeSteps+stepsPerByte*size {
			t.Errorf("%s/%s: %d steps for a file of %d bytes", file.format, file.name, steps, size)
		}
		if size > 4<<10 {
			worstBytes = max(worstBytes, float64(charged)/float64(size))
			worstSteps = max(worstSteps, float64(steps)/float64(size))
		}
	}
	t.Logf("at most %.1f bytes charged and %.1f steps per byte of a file past 4 KiB; %d bytes charged for one of at most 100 bytes", worstBytes, worstSteps, tiny)
}

// unpackedSize returns the size of a file; of a folder that the corpus keeps packed, that of its files,
// which its format reads as they are.
func unpackedSize(file file) int64 {
	size := int64(len(file.data))
	if file.format != "tfbundle" {
		return size
	}
	z, err := zip.NewReader(bytes.NewReader(file.data), size)
	if err != nil {
		return size
	}
	for _, f := range z.File {
		size = max(size, int64(f.UncompressedSize64))
	}
	return size
}

func stepsOf(b *limits.Budget) int64 {
	for _, u := range b.Usage() {
		if u.Axis == limits.StepCount {
			return u.Used
		}
	}
	return 0
}
