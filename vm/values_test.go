package vm_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/anamnesis-go/anamnesis/corpus"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/limits/limitstest"
	"github.com/anamnesis-go/anamnesis/vm"
)

// golden is what the interpreters that wrote the honest pickles say they hold.
type golden struct {
	Files       map[string]string
	Values      map[string]json.RawMessage
	WeightsOnly map[string]string `json:"weights_only"`
	Torch       string
}

func readGolden(t *testing.T) golden {
	t.Helper()
	text, err := os.ReadFile("../testdata/pickle/values.json")
	if err != nil {
		t.Fatal(err)
	}
	var g golden
	if err := json.Unmarshal(text, &g); err != nil {
		t.Fatal(err)
	}
	return g
}

func TestHonestPicklesDecodeAsTheirWriterSays(t *testing.T) {
	want := readGolden(t)
	read := 0
	for _, seed := range corpus.Valid("pickle") {
		if seed.Recipe != nil || strings.HasPrefix(seed.Name, "torch-") {
			continue
		}
		t.Run(seed.Name, func(t *testing.T) {
			g, err := load(limitstest.Open(t, limits.Policy{}), seed.Data)
			if err != nil {
				t.Fatal(err)
			}
			if g.End() != int64(len(seed.Data)) {
				t.Errorf("ends at %d of %d", g.End(), len(seed.Data))
			}
			two := strings.HasPrefix(seed.Name, "py2")
			if diff := cmp.Diff(string(want.Values[want.Files[seed.Name]]), shown(g.Root(), two)); diff != "" {
				t.Error(diff)
			}
		})
		read++
	}
	if read != len(want.Files) {
		t.Errorf("%d files read, the golden has %d", read, len(want.Files))
	}
}

// Files of torch.save are read, and the answer of torch's restricted loader is reported.
func TestCheckpointsAreReadAndTheirVerdictIsThatOfTorch(t *testing.T) {
	want := readGolden(t)
	if got := "torch " + want.Torch + " weights_only"; got != vm.WeightsOnlyLoader {
		t.Errorf("the golden is of %s, the verdict of %s", got, vm.WeightsOnlyLoader)
	}
	read := 0
	for _, seed := range corpus.Valid("pickle") {
		answer, ok := want.WeightsOnly[seed.Name]
		if !ok {
			continue
		}
		read++
		t.Run(seed.Name, func(t *testing.T) {
			g, err := load(limitstest.Open(t, limits.Policy{}), seed.Data)
			if err != nil {
				t.Fatal(err)
			}
			if got := g.WeightsOnly(); got.OK != (answer == "takes") {
				t.Errorf("torch %s it, we say %+v", answer, got)
			}
		})
	}
	if read != len(want.WeightsOnly) {
		t.Errorf("%d files read, the golden has %d", read, len(want.WeightsOnly))
	}
}

func load(b *limits.Budget, data []byte) (*vm.Graph, error) {
	return vm.Load(b, bytes.NewReader(data), 0, int64(len(data)))
}

// shown writes a value as the script that wrote the pickles does. Of Python 2
// the order of a dict is that of a hash, and the entries are sorted.
func shown(v vm.Value, two bool) string {
	parts := whole(v, two)
	out := "[" + strings.Join(parts, ",") + "]"
	if len(parts) > 100 {
		sum := sha256.Sum256([]byte(out))
		return fmt.Sprintf("[%s,%q]", parts[0], fmt.Sprintf("%d parts, sha256 %x", len(parts)-1, sum))
	}
	return out
}

func whole(v vm.Value, two bool) []string {
	switch v.Kind() {
	case vm.KindNone:
		return []string{`"none"`}
	case vm.KindBool:
		return []string{`"bool"`, strconv.FormatBool(v.Bool())}
	case vm.KindInt:
		return []string{`"int"`, strconv.Quote(v.Big().String())}
	case vm.KindFloat:
		return []string{`"float"`, strconv.Quote(pythonHex(v.Float()))}
	case vm.KindText:
		return []string{`"str"`, hexed(v.Text())}
	case vm.KindBytes:
		return []string{name(v, "bytes"), hexed(v.Text())}
	case vm.KindGlobal:
		return []string{`"global"`, strconv.Quote(v.Global().String())}
	case vm.KindTuple, vm.KindList, vm.KindSet:
		return elements(v, two)
	case vm.KindDict:
		return entries(v, two)
	case vm.KindObject:
		return object(v, two)
	}
	return []string{`"?"`}
}

func name(v vm.Value, plain string) string {
	names := map[vm.ID]string{
		vm.NoID: plain, vm.ByteArray: "bytearray", vm.Deque: "deque", vm.FrozenSet: "frozenset",
		vm.OrderedDict: "OrderedDict", vm.Counter: "Counter", vm.DefaultDict: "defaultdict",
	}
	return strconv.Quote(names[v.ID()])
}

func elements(v vm.Value, two bool) []string {
	out := []string{name(v, v.Kind().String())}
	if v.Is(vm.Deque) {
		out = append(out, extra(v, two))
	}
	first := len(out)
	for e := range v.Elems() {
		out = append(out, shown(e, two))
	}
	if v.Kind() == vm.KindSet {
		slices.Sort(out[first:])
	}
	return out
}

func extra(v vm.Value, two bool) string {
	if e, ok := v.Extra(); ok {
		return shown(e, two)
	}
	return `["none"]`
}

func entries(v vm.Value, two bool) []string {
	out := []string{name(v, "dict")}
	if v.Is(vm.DefaultDict) {
		out = append(out, extra(v, two))
	}
	first := len(out)
	for key, value := range v.Entries() {
		out = append(out, "["+shown(key, two)+","+shown(value, two)+"]")
	}
	if two && (v.Is(vm.NoID) || v.Is(vm.Counter)) {
		slices.Sort(out[first:])
	}
	return out
}

func object(v vm.Value, two bool) []string {
	args := v.Args()
	switch state, has := v.State(); v.ID() {
	case vm.NumpyReconstruct:
		dims, _ := state.At(1).Ints(nil)
		return array(typeOf(state.At(2)), dims, state.At(3).Bool(), state.At(4))
	case vm.NumpyFromBuffer:
		dims, _ := args.At(2).Ints(nil)
		return array(typeOf(args.At(1)), dims, args.At(3).Text() == "F", args.At(0))
	case vm.NumpyScalar:
		return []string{`"scalar"`, strconv.Quote(typeOf(args.At(0))), hexed(args.At(1).Text())}
	default:
		out := []string{`"call"`, strconv.Quote(v.Global().String()), shown(args, two)}
		if has {
			out = append(out, shown(state, two))
		}
		return out
	}
}

func array(dtype string, dims []int64, fortran bool, data vm.Value) []string {
	shape, _ := json.Marshal(dims)
	if dims == nil {
		shape = []byte("[]")
	}
	return []string{`"ndarray"`, strconv.Quote(dtype), string(shape), strconv.FormatBool(fortran), hexed(data.Text())}
}

// typeOf is numpy.dtype.str: the byte order is in the state, and the unit of a
// time in its metadata.
func typeOf(dtype vm.Value) string {
	order, unit := "|", ""
	if state, ok := dtype.State(); ok {
		order = state.At(1).Text()
		if state.Len() == 9 {
			unit = "[" + state.At(8).At(1).At(0).Text() + "]"
		}
	}
	return order + dtype.Args().At(0).Text() + unit
}

func hexed(s string) string {
	if len(s) > 1000 {
		return fmt.Sprintf(`"%d bytes, sha256 %x"`, len(s), sha256.Sum256([]byte(s)))
	}
	return strconv.Quote(hex.EncodeToString([]byte(s)))
}

// pythonHex is float.hex.
func pythonHex(f float64) string {
	switch {
	case math.IsNaN(f):
		return "nan"
	case math.IsInf(f, 0):
		return strings.TrimPrefix(strings.ToLower(strconv.FormatFloat(f, 'g', -1, 64)), "+")
	}
	bits := math.Float64bits(f)
	sign := ""
	if bits>>63 != 0 {
		sign = "-"
	}
	exp, frac := int(bits>>52&0x7ff), bits&(1<<52-1)
	switch {
	case exp == 0 && frac == 0:
		return sign + "0x0.0p+0"
	case exp == 0:
		return fmt.Sprintf("%s0x0.%013xp-1022", sign, frac)
	}
	return fmt.Sprintf("%s0x1.%013xp%+d", sign, frac, exp-1023)
}
