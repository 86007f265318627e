package vm_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/limits/limitstest"
	"github.com/anamnesis-go/anamnesis/vm"
)

// A flood is a beginning and what follows it again and again. Where next is
// set, each repetition differs.
type flood struct {
	name, begin, unit string
	next              func(i uint32) string
}

func le(n uint32) string { return string(binary.LittleEndian.AppendUint32(nil, n)) }

// named keeps OrderedDict, its name in two parts, a persistent id, a list and
// a text of 256 bytes in the memo at 0 to 5.
const named = "\x80\x04ccollections\nOrderedDict\nq\x000X\x0b\x00\x00\x00collectionsq\x010X\x0b\x00\x00\x00OrderedDictq\x020" +
	"(X\x07\x00\x00\x00storagectorch\nFloatStorage\nX\x01\x00\x00\x000X\x03\x00\x00\x00cpuK\x04tq\x030](K\x01K\x02K\x03eq\x040"

// Every instruction in the form that goes on longest, each byte alone, and
// what costs most in few bytes.
func floods() []flood {
	out := []flood{
		{"MARK", "", "(", nil}, {"NONE", "", "N", nil}, {"NEWTRUE", "", "\x88", nil}, {"NEWFALSE", "", "\x89", nil},
		{"INT", "", "I1\n", nil}, {"LONG", "", "L1L\n", nil}, {"LONG digits", "", "L99999999999999999999\n", nil},
		{"BININT", "", "Jzzzz", nil}, {"BININT1", "", "Kz", nil}, {"BININT2", "", "Mzz", nil},
		{"LONG1", "", "\x8a\x00", nil}, {"LONG1 big", "", "\x8a\x09zzzzzzzzz", nil}, {"LONG4", "", "\x8b\x00\x00\x00\x00", nil},
		{"FLOAT", "", "F1\n", nil}, {"BINFLOAT", "", "Gzzzzzzzz", nil},
		{"STRING", "", "S''\n", nil}, {"STRING escape", "", "S'\\n'\n", nil}, {"BINSTRING", "", "T\x00\x00\x00\x00", nil}, {"SHORT_BINSTRING", "", "U\x00", nil},
		{"SHORT_BINSTRING no text", "", "U\x01\xff", nil}, {"UNICODE", "", "V\n", nil}, {"UNICODE escape", "", "V\\u0041\n", nil}, {"BINUNICODE", "", "X\x00\x00\x00\x00", nil},
		{"SHORT_BINUNICODE", "", "\x8c\x00", nil}, {"BINUNICODE8", "", "\x8d\x00\x00\x00\x00\x00\x00\x00\x00", nil},
		{"BINBYTES", "", "B\x00\x00\x00\x00", nil}, {"SHORT_BINBYTES", "", "C\x00", nil}, {"SHORT_BINBYTES nested", "", "C\x04\x80\x02N.", nil},
		{"BINBYTES8", "", "\x8e\x00\x00\x00\x00\x00\x00\x00\x00", nil}, {"BYTEARRAY8", "", "\x96\x00\x00\x00\x00\x00\x00\x00\x00", nil},
		{"EMPTY_TUPLE", "", ")", nil}, {"TUPLE", "", "(t", nil}, {"TUPLE of one", "", "(Nt", nil}, {"TUPLE1", "N", "\x85", nil}, {"TUPLE1 of None", "", "N\x85", nil},
		{"TUPLE2", "", "NN\x86", nil}, {"TUPLE3", "", "NNN\x87", nil}, {"EMPTY_LIST", "", "]", nil}, {"LIST", "", "(l", nil}, {"LIST of one", "", "(Nl", nil},
		{"APPEND", "]", "Na", nil}, {"APPENDS", "]", "(Ne", nil}, {"APPENDS of none", "]", "(e", nil}, {"EMPTY_DICT", "", "}", nil}, {"DICT", "", "(d", nil},
		{"SETITEMS of none", "}", "(u", nil}, {"EMPTY_SET", "", "\x8f", nil}, {"ADDITEMS of none", "\x8f", "(\x90", nil}, {"FROZENSET", "", "(\x91", nil},
		{"POP", "", "N0", nil}, {"POP_MARK", "", "(1", nil}, {"DUP", "N", "2", nil}, {"DUP of list", "(NNNNl", "2", nil},
		{"GET", "Nq\x00", "g0\n", nil}, {"BINGET", "Nq\x00", "h\x00", nil}, {"LONG_BINGET", "Nq\x00", "j\x00\x00\x00\x00", nil}, {"BINGET of list", "(NNNNlq\x00", "h\x00", nil},
		{"PUT", "N", "p0\n", nil}, {"BINPUT", "N", "q\x00", nil}, {"LONG_BINPUT", "N", "r\x00\x00\x00\x00", nil}, {"MEMOIZE", "N", "\x94", nil},
		{"GLOBAL", "", "ccollections\nCounter\n", nil}, {"GLOBAL forbidden", "", "cos\nsystem\n", nil}, {"STACK_GLOBAL", named, "h\x01h\x02\x93", nil},
		{"EXT1", "", "\x82\x01", nil}, {"EXT2", "", "\x83\x01\x00", nil}, {"EXT4", "", "\x84\x01\x00\x00\x00", nil},
		{"REDUCE", named, "h\x00)R", nil}, {"REDUCE forbidden", "cos\nsystem\nq\x00", "h\x00)R", nil}, {"REDUCE of result", "cos\nsystem\n", ")R", nil},
		{"BUILD", named, "h\x00)R}b", nil}, {"BUILD forbidden", "cos\nsystem\n)R", "}b", nil}, {"INST", "", "(icollections\nCounter\n", nil},
		{"OBJ", named, "(h\x00o", nil}, {"NEWOBJ", named, "h\x00)\x81", nil}, {"NEWOBJ_EX", named, "h\x00)}\x92", nil},
		{"PERSID", "", "Px\n", nil}, {"BINPERSID", named, "h\x03Q", nil}, {"NEXT_BUFFER", "", "\x97", nil}, {"PROTO", "", "\x80\x02", nil},
		{"FRAME", "\x80\x04", "\x95\x00\x00\x00\x00\x00\x00\x00\x00", nil}, {"STOP", "N", ".", nil},
		{"APPEND forbidden", "cos\nsystem\n)R", "Na", nil}, {"SETITEM forbidden", "cos\nsystem\n)R", "NNs", nil},
		{"set of a list", named + "c__builtin__\nset\nq\x00", "h\x00h\x04\x85R", nil}, {"OrderedDict with attributes", named, "h\x00)R}U\x01aNsb", nil},
		{"deque", "ccollections\ndeque\nq\x00", "h\x00)R", nil}, {"set", "\x80\x02c__builtin__\nset\nq\x00", "h\x00)R", nil},
		{"keys", "}", "", func(i uint32) string { return "J" + le(i) + "Ns" }},
		{"texts as keys", "}(", "", func(i uint32) string { return "U\x05x" + le(i&0x7f7f7f7f) + "N" }},
		{"elements", "\x8f", "", func(i uint32) string { return "(J" + le(i) + "\x90" }},
		{"nine keys", "", "", func(i uint32) string { return "}(" + strings.Repeat("K\x01N", 0) + nineKeys + "u" }},
		{"memo with gaps", "N", "", func(i uint32) string { return "r" + le(i*40503) }},
		{"distinct globals", "", "", func(i uint32) string { return "c" + strconv.FormatUint(uint64(i), 36) + "\nx\n" }},
		{"linked list", "]q\x00", "", func(i uint32) string { return "]r" + le(i+1) + "a" + "j" + le(i+1) }},
		{"lists that grow late", "", "", func(i uint32) string { return "]q\x00\x85h\x00Na" }},
		{"one line", "c", "a", nil}, {"one text", "", "", nil},
	}
	for code := range 256 {
		out = append(out, flood{"byte " + strconv.FormatInt(int64(code), 16), "", string([]byte{byte(code)}), nil})
	}
	return out
}

const nineKeys = "K\x01NK\x02NK\x03NK\x04NK\x05NK\x06NK\x07NK\x08NK\x09N"

func (f flood) bytes(size int) []byte {
	if f.name == "one text" {
		return append([]byte("X"+le(uint32(size))), make([]byte, size)...)
	}
	out := append(make([]byte, 0, size+64), f.begin...)
	for i := uint32(0); len(out) < size; i++ {
		if f.next != nil {
			out = append(out, f.next(i)...)
		} else {
			out = append(out, f.unit...)
		}
	}
	return out
}

// Bounds of what a flood may cost, for each byte and in all.
const (
	chargedPerByte = 64
	chargedFree    = 64 << 10
	stepsPerByte   = 10
	stepsFree      = 4 * limits.StepBatch
)

func TestAFloodCostsByItsBytes(t *testing.T) {
	const size = 128 << 10
	vm.ClassSets() // made once for a process
	var worstCharge, worstSteps float64
	for _, f := range floods() {
		data := f.bytes(size)
		for way, run := range ways {
			b := limitstest.Open(t, limits.Policy{})
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			err := run(b, bytes.NewReader(data), int64(len(data)))
			runtime.ReadMemStats(&after)
			charged, steps := b.Charged(), limitstest.Peak(b, limits.StepCount)
			b.Close()
			switch class := wire.ClassOf(err); {
			case f.name == "STOP" && class == wire.OK: // what follows is the caller's
				continue
			}
			switch wire.ClassOf(err) {
			case wire.Malformed, wire.Truncated, wire.Unsupported, wire.Limit, wire.Forbidden:
			default:
				t.Errorf("%s, %s: %v", f.name, way, err)
			}
			if charged > chargedPerByte*size+chargedFree || steps > stepsPerByte*size+stepsFree {
				t.Errorf("%s, %s: %d bytes charged and %d steps for %d bytes", f.name, way, charged, steps, size)
			}
			if allocated := int64(after.TotalAlloc - before.TotalAlloc); allocated > 2*charged+256<<10 {
				t.Errorf("%s, %s: %d bytes allocated, %d charged", f.name, way, allocated, charged)
			}
			worstCharge, worstSteps = max(worstCharge, float64(charged)/size), max(worstSteps, float64(steps)/size)
		}
	}
	t.Logf("at most %.1f bytes charged and %.1f steps for a byte", worstCharge, worstSteps)
}

var ways = map[string]func(b *limits.Budget, r io.ReaderAt, size int64) error{
	"load": func(b *limits.Budget, r io.ReaderAt, size int64) error {
		_, err := vm.Load(b, r, 0, size)
		return err
	},
	"load next": func(b *limits.Budget, r io.ReaderAt, size int64) error {
		_, err := vm.LoadNext(b, r, 0, size)
		return err
	},
	"scan": func(b *limits.Budget, r io.ReaderAt, size int64) error {
		return vm.Scan(b, r, 0, size).Refusal()
	},
}

// BenchmarkHostile runs 60 MB of each flood: no run may take two seconds.
func BenchmarkHostile(b *testing.B) {
	for _, f := range floods() {
		if strings.HasPrefix(f.name, "byte ") {
			continue // ends at the second byte, or is among the others
		}
		data := f.bytes(60 << 20)
		for _, way := range []string{"load", "scan"} {
			b.Run(f.name+"/"+way, func(b *testing.B) {
				b.SetBytes(int64(len(data)))
				var err error
				for b.Loop() {
					account := limits.Policy{}.Budget(background)
					err = ways[way](account, bytes.NewReader(data), int64(len(data)))
					account.Close()
				}
				if err == nil {
					b.Fatal("accepted")
				}
				if limit, ok := errors.AsType[*limits.Error](err); ok && limit.Axis == limits.Time {
					b.Fatal(err)
				}
			})
		}
	}
}
