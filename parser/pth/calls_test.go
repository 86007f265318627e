package pth

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"os"
	"strings"
	"testing"

	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
	"github.com/anamnesis-go/anamnesis/vm"
)

// The machine types the arguments of every call, so a file cannot give other ones. These tests are
// for the case that it does not: each argument is checked, and none causes a panic. Most of it ends
// as a mistake of the program.

// Pieces of pickles.
func num(n int) string { return "J" + string(binary.LittleEndian.AppendUint32(nil, uint32(n))) }

func txt(s string) string {
	return "X" + string(binary.LittleEndian.AppendUint32(nil, uint32(len(s)))) + s
}

func tup(items ...string) string { return "(" + strings.Join(items, "") + "t" }

func glob(module, name string) string { return "c" + module + "\n" + name + "\n" }

const (
	none  = "N"
	yes   = "\x88"
	empty = "}"
)

var (
	storage = tup(txt("storage"), glob("torch", "FloatStorage"), txt("0"), txt("cpu"), num(4)) + "Q"
	dtype   = glob("torch", "float32")
	good    = glob("torch._utils", "_rebuild_tensor") + tup(storage, num(0), tup(num(4)), tup(num(1))) + "R"
	layout  = glob("torch.serialization", "_get_layout") + tup(txt("torch.sparse_coo")) + "R"
	scheme  = glob("torch", "per_tensor_affine")
)

// load runs a pickle.
func load(t *testing.T, b *limits.Budget, code string) *vm.Graph {
	t.Helper()
	code = "\x80\x02" + code + "."
	g, err := vm.Load(b, strings.NewReader(code), 0, int64(len(code)))
	if err != nil {
		t.Fatalf("%q: %v", code, err)
	}
	return g
}

// walk makes a walker over a storage of four floats.
func walk(t *testing.T, b *limits.Budget, g *vm.Graph) *walker {
	t.Helper()
	names := []string{"0"}
	keys, err := wire.NewNameSet(b, 1, func(i int) string { return names[i] })
	if err != nil {
		t.Fatal(err)
	}
	keys.Add(0)
	st := &stores{b: b, keys: keys, parts: archiveParts, list: []store{{name: "data/0", parent: noParent, span: tensor.Span{Off: 64, Len: 16}}}}
	for v := range g.Persistents() {
		if err := st.declare(v); err != nil {
			t.Fatal(err)
		}
	}
	return &walker{b: b, st: st, found: &tensor.Findings{}}
}

func TestEveryArgumentOfACallIsChecked(t *testing.T) {
	for _, c := range []struct {
		id   vm.ID
		args string
	}{
		{vm.RebuildTensor, tup()},
		{vm.RebuildTensor, tup(num(0), num(0), tup(num(4)), tup(num(1)))},
		{vm.RebuildTensor, tup(storage, none, tup(num(4)), tup(num(1)))},
		{vm.RebuildTensor, tup(storage, "\x8a\x09\x00\x00\x00\x00\x00\x00\x00\x00\x01", tup(num(4)), tup(num(1)))},
		{vm.RebuildTensor, tup(storage, num(0), num(4), tup(num(1)))},
		{vm.RebuildTensor, tup(storage, num(0), tup(num(4)), none)},
		{vm.RebuildTensor, tup(storage, num(0), tup(txt("4")), tup(num(1)))},
		{vm.RebuildTensorV2, tup(storage, num(0), tup(num(4)), tup(num(1)), yes, empty, num(1))},
		{vm.RebuildTensorV2, tup(storage, num(0), tup(num(4)), tup(num(1)), yes, empty, empty+txt("conj")+num(1)+"s")},
		{vm.RebuildTensorV2, tup(storage, num(0), tup(num(4)), tup(num(1)), yes, empty, empty+num(1)+yes+"s")},
		{vm.RebuildTensorV3, tup(storage, num(0), tup(num(4)), tup(num(1)), yes, empty)},
		{vm.RebuildTensorV3, tup(storage, num(0), tup(num(4)), tup(num(1)), yes, empty, none)},
		{vm.RebuildTensorV3, tup(storage, num(0), tup(num(4)), tup(num(1)), yes, empty, scheme)},
		{vm.RebuildParameter, tup(none, yes)},
		{vm.RebuildParameter, tup(none, yes, empty)},
		{vm.RebuildParameter, tup(layout, yes, empty)},
		{vm.RebuildParameterWithState, tup(good, yes, empty, num(1))},
		{vm.RebuildParameterWithState, tup(good, yes, empty, tup(empty))},
		{vm.RebuildFromType, tup(none)},
		{vm.RebuildFromType, tup(none, none, none, none)},
		{vm.RebuildFromType, tup(dtype, none, none, none)},
		{vm.RebuildFromType, tup(dtype, none, tup(), none)},
		{vm.RebuildFromType, tup(glob("torch._tensor", "_rebuild_from_type_v2"), none, tup(), none)},
		{vm.RebuildFromType, tup(glob("torch._utils", "_rebuild_tensor"), none, tup(), none)},
		{vm.RebuildFromType, tup(glob("torch", "FloatTensor"), none, tup(), none)},
		{vm.RebuildQTensor, tup(storage)},
		{vm.RebuildQTensor, tup(storage, num(0), tup(num(4)), tup(num(1)), none, yes, empty)},
		{vm.RebuildQTensor, tup(storage, num(0), tup(num(4)), tup(num(1)), tup(), yes, empty)},
		{vm.RebuildQTensor, tup(storage, num(0), tup(num(4)), tup(num(1)), tup(dtype), yes, empty)},
		{vm.RebuildQTensor, tup(none, num(0), tup(num(4)), tup(num(1)), tup(scheme, num(1), num(1)), yes, empty)},
		{vm.RebuildQTensor, tup(storage, num(0), tup(num(4)), tup(num(1)), tup(scheme, txt("1"), num(1)), yes, empty)},
		{vm.RebuildQTensor, tup(storage, num(0), tup(num(5)), tup(num(1)), tup(scheme, num(1), num(1)), yes, empty)},
		{vm.RebuildQTensor, tup(storage, num(0), tup(num(4)), tup(num(1)), tup(glob("torch", "per_channel_affine"), num(1), num(1), none), yes, empty)},
		{vm.RebuildQTensor, tup(storage, num(0), tup(num(4)), tup(num(1)), tup(glob("torch", "per_channel_affine"), num(1), num(1), num(0)), yes, empty)},
		{vm.RebuildSparseTensor, tup()},
		{vm.RebuildSparseTensor, tup(none, none)},
		{vm.RebuildSparseTensor, tup(good, tup())},
		{vm.RebuildSparseTensor, tup(layout, none)},
		{vm.RebuildSparseTensor, tup(layout, tup())},
		{vm.RebuildSparseTensor, tup(layout, tup(good, good, tup(), num(1)))},
		{vm.RebuildSparseTensor, tup(layout, tup(none, none, none))},
		{vm.RebuildSparseTensor, tup(layout, tup(layout, layout, none))},
		{vm.RebuildSparseTensor, tup(layout, tup(good, good, none))},
		{vm.RebuildSparseTensor, tup(layout, tup(good, good, tup(num(4))))},
		{vm.RebuildNestedTensor, tup()},
		{vm.RebuildNestedTensor, tup(good, none, none, none)},
		{vm.RebuildMetaTensor, tup()},
		{vm.RebuildMetaTensor, tup(none, none, none, none)},
		{vm.RebuildMetaTensor, tup(dtype, none, none, none)},
		{vm.RebuildWrapperSubclass, tup(none, none, none, none)},
		{vm.RebuildDeviceFromCPU, tup()},
		{vm.RebuildDeviceFromCPU, tup(good, none, none, none)},
		{vm.RebuildDeviceFromCPU, tup(none, dtype, none, none)},
		{vm.RebuildDeviceFromNumpy, tup()},
		{vm.RebuildDeviceFromNumpy, tup(none, none, none, none)},
		{vm.RebuildDeviceFromNumpy, tup(good, dtype, none, none)},
		{vm.TorchSize, tup()},
	} {
		t.Run(fmt.Sprintf("%d %q", c.id, c.args), func(t *testing.T) {
			b := limits.Policy{}.Budget(t.Context())
			defer b.Close()
			g := load(t, b, c.args)
			w := walk(t, b, g)
			err := w.call(call{&vm.Global{Module: "m", Name: "n", ID: c.id}, g.Root(), 7})
			if err == nil {
				t.Error("it is taken")
			}
		})
	}
}

// Persistent ids that the machine itself would refuse.
func TestEveryPersistentIDIsChecked(t *testing.T) {
	b := limits.Policy{}.Budget(t.Context())
	defer b.Close()
	for _, code := range []string{
		none, tup(), tup(none, none, none, none, none), tup(txt("module"), none, none, none, none),
		tup(txt("storage"), none, none, none, none), tup(txt("storage"), dtype, txt("0"), txt("cpu"), num(4)),
		tup(txt("storage"), glob("torch", "FloatStorage"), num(0), txt("cpu"), num(4)),
		tup(txt("storage"), glob("torch", "FloatStorage"), txt("0"), none, num(4)),
		tup(txt("storage"), glob("torch", "FloatStorage"), txt("0"), txt("cpu"), none),
		tup(txt("storage"), glob("torch", "FloatStorage"), txt("0"), txt("cpu"), num(-1)),
	} {
		if _, err := (&stores{parts: archiveParts}).parsePID(load(t, b, code).Root()); err == nil {
			t.Errorf("%q is taken", code)
		}
	}
	parts := []string{txt("storage"), glob("torch", "FloatStorage"), txt("0"), txt("cpu"), num(4), none, none}
	for n := range len(parts) + 1 {
		for _, want := range []int{archiveParts, legacyParts} {
			_, err := (&stores{parts: want}).parsePID(load(t, b, tup(parts[:n]...)).Root())
			if taken := err == nil; taken != (n == want) {
				t.Errorf("%d parts, %d are right: %v", n, want, err)
			}
		}
	}
	w := walk(t, b, load(t, b, storage))
	if _, err := w.st.ref(load(t, b, txt("x")+storage+"\x86").Root().At(1)); err == nil {
		t.Error("an id that was not declared is found")
	}
	for _, view := range []string{
		num(1), tup(), tup(num(1), num(0), num(1)), tup(txt("v"), num(-1), num(1)), tup(txt("v"), none, num(1)), tup(txt("v"), num(3), num(2)),
	} {
		p := pid{scalar: findScalar("float32"), key: "0", count: 4, view: load(t, b, view).Root(), hasView: true}
		if _, err := w.st.view(0, &p); err == nil {
			t.Errorf("view %q is taken", view)
		}
	}
}

// States of tensors that the machine itself would refuse.
func TestEveryStateIsChecked(t *testing.T) {
	b := limits.Policy{}.Budget(t.Context())
	defer b.Close()
	w := walk(t, b, load(t, b, storage))
	for _, code := range []string{none, tup(), tup(none, none, none), tup(none, none, none, none, none), tup(none, none, none, none)} {
		g := load(t, b, code)
		for _, id := range []vm.ID{vm.TorchTensor, vm.TorchParameter} {
			c := call{&vm.Global{ID: id}, load(t, b, ")").Root(), 1}
			if err := w.statefulTensor(c, g.Root(), true); err == nil {
				t.Errorf("state %q is taken", code)
			}
		}
	}
	c := call{&vm.Global{ID: vm.TorchParameter}, load(t, b, tup(none, none, none)).Root(), 1}
	if err := w.statefulTensor(c, c.args, false); err == nil {
		t.Error("a parameter of three arguments is taken")
	}
	c.args = load(t, b, ")").Root()
	if err := w.statefulTensor(c, c.args, false); err == nil {
		t.Error("a tensor without a state is taken")
	}
}

func TestReprIsPythons(t *testing.T) {
	b := limits.Policy{}.Budget(t.Context())
	defer b.Close()
	for code, want := range map[string]string{
		none: "None", yes: "True", "\x89": "False", num(-7): "-7", "\x8a\x09\x00\x00\x00\x00\x00\x00\x00\x00\x01": "18446744073709551616",
		"G\x3f\xf8\x00\x00\x00\x00\x00\x00": "1.5", tup(num(1), txt("x")): "(1, 'x')", tup(num(1)): "(1,)", ")": "()", dtype: "torch.float32",
		"C\x02ab": "b'ab'", "C\x02\xe9'": `b"\xe9'"`, "C\x02\n\x00": `b'\n\x00'`, "]": "<list>", txt("it's \"\\\u200b\u00e9"): `'it\'s "\\\u200bé'`,
		"ctorch\nSize\n" + tup(tup(num(2), num(3))) + "R": "torch.Size([2, 3])", "ctorch\nSize\n)R": "torch.Size([])",
		"cbuiltins\ncomplex\n" + tup("G\x3f\xf8\x00\x00\x00\x00\x00\x00", num(-2)) + "R": "(1.5-2j)", "cbuiltins\ncomplex\n" + tup(num(0), num(1)) + "R": "1j", "\x8b\x81\x00\x00\x00" + strings.Repeat("\x00", 128) + "\x01": "integer of 1025 bits",
	} {
		if got := repr(load(t, b, code).Root()); got != want {
			t.Errorf("%q is %s, want %s", code, got, want)
		}
	}
	long := load(t, b, tup(strings.Repeat(txt("abcdefgh"), 100)))
	if got := repr(long.Root()); len(got) > maxRepr {
		t.Errorf("%d bytes", len(got))
	}
}

// The texts are those that Python 3.11 prints.
func TestFloatsAreWrittenAsPythonDoes(t *testing.T) {
	inf := math.Inf(1)
	for f, want := range map[float64]string{
		0: "0.0", 1: "1.0", 1.5: "1.5", 0.1: "0.1", 1e-4: "0.0001", 1e-5: "1e-05", 123456789: "123456789.0", 1e15: "1000000000000000.0",
		1e16: "1e+16", 1e17: "1e+17", 1.2345e-7: "1.2345e-07", inf: "inf", -inf: "-inf", 5e-324: "5e-324",
		1.7976931348623157e308: "1.7976931348623157e+308", 1e22: "1e+22", 123456789012345680: "1.2345678901234568e+17",
	} {
		if got := floatText(f); got != want {
			t.Errorf("%g is %s, want %s", f, got, want)
		}
	}
	if got := floatText(inf - inf); got != "nan" {
		t.Error(got)
	}
}

// Different places have different exact names.
func TestExactNamesAreInjective(t *testing.T) {
	var steps []step
	for _, text := range []string{"", "a", ".", "a.b", `\`, `a\.b`, "[0]", "@a", "0", `\\`, "]"} {
		steps = append(steps, step{kind: stepKey, text: text}, step{kind: stepAttr, text: text})
	}
	for _, n := range []int64{0, 1, -1, 10} {
		steps = append(steps, step{kind: stepIndex, n: n})
	}
	steps = append(steps, step{kind: stepOther, text: "None"}, step{kind: stepOther, text: "1.5"})
	seen := map[string]path{}
	for _, a := range steps {
		for _, b := range append(steps, step{kind: 99}) {
			p := path{a, b}
			if b.kind == 99 {
				p = path{a}
			}
			name, err := (&walker{path: p}).exactName()
			if err != nil {
				t.Fatal(err)
			}
			if other, twice := seen[name]; twice {
				t.Errorf("%v and %v are both %s", other, p, name)
			}
			seen[name] = p
		}
	}
}

// A name is charged before it is built, and is never longer than its charge.
func TestNamesAreChargedInFull(t *testing.T) {
	for _, p := range []path{{{kind: stepKey, text: `.\[@`}}, {{kind: stepIndex, n: -1 << 63}, {kind: stepAttr, text: "@@@"}}, {{kind: stepOther, text: ""}}} {
		for _, f := range []func(*walker) (string, error){(*walker).plainName, (*walker).exactName} {
			b := limits.Policy{}.Budget(t.Context())
			name, err := f(&walker{b: b, path: p})
			if charged := b.Usage()[limits.Total].Used; err != nil || int64(len(name)) > charged {
				t.Errorf("%q takes %d bytes, charged are %d, %v", name, len(name), charged, err)
			}
			b.Close()
		}
	}
	b := limits.Policy{MaxTotalBytes: 10}.Budget(t.Context())
	defer b.Close()
	if _, err := (&walker{b: b, path: path{{kind: stepKey, text: "0123456789a"}}}).plainName(); wire.ClassOf(err) != wire.Limit {
		t.Error(err)
	}
}

func TestEveryTypeOfTorchHasItsSize(t *testing.T) {
	for i := range scalars {
		s := &scalars[i]
		if g, ok := s.dtype.Geometry(); ok && g.Elems == 1 && uint64(g.Bytes) != s.size {
			t.Errorf("%s has %d bytes, %v %d", s.name, s.size, s.dtype, g.Bytes)
		}
		if findScalar(s.name[len(torchDot):]) != s {
			t.Errorf("%s is not found", s.name)
		}
	}
	for _, class := range []string{"TypedStorage", "Storage", "", "Float", "XStorage"} {
		if findStorageClass(class) != nil {
			t.Errorf("%q is a storage class", class)
		}
	}
}

func TestNumbersOfRecordsAreStrict(t *testing.T) {
	for _, text := range []string{"", "01", "+1", "1 ", "1_0", "-1", "1.0", "99999999999", "٣"} {
		if n, err := number(text); err == nil {
			t.Errorf("%q is %d", text, n)
		}
	}
	if n, err := number("64"); n != 64 || err != nil {
		t.Error(n, err)
	}
}

// The CRC must be computed over the whole pickle, in order.
func TestChecksumWantsThePickleInOrder(t *testing.T) {
	c := &checksum{r: bytes.NewReader([]byte("abcdef"))}
	p := make([]byte, 3)
	c.ReadAt(p, 3)
	if c.next != 0 {
		t.Error("bytes out of order are counted")
	}
	c.ReadAt(p, 0)
	c.ReadAt(p, 3)
	if c.next != 6 || c.crc != 0x4b8e39ef {
		t.Errorf("%d bytes, %08x", c.next, c.crc)
	}
}

// The machine knows no element type that this package does not.
func TestEveryTypeOfTheMachineIsKnown(t *testing.T) {
	text, err := os.ReadFile("../../vm/allow.go")
	if err != nil {
		t.Fatal(err)
	}
	_, list, ok := strings.Cut(string(text), `{"torch", TorchDType, known, `)
	list, _, end := strings.Cut(list, "},")
	if !ok || !end {
		t.Fatal("the list of vm is written otherwise")
	}
	names := strings.Fields(strings.NewReplacer(`"`, " ", "+", " ").Replace(list))
	if len(names) < 40 {
		t.Fatal(names)
	}
	for _, name := range names {
		if findScalar(name) == nil {
			t.Errorf("torch.%s is a type for vm alone", name)
		}
	}
}
