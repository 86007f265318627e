package vm

import (
	"strings"
	"testing"

	"github.com/anamnesis-go/anamnesis/internal/effort"
	"github.com/anamnesis-go/anamnesis/limits"
)

// Values of every kind, as the instructions that leave them.
var anything = []string{
	"N", "\x88", "K\x05", "K\x00", "J\xff\xff\xff\xff", "\x8a\x09\x00\x00\x00\x00\x00\x00\x00\x00\x01", "G\x3f\xf0\x00\x00\x00\x00\x00\x00",
	"X\x01\x00\x00\x00a", "U\x01b", "C\x01c", "]", "}", ")", "K\x01\x85", "X\x01\x00\x00\x00a\x85", "]K\x01a", "}K\x01K\x02s",
	"ccollections\nOrderedDict\n", "ccollections\nOrderedDict\n)R", "ctorch\nfloat32\n", "ctorch\nSize\n(K\x01K\x02t\x85R", "\x8f",
	"cdatetime\ntimedelta\nK\x00K\x01K\x00\x87R", "ctorch\nFloatTensor\n)R", "ctorch\ndevice\nX\x03\x00\x00\x00cpu\x85R",
	"cnumpy\ndtype\nX\x02\x00\x00\x00f4\x89\x88\x87R",
}

// Every name of the allowlist is called with, made of and given a state of any
// values: what does not fit is refused, and nothing but that happens.
func TestCallsTakeAnyArguments(t *testing.T) {
	policy := limits.Policy{}
	var args []string
	for i, a := range anything {
		args = append(args, a+"\x85")
		for j, b := range anything {
			args = append(args, a+b+"\x86")
			if few := effort.Of(2, 9); !testing.Short() && i < few && j < few {
				for _, c := range anything[:few] {
					args = append(args, a+b+c+"\x87")
				}
			}
		}
	}
	names := 0
	for _, e := range allowlist {
		for i, name := range strings.Fields(e.names) {
			if i > 0 && e.id != DateTime && e.id != PlainType && e.id != Path {
				break // one of a kind
			}
			names++
			everyUse(t, &policy, "c"+e.module+"\n"+name+"\n", args)
		}
	}
	if names < 60 {
		t.Errorf("%d names", names)
	}
}

func everyUse(t *testing.T, p *limits.Policy, name string, args []string) {
	t.Helper()
	for _, call := range [...]string{"R", "\x81"} {
		for _, arg := range args {
			scanned(t, p, name+arg+call+".")
		}
	}
	for _, made := range [...]string{"", ")R", ")\x81"} {
		for _, state := range anything {
			scanned(t, p, name+made+state+"b.")
		}
	}
}

// scanned reads a pickle and all of its graph.
func scanned(t *testing.T, p *limits.Policy, pickle string) {
	t.Helper()
	defer func() {
		if r := recover(); r != nil {
			t.Fatalf("%q: %v", pickle, r)
		}
	}()
	b := p.Budget(t.Context())
	defer b.Close()
	Scan(b, strings.NewReader(pickle), 0, int64(len(pickle)))
}

// The persistent id of a storage of two numbers.
const storage = "(U\x07storagectorch\nFloatStorage\nU\x010U\x03cpuK\x02tQ"

// What is honest for a letter of a signature, as the instructions that leave it.
var honest = map[byte]string{
	'b': "\x89", 'j': "\x89", 'i': "K\x01", 'z': "N", 'n': "N", 'v': "N", 'f': "G\x3f\xf0\x00\x00\x00\x00\x00\x00", 't': "X\x03\x00\x00\x00cpu", 'l': "X\x06\x00\x00\x00latin1",
	'u': "X\x05\x00\x00\x00utf-8", 'y': "C\x04abcd", 'w': "C\x04abcd", 'x': "C\x04abcd", 'e': "]", 'E': "}", 'S': storage, 'I': "K\x02\x85", 'k': "}", 'g': "}", 'h': "}",
	'A': "}", 'B': "}", 's': "}", 'F': "cbuiltins\nlist\n", 'G': "cargparse\nNamespace\n", 'c': "cbuiltins\nobject\n", 'Z': "C\x0a\x07\xe8\x02\x1c\x17\x3b\x3b\x00\x00\x01",
	'O': "ctorch\nFloatStorage\n", 'T': "ctorch._utils\n_rebuild_meta_tensor_no_storage\n(ctorch\nfloat32\nK\x02\x85K\x01\x85\x89tR", 'd': "ctorch\nfloat32\n",
	'C': "ctorch\nTensor\n", 'D': "X\x03\x00\x00\x00cpu", 'L': "ctorch.serialization\n_get_layout\nX\x0d\x00\x00\x00torch.strided\x85R", 'P': ")",
	'q': "ctorch\nper_tensor_affine\nG\x3f\xf0\x00\x00\x00\x00\x00\x00K\x00\x87", 'R': "ctorch._utils\n_rebuild_tensor\n", '(': "(" + storage + "K\x00K\x02\x85K\x01\x85t",
	'V': ")", 'W': "(" + storage + "K\x00K\x02\x85K\x01\x85t", 'a': "cnumpy._core.numeric\n_frombuffer\n(C\x04abcdcnumpy\ndtype\nX\x02\x00\x00\x00f4\x89\x88\x87RK\x01\x85X\x01\x00\x00\x00CtR",
	'N': "cnumpy\nndarray\n", 'J': "cnumpy\ndtype\nX\x02\x00\x00\x00f4\x89\x88\x87R", 'X': "X\x02\x00\x00\x00f4", '0': "K\x00\x85",
	'Y': "(K\x01\x85cnumpy\ndtype\nX\x02\x00\x00\x00f4\x89\x88\x87R\x89C\x04abcdt", 'K': "(K\x03U\x01<NNNJ\xff\xff\xff\xffJ\xff\xff\xff\xffK\x00t",
}

// A scan goes on with an object whose call or state was refused: it may then be an argument or a
// key, with any arguments of its own. Nothing may look into it.
func TestObjectsOfRefusedCallsAreOfNoClass(t *testing.T) {
	policy := limits.Policy{}
	seen, all := map[ID]bool{}, allowlist[:0:0]
	for _, e := range allowlist {
		if !seen[e.id] {
			seen[e.id], all = true, append(all, e)
		}
	}
	for _, e := range all {
		name := "c" + e.module + "\n" + strings.Fields(e.names)[0] + "\n"
		var objects []string
		arguments := []string{"K\x05", "X\x40\x00\x00\x00" + strings.Repeat("a", 64), "J\xff\xff\xff\x7f", "C\x01c", "]K\x01a", "}", "N", "cno\nname\n)R", "\x88K\x02\x86"}
		if testing.Short() {
			arguments = arguments[:1]
		}
		for _, a := range arguments[:min(len(arguments), effort.Of(2, len(arguments)))] {
			objects = append(objects, name+a+"\x85R", name+a+"\x85\x81")
			for i, call := range honestCalls(rules[e.id].call) {
				objects = append(objects, name+"("+strings.Join(call, "")+"tR"+a+"b")
				if i == 0 {
					objects = append(objects, name+"("+strings.Join(call, "")+"tR"+a+"\x85b")
				}
			}
		}
		for _, o := range objects {
			scanned(t, &policy, "}"+o+"Ns.")
			scanned(t, &policy, "\x8f("+o+"N\x90.")
			scanned(t, &policy, "}("+o+"\x85N"+o+"N\x88"+o+"u.")
		}
		for _, user := range all {
			called := "c" + user.module + "\n" + strings.Fields(user.names)[0] + "\n("
			for _, call := range honestCalls(rules[user.id].call) {
				for at := range call {
					for _, o := range objects {
						scanned(t, &policy, called+strings.Join(call[:at], "")+o+strings.Join(call[at+1:], "")+"tR.")
					}
				}
			}
		}
	}
}

// honestCalls are arguments of each way to call, with what may be left out.
func honestCalls(signature string) (calls [][]string) {
	if signature == "-" {
		return nil
	}
	for way := range strings.SplitSeq(signature, "|") {
		call := []string{}
		for _, letter := range []byte(strings.NewReplacer("?", "", "*", "").Replace(way)) {
			call = append(call, honest[letter])
		}
		calls = append(calls, call)
	}
	return calls
}

// The values above are taken, each by every rule that has its letter.
func TestHonestArgumentsAreTaken(t *testing.T) {
	policy := limits.Policy{}
	for _, e := range allowlist {
		for _, call := range honestCalls(rules[e.id].call) {
			pickle := "c" + e.module + "\n" + strings.Fields(e.names)[0] + "\n(" + strings.Join(call, "") + "tR."
			b := policy.Budget(t.Context())
			if report := Scan(b, strings.NewReader(pickle), 0, int64(len(pickle))); report.Err != nil {
				t.Errorf("%s%s: %v", e.module, e.names, report.Err)
			}
			b.Close()
		}
	}
}
