package vm

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
)

// joblibFile is one that joblib.dump wrote: testdata/pickle/joblib.py.
func joblibFile(t testing.TB, name string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("..", "testdata", "pickle", name))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func scanPlain(t testing.TB, data string) *Report {
	t.Helper()
	b := limits.Policy{}.Budget(t.Context())
	t.Cleanup(b.Close)
	return ScanPlain(b, strings.NewReader(data), 0, int64(len(data)))
}

// The bytes of arrays between the instructions are not instructions.
func TestScanReadsFilesOfJoblib(t *testing.T) {
	for _, name := range []string{"arrays.joblib", "one-array.joblib"} {
		data := joblibFile(t, name)
		r := scanPlain(t, data)
		if r.Err != nil || !r.Safe.OK || r.Graph.End() != int64(len(data)) {
			t.Errorf("%s: %v, %v, ends at %d of %d", name, r.Err, r.Safe.Reasons, r.Graph.End(), len(data))
		}
		if r.WeightsOnly.OK {
			t.Errorf("%s: PyTorch's restricted loader has no joblib", name)
		}
	}
	r := scanPlain(t, joblibFile(t, "arrays.joblib"))
	want := []string{"a", "f", "s", "n", "z"}
	var got []string
	for k := range r.Graph.Root().Entries() {
		got = append(got, k.Text())
	}
	if !slices.Equal(got, want) {
		t.Errorf("keys %v, want %v", got, want)
	}
	// An array of objects is a pickle inside of the stream.
	data := joblibFile(t, "objects.joblib")
	objects := scanPlain(t, data)
	if objects.Err != nil || !objects.Safe.OK || objects.Graph.End() != int64(len(data)) {
		t.Error(objects.Err, objects.Safe.Reasons)
	}
	wrapper, _ := objects.Graph.Root().Lookup("o")
	array, _ := wrapper.Extra()
	state, _ := array.State()
	if got := state.At(4).Shape(); got != `[int, "x", none]` {
		t.Errorf("the array holds %s", got)
	}
	if r := scanPlain(t, strings.Replace(data, "\x8c\x01x", "cos\nsystem\n0\x8c\x01x", 1)); wire.ClassOf(r.Refusal()) != wire.Forbidden {
		t.Error("a global in the pickle of an array is not noticed", r.Refusal())
	}
	// In a checkpoint the class is as unknown as any other.
	b := limits.Policy{}.Budget(t.Context())
	defer b.Close()
	data = joblibFile(t, "arrays.joblib")
	if _, err := Load(b, strings.NewReader(data), 0, int64(len(data))); wire.ClassOf(err) != wire.Forbidden {
		t.Error(err)
	}
}

// Every cut of the file is refused.
func TestScanOfCutJoblibFiles(t *testing.T) {
	data := joblibFile(t, "arrays.joblib")
	for n := range len(data) {
		if r := scanPlain(t, data[:n]); r.Err == nil {
			t.Errorf("cut to %d bytes: accepted", n)
		}
	}
}

// wrapper is a pickle of protocol 2 that begins with a wrapper of these entries.
func wrapper(entries ...string) string {
	return "\x80\x02cjoblib.numpy_pickle\nNumpyArrayWrapper\n)\x81}(" + strings.Join(entries, "") + "ub"
}

func field(key, value string) string { return short(key) + value }

func short(s string) string { return "X" + string(rune(len(s))) + "\x00\x00\x00" + s }

// dtype is a numpy.dtype of a code, and of a state if there is one.
func dtype(code, state string) string {
	out := "cnumpy\ndtype\n" + short(code) + "\x89\x88\x87R"
	if order := "<"; state != "" {
		if code[0] == 'V' {
			order = "|"
		}
		out += "(K\x03" + short(order) + state + "tb"
	}
	return out
}

const plainState = "NNNJ\xff\xff\xff\xffJ\xff\xff\xff\xffK\x00"

func TestScanOfArraysOfJoblib(t *testing.T) {
	class, order := field("subclass", "cnumpy\nndarray\n"), field("order", short("C"))
	f8, align := field("dtype", dtype("f8", "")), field("numpy_array_alignment_bytes", "K\x10")
	shape := func(s string) string { return field("shape", s) }
	eight, no, system := strings.Repeat("\x00", 8), "no known size", "0cos\nsystem\n."
	for name, c := range map[string]struct {
		data string
		want wire.Class
		says string
	}{
		"one element":                         {wrapper(class, order, shape("K\x01\x85"), f8) + eight + ".", wire.OK, ""},
		"no dimension":                        {wrapper(class, order, shape(")"), f8) + eight + ".", wire.OK, ""},
		"no element":                          {wrapper(class, order, shape("K\x00\x85"), f8) + "\x00.", wire.Malformed, "not an opcode"},
		"of the state of a dtype":             {wrapper(class, order, shape("K\x01\x85"), field("dtype", dtype("f8", plainState))) + eight + ".", wire.OK, ""},
		"text of two characters":              {wrapper(class, order, shape("K\x01\x85"), field("dtype", dtype("U2", "NNNK\x08K\x04K\x08"))) + eight + ".", wire.OK, ""},
		"void":                                {wrapper(class, order, shape("K\x01\x85"), field("dtype", dtype("V8", "NNNK\x08K\x01K\x00"))) + eight + ".", wire.OK, ""},
		"padding":                             {wrapper(class, order, shape("K\x01\x85"), f8, align) + "\x02\xff\xff" + eight + ".", wire.OK, ""},
		"padding, whatever the alignment":     {wrapper(class, order, shape("K\x01\x85"), f8, field("numpy_array_alignment_bytes", "K\x00")) + "\x00" + eight + ".", wire.OK, ""},
		"a byte too many":                     {wrapper(class, order, shape("K\x01\x85"), f8) + eight + "x.", wire.Malformed, "not an opcode"},
		"bytes that are not there":            {wrapper(class, order, shape("K\x02\x85"), f8) + eight + ".", wire.Truncated, ""},
		"padding that is not there":           {wrapper(class, order, shape("K\x01\x85"), f8, align), wire.Truncated, ""},
		"a negative dimension":                {wrapper(class, order, shape("J\xff\xff\xff\xff\x85"), f8), wire.Malformed, "dimension of -1"},
		"more than 2^64 bytes":                {wrapper(class, order, shape("J\xff\xff\xff\x7fJ\xff\xff\xff\x7fK\x02\x87"), f8), wire.Malformed, "2^63"},
		"a shape that can change":             {wrapper(class, order, shape("]K\x01a"), f8) + eight + ".", wire.Unsupported, "not described as joblib does"},
		"a shape that is an object":           {wrapper(class, order, shape("ctorch\nSize\nK\x01\x85\x85R"), f8) + eight + ".", wire.Unsupported, "not described as joblib does"},
		"no type":                             {wrapper(class, order, shape("K\x01\x85")) + eight + ".", wire.Unsupported, "not described as joblib does"},
		"no class":                            {wrapper(order, shape("K\x01\x85"), f8) + eight + ".", wire.Unsupported, "not described as joblib does"},
		"None for a type":                     {wrapper(class, order, shape("K\x01\x85"), field("dtype", "N")) + eight + ".", wire.Unsupported, "not described as joblib does"},
		"an attribute that stands for read":   {wrapper(class, order, shape("K\x01\x85"), f8, field("read", "cbuiltins\nset\n")) + eight + ".", wire.Unsupported, "not described as joblib does"},
		"a code without a size":               {wrapper(class, order, shape("K\x01\x85"), field("dtype", dtype("f", ""))) + eight + ".", wire.Forbidden, "numpy.dtype"},
		"a code of several types":             {wrapper(class, order, shape("K\x01\x85"), field("dtype", dtype("f8,f8", ""))) + eight + ".", wire.Forbidden, "numpy.dtype"},
		"a code with its order":               {wrapper(class, order, shape("K\x01\x85"), field("dtype", dtype("<f8", ""))) + eight + ".", wire.Forbidden, "numpy.dtype"},
		"a class of numpy for a code":         {wrapper(class, order, shape("K\x01\x85"), field("dtype", "cnumpy\ndtype\ncnumpy\nfloat64\n\x89\x88\x87R")) + eight + ".", wire.OK, ""},
		"a class of another size elsewhere":   {wrapper(class, order, shape("K\x01\x85"), field("dtype", "cnumpy\ndtype\ncnumpy\nlong\n\x89\x88\x87R")) + eight + ".", wire.Forbidden, "numpy.dtype"},
		"a size that numpy ignores":           {wrapper(class, order, shape("K\x01\x85"), field("dtype", dtype("f8", "NNNK\x19K\x08K\x00"))) + eight + system + "....", wire.Forbidden, "numpy.dtype"},
		"a void of two sizes":                 {wrapper(class, order, shape("K\x01\x85"), field("dtype", dtype("V8", "NNNK\x09K\x01K\x00"))) + eight + ".", wire.Forbidden, "numpy.dtype"},
		"a subarray":                          {wrapper(class, order, shape("K\x01\x85"), field("dtype", dtype("V8", "cnumpy\ndtype\n"+short("f8")+"\x89\x88\x87RK\x01\x85\x86NNK\x08K\x01K\x00"))) + eight + ".", wire.Unsupported, no},
		"fields of a number":                  {wrapper(class, order, shape("K\x01\x85"), field("dtype", dtype("f8", "N)}J\xff\xff\xff\xffJ\xff\xff\xff\xffK\x00"))) + eight + ".", wire.Forbidden, "numpy.dtype"},
		"pickle.load runs the bytes":          {wrapper(class, order, shape("K\x02\x85"), f8) + system + "..." + ".", wire.Forbidden, "os.system"},
		"pickle.load runs some of the bytes":  {wrapper(class, order, shape("K\x02\x85"), f8) + "cos\nsystem\n\xff\xff\xff\xff\xff" + ".", wire.Forbidden, "os.system"},
		"pickle.load ends in the bytes":       {wrapper(class, order, shape("K\x01\x85"), f8) + ".......x" + ".", wire.Unsupported, "differently, both to the end"},
		"older joblib runs the last bytes":    {wrapper(class, order, shape("K\x01\x85"), f8, align) + "\x0e" + strings.Repeat("\xff", 7) + "cos\nsystem\n0" + "\x00\x00.", wire.Forbidden, "os.system"},
		"an array inside a frame":             {"\x80\x04\x95\xf0\x00\x00\x00\x00\x00\x00\x00" + wrapper(class, order, shape("K\x01\x85"), f8)[2:] + strings.Repeat("\x00", 256), wire.Malformed, "inside a frame"},
		"a type that was called with nothing": {wrapper(class, order, shape("K\x01\x85"), field("dtype", "cnumpy\ndtype\n)R")) + eight + ".", wire.Forbidden, "numpy.dtype"},
		"a type called with a storage":        {wrapper(class, order, shape("K\x01\x85"), field("dtype", "cnumpy\ndtype\n("+short("storage")+"ctorch\nFloatStorage\n"+short("0")+short("cpu")+"K\x01tQR")) + eight + ".", wire.Forbidden, "numpy.dtype"},
		"a type whose state is a number":      {wrapper(class, order, shape("K\x01\x85"), field("dtype", dtype("f8", "")+"K\x01b")) + eight + ".", wire.Forbidden, "numpy.dtype"},
		"a wrapper built twice":               {wrapper(class, order, shape("K\x00\x85"), f8) + "}b.", wire.Forbidden, "NumpyArrayWrapper"},
		"a wrapper called, not made":          {"cjoblib.numpy_pickle\nNumpyArrayWrapper\n)R.", wire.Forbidden, "NumpyArrayWrapper"},
		"a wrapper called with arguments":     {"\x80\x02cjoblib.numpy_pickle\nNumpyArrayWrapper\nK\x01\x85\x81.", wire.Forbidden, "NumpyArrayWrapper"},
		"another class of joblib":             {"\x80\x02cjoblib.numpy_pickle_compat\nNDArrayWrapper\n)\x81.", wire.Forbidden, "NDArrayWrapper"},
	} {
		t.Run(name, func(t *testing.T) {
			r := scanPlain(t, c.data)
			err := r.Refusal()
			if got := wire.ClassOf(err); got != c.want || err != nil && !strings.Contains(err.Error(), c.says) {
				t.Errorf("%v, want %v: %s", err, c.want, c.says)
			}
			if r.Safe.OK != (c.want == wire.OK) {
				t.Errorf("safe: %+v", r.Safe)
			}
		})
	}
}

// A listing goes the way of the scan.
func TestAListingSkipsTheArraysOfJoblib(t *testing.T) {
	data := joblibFile(t, "arrays.joblib")
	b := limits.Policy{}.Budget(t.Context())
	defer b.Close()
	last := ""
	for line, err := range DisassemblePlain(b, strings.NewReader(data), 0, int64(len(data))) {
		if err != nil {
			t.Fatal(err)
		}
		last = line.Op
	}
	if last != "STOP" {
		t.Errorf("the listing ends with %s", last)
	}
}
