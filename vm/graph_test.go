package vm_test

import (
	"bytes"
	"errors"
	"io"
	"math/big"
	"slices"
	"strings"
	"testing"

	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/limits/limitstest"
	"github.com/anamnesis-go/anamnesis/vm"
)

func must(t testing.TB, data string) *vm.Graph {
	t.Helper()
	g, err := load(limitstest.Open(t, limits.Policy{}), []byte(data))
	if err != nil {
		t.Fatal(err)
	}
	return g
}

func TestAReplayedValueIsTheSameValue(t *testing.T) {
	root := must(t, "\x80\x02]q\x00K\x07a]K\x07ah\x00\x87.").Root()
	if root.At(0) != root.At(2) || root.At(0) == root.At(1) {
		t.Errorf("%v %v %v", root.At(0), root.At(1), root.At(2))
	}
}

func TestIntegersOfEverySize(t *testing.T) {
	for _, s := range []string{
		"0", "-1", "1073741823", "1073741824", "-1073741824", "-1073741825", "9223372036854775807", "-9223372036854775808",
		"9223372036854775808", "-9223372036854775809", "121932631112635269000000000000000000000000000",
	} {
		v := must(t, "L"+s+"L\n.").Root()
		want, _ := new(big.Int).SetString(s, 10)
		if v.Kind() != vm.KindInt || v.Big().Cmp(want) != 0 {
			t.Errorf("%s: got %v", s, v.Big())
		}
		if n, ok := v.Int(); ok != want.IsInt64() || ok && n != want.Int64() {
			t.Errorf("%s: got %d, %v", s, n, ok)
		}
	}
}

func TestAccessorsOfNoneReturnZeroValues(t *testing.T) {
	v := must(t, "N.").Root()
	if v.Bool() || v.Big() != nil || v.Float() == v.Float() || v.Text() != "" || v.Len() != 0 || v.Global() != nil || v.ID() != vm.NoID {
		t.Errorf("%v is something", v)
	}
	if _, ok := v.Int(); ok {
		t.Error("None is an integer")
	}
	if _, ok := v.State(); ok {
		t.Error("None has a state")
	}
	if _, ok := v.Extra(); ok {
		t.Error("None has more")
	}
	if _, ok := v.Ints(nil); ok {
		t.Error("None is a shape")
	}
	if _, ok := v.Dims(); ok {
		t.Error("None has dimensions")
	}
	if v.Args().Len() != 0 || v.PID().Kind() != vm.KindNone || v.Off() != -1 {
		t.Error("None is called")
	}
	for range v.Elems() {
		t.Error("None has elements")
	}
	for range v.Entries() {
		t.Error("None has entries")
	}
}

// Only a dict has entries, however many elements another value has.
func TestOnlyDictsHaveEntries(t *testing.T) {
	for _, data := range []string{"]Na.", "](NNNe.", "N\x85.", "NN\x86.", "X\x02\x00\x00\x00ab.", "\x80\x04\x8f(NK\x01\x90."} {
		v := must(t, data).Root()
		if v.Len() == 0 {
			t.Errorf("%q is empty", data)
		}
		for range v.Entries() {
			t.Errorf("%q has entries", data)
		}
		if _, ok := v.Lookup("a"); ok {
			t.Errorf("%q has a key", data)
		}
	}
	n := 0
	for k, v := range must(t, "}(X\x01\x00\x00\x00aNX\x01\x00\x00\x00bNu.").Root().Entries() {
		if k.Kind() != vm.KindText || v.Kind() != vm.KindNone {
			t.Errorf("%v: %v", k, v)
		}
		n++
	}
	if n != 2 {
		t.Errorf("%d entries", n)
	}
}

const tensor = "ctorch._utils\n_rebuild_tensor_v2\n((X\x07\x00\x00\x00storagectorch\nFloatStorage\nX\x01\x00\x00\x000X\x03\x00\x00\x00cpuK\x06tQ" +
	"K\x00K\x02K\x03\x86K\x03K\x01\x86\x89ccollections\nOrderedDict\n)RtR"

func TestATensorRemembersItsCall(t *testing.T) {
	data := "\x80\x02}X\x01\x00\x00\x00w" + tensor + "sX\x01\x00\x00\x00sctorch\nSize\nK\x02K\x03\x86\x85Rs."
	root := must(t, data).Root()
	w, ok := root.Lookup("w")
	if !ok || !w.Is(vm.RebuildTensorV2) || w.Kind() != vm.KindObject || w.Global().String() != "torch._utils._rebuild_tensor_v2" {
		t.Fatalf("%v %v", w, ok)
	}
	if at := int64(strings.LastIndex(data, "tR") + 1); w.Off() != int64(strings.Index(data, "tRs")+1) || at == 0 {
		t.Errorf("made at %#x", w.Off())
	}
	storage := w.Args().At(0)
	if storage.Kind() != vm.KindPersistent || storage.PID().At(1).Global().Name != "FloatStorage" || storage.PID().At(2).Text() != "0" {
		t.Errorf("storage %v", storage)
	}
	if storage.Off() != int64(strings.IndexByte(data, 'Q')) {
		t.Errorf("storage at %#x", storage.Off())
	}
	for i, name := range []string{"w", "s"} {
		v, _ := root.Lookup(name)
		if name == "w" {
			v = v.Args().At(2)
		}
		dims, ok := v.Ints([]int64{9})
		if n, counted := v.Dims(); !ok || !counted || n != 2 || !slices.Equal(dims, []int64{9, 2, 3}) {
			t.Errorf("%d: %v", i, dims)
		}
	}
	if _, ok := root.Lookup("x"); ok {
		t.Error("finds what is not there")
	}
	if _, ok := root.Ints(nil); ok {
		t.Error("a dict is a shape")
	}
}

func TestStatesAndExtras(t *testing.T) {
	root := must(t, "\x80\x02(ccollections\nOrderedDict\n)R}X\x01\x00\x00\x00aK\x05sb"+
		"ccollections\ndefaultdict\nc__builtin__\nlist\n\x85Rccollections\ndeque\n)K\x03\x86Rl.").Root()
	state, ok := root.At(0).State()
	if a, has := state.Lookup("a"); !ok || !has || a.String() != "5" || !root.At(0).Is(vm.OrderedDict) {
		t.Errorf("state %v", state)
	}
	factory, ok := root.At(1).Extra()
	if !ok || factory.Global().String() != "builtins.list" || factory.Global().Written != "__builtin__ list" {
		t.Errorf("factory %v", factory)
	}
	if most, ok := root.At(2).Extra(); !ok || most.String() != "3" || !root.At(2).Is(vm.Deque) {
		t.Errorf("maxlen %v", most)
	}
}

// Files of PyTorch 1.5 and before hold pickles one after the other, and then
// gigabytes: each is read only as far as it goes.
func TestPicklesInARow(t *testing.T) {
	file := "some head" + "\x80\x02]K\x01a." + "\x80\x02X\x05\x00\x00\x00hello." + strings.Repeat("\x00", 1<<20)
	r := &counting{r: strings.NewReader(file)}
	off := int64(len("some head"))
	var shown []string
	for range 2 {
		g, err := vm.LoadNext(limitstest.Open(t, limits.Policy{}), r, off, int64(len(file)))
		if err != nil {
			t.Fatal(err)
		}
		off = g.End()
		shown = append(shown, g.Root().String())
	}
	if !slices.Equal(shown, []string{"list of 1", `"hello"`}) || file[off] != 0 {
		t.Errorf("got %v, end %#x", shown, off)
	}
	if r.bytes > 16<<10 {
		t.Errorf("%d bytes were read", r.bytes)
	}
	_, err := vm.LoadNext(limitstest.Open(t, limits.Policy{}), r, off, int64(len(file)))
	if placed, ok := errors.AsType[*wire.Error](err); !ok || placed.Off != off {
		t.Errorf("the error lies at the wrong place: %v", err)
	}
}

type counting struct {
	r     io.ReaderAt
	bytes int
}

func (c *counting) ReadAt(p []byte, off int64) (int, error) {
	c.bytes += len(p)
	return c.r.ReadAt(p, off)
}

// A pickle that is read in growing steps is the same as one read at once.
func TestAGrowingWindowChangesNothing(t *testing.T) {
	data, _ := stateDict(3000)
	data = append(data, make([]byte, 100)...)
	next, err := vm.LoadNext(limitstest.Open(t, limits.Policy{}), bytes.NewReader(data), 0, int64(len(data)))
	if err != nil {
		t.Fatal(err)
	}
	whole := must(t, string(data))
	if next.End() != whole.End() || shown(next.Root(), false) != shown(whole.Root(), false) {
		t.Error("they differ")
	}
}

func TestAReaderThatFailsGivesNoVerdict(t *testing.T) {
	bad := errors.New("disk gone")
	for _, r := range []io.ReaderAt{failing{bad}, failing{io.ErrUnexpectedEOF}} {
		_, err := vm.Load(limitstest.Open(t, limits.Policy{}), r, 0, 100)
		report := vm.Scan(limitstest.Open(t, limits.Policy{}), r, 0, 100)
		want := wire.Internal
		if r.(failing).err != bad {
			want = wire.Truncated
		}
		if wire.ClassOf(err) != want || wire.ClassOf(report.Refusal()) != want || report.Safe.OK {
			t.Errorf("load %v, scan %v", err, report.Refusal())
		}
	}
}

type failing struct{ err error }

func (f failing) ReadAt([]byte, int64) (int, error) { return 0, f.err }

func TestAnEmptyRangeIsTruncated(t *testing.T) {
	_, err := vm.Load(limitstest.Open(t, limits.Policy{}), strings.NewReader("N."), 2, 1)
	if wire.ClassOf(err) != wire.Truncated {
		t.Error(err)
	}
}

// 352 bytes that stand for 2^60 values cost kilobytes.
func TestDoublingCostsKilobytes(t *testing.T) {
	data := "\x80\x02)\x85" + strings.Repeat("2\x86", 174) + "."
	b := limitstest.Open(t, limits.Policy{})
	_, err := load(b, []byte(data))
	limit, ok := errors.AsType[*limits.Error](err)
	if !ok || limit.Axis != limits.ExpandRatio {
		t.Error(err)
	}
	if charged := b.Charged(); charged > 16<<10 {
		t.Errorf("%d bytes for %d", charged, len(data))
	}
}

func TestAReleasedGraphHoldsNothing(t *testing.T) {
	b := limitstest.Open(t, limits.Policy{})
	data, _ := stateDict(100)
	g, err := load(b, data)
	if err != nil {
		t.Fatal(err)
	}
	if held := limitstest.Used(b, limits.Total); held < int64(len(data)) {
		t.Errorf("%d bytes are held for %d", held, len(data))
	}
	if working := limitstest.Used(b, limits.WorkingSet); working != 0 {
		t.Errorf("a working set of %d bytes after the run", working)
	}
	g.Release()
	g.Release()
	if held := limitstest.Used(b, limits.Total); held != 0 {
		t.Errorf("%d bytes are held", held)
	}
}

// The figure is the account's own: what is charged is more than what is used.
func TestAStateDictCostsLessThanFourTimesItsBytes(t *testing.T) {
	data, _ := stateDict(100_000)
	b := limitstest.Open(t, limits.Policy{})
	if _, err := load(b, data); err != nil {
		t.Fatal(err)
	}
	if peak := limitstest.Peak(b, limits.Total); peak > 4*int64(len(data)) {
		t.Errorf("%d bytes for %d, %.2f times", peak, len(data), float64(peak)/float64(len(data)))
	}
}

func TestProtocolsAndGlobals(t *testing.T) {
	g := must(t, "\x80\x02c__builtin__\nset\nc__builtin__\nset\n\x86.")
	globals := g.Globals()
	if g.Protocol() != 2 || len(globals) != 1 || globals[0].Uses != 2 || globals[0].Off != 2 || globals[0].ID != vm.Set {
		t.Errorf("%d %+v", g.Protocol(), globals)
	}
	if p := must(t, "N.").Protocol(); p != 0 {
		t.Errorf("protocol %d", p)
	}
}
