package corpus

import (
	"archive/zip"
	"bytes"
	"encoding/hex"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const head = "# a file\nexpect: malformed\noffset: 0x10\n--\n"

func build(t *testing.T, body string) []byte {
	t.Helper()
	r, err := Parse("npy", "x", head+body, hostileClasses)
	if err != nil {
		t.Fatal(err)
	}
	data, err := r.Build()
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// The expected bytes of pickle operands are what CPython's pickletools reads
// back; those of numbers follow from two's complement and IEEE 754.
func TestEachVerbWritesItsBytes(t *testing.T) {
	for _, c := range []struct{ body, want string }{
		{`hex 93 4e55 4d`, "934e554d"},
		{`str "a\x00\xff" "b"`, "6100ff62"},
		{"str `\"q\"` # comment", "227122"},
		{`u8 1 255 -1 -128`, "01ffff80"},
		{`u16 0x0102; u16be 0x0102`, "02010102"},
		{`u32 2^31 -1`, "00000080ffffffff"},
		{`u64 2^64-1 2^63 -2^63`, "ffffffffffffffff00000000000000800000000000000080"},
		{`i64be 3*2^8+1`, "0000000000000301"},
		{`f16 1 -2 65504 65520 6e-8 nan`, "003c00c0ff7b007c0100007e"},
		{`f32 1.5 -inf; f64be 1`, "0000c03f000080ff3ff0000000000000"},
		{`repeat 3 { hex ab cd }`, "abcdabcdabcd"},
		{`repeat 2 { repeat 2 { u8 j*16+i } }`, "00011011"},
		{`repeat 3 { fmt "%d%x," i 10*i }`, "30302c31612c3231342c"},
		{`repeat 0 { hex ff }`, ""},
		{`pad 2; pad 2 0x20`, "00002020"},
		{`u8 1; align 4; u8 2; align 4 255`, "0100000002ffffff"},
		{`repeat 2 { u8 1 2 3; align 4 }`, "0102030001020300"},
		{`pad 4; at 1 { u8 7 }; at -1 { u8 9 }`, "00070009"},
		{`u8 1 2 3 4; cut 3; cut -1`, "0102"},
		{`len u16be { str "ab"; len u8 { str "c" } }`, "000461620163"},
		{`gstr "ab"; gstrbe "c"`, "0200000000000000616200000000000000" + "0163"},
		{`crc32 { str "123456789" }`, "2639f4cb"},
		{`op PROTO 2; op GLOBAL "os" "system"; op MARK; op STOP`, "8002636f730a73797374656d0a282e"},
		{`op BINUNICODE "é"; op SHORT_BINUNICODE "x"; op BINUNICODE8 "y"`, "5802000000c3a98c01788d010000000000000079"},
		{`op BINUNICODE "x" len=2^32-1`, "58ffffffff78"},
		{`op LONG1 255; op LONG1 -256; op LONG1 0; op LONG1 -1; op LONG1 -128`, "8a02ff008a0200ff8a008a01ff8a0180"},
		{`op LONG1 0x1950a86a20f9469cfc6c; op LONG4 hex 01`, "8a0a6cfc9c46f9206aa850198b0100000001"},
		{`op INT 5; op INT "01"; op LONG -7; op GET 3`, "49350a4930310a4c2d374c0a67330a"},
		{`op STRING "it's"; op UNICODE "a\\b"; op PERSID "7"`, `532769745c2773270a` + "56615c7530303563620a" + "50370a"},
		{`op FLOAT 1.5; op BINFLOAT 1.5; op FRAME 10; op BINPUT 255; op BININT -1`, "46312e350a473ff8000000000000950a0000000000000071ff4affffffff"},
		{`op INT raw="zz\n"; op SHORT_BINBYTES raw={ u8 9 }`, "497a7a0a4309"},
	} {
		t.Run(c.body, func(t *testing.T) {
			if diff := cmp.Diff(c.want, hex.EncodeToString(build(t, c.body))); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestARecipeWithAFaultIsRefusedWithTheLine(t *testing.T) {
	for _, c := range []struct{ src, want string }{
		{"# x\nexpect: malformed\noffset: 1\n", "no line --"},
		{"expect: malformed\noffset: 1\n--\n", "no comment"},
		{"# x\noffset: 1\n--\n", "no expect"},
		{"# x\nexpect: malformed\n--\n", "no offset"},
		{"# x\nexpect: broken\noffset: 1\n--\n", `line 2: expect: "broken" is not one of`},
		{"# x\nexpect: ok\noffset: 1\n--\n", "line 2"},
		{"# x\nexpect: limit\noffset: 1\n--\n", "belong together"},
		{"# x\nexpect: malformed\noffset: -1\n--\n", "line 3"},
		{"# x\nexpect: malformed\noffset: 1\noffset: 2\n--\n", "line 4: offset: repeated"},
		{"# x\nexpect: malformed\noffset: 1\ncolour: red\n--\n", "line 4: unknown header line"},
		{"# x\nexpect: malformed\noffset: 1\npolicy: [1]\n--\n", "line 4: policy"},
		{"# x\ncovers: P1\nexpect: malformed\noffset: 1\n--\n", "line 2: covers"},
		{head + "\nfrob 1", `line 6: unknown verb "frob"`},
		{head + "hex 9", "line 5: hex"},
		{head + "str \"a", "line 5: a text"},
		{head + "u8", "line 5: expected a number"},
		{head + "u8 256", "line 5: u8: 256 does not fit"},
		{head + "u8 -129", "does not fit"},
		{head + "u64 2^64", "is not a number"},
		{head + "u8 i", "not inside of enough repeats"},
		{head + "repeat 2 { u8 1", "expected a verb"},
		{head + "u8 1 }", "expected a verb"},
		{head + "repeat 2 { u64 i*2^63*2 }", "is not a number"},
		{head + "repeat 3 { u64 i*2^63 }", "does not fit 64 bits"},
		{head + "repeat -1 { u8 1 }", "is not a count"},
		{head + "pad 2^40", "larger than 128 MiB"},
		{head + "repeat 2^40 { u8 1 }", "larger than 128 MiB"},
		{head + "at 1 { u8 1 }", "outside"},
		{head + "u8 1; at 0 { u16 1 }", "reaches past"},
		{head + "align 0", "positive"},
		{head + "len u8 { pad 256 }", "do not fit 8 bits"},
		{head + "len f32 { }", "line 5: len needs"},
		{head + "op FROB", `no opcode has the name "FROB"`},
		{head + "op GLOBAL \"os\"", "text in quotes"},
		{head + "op BINPUT 256", "does not fit"},
		{head + "op BINPUT", "needs an operand"},
		{head + "op BINPUT 1 len=2", "unknown len="},
		{head + "zip { entry \"a\" colour=1 { } }", "unknown colour="},
		{head + "zip { entry \"a\" flags=2^16 { } }", "does not fit 16 bits"},
		{head + "zip { frob }", "in a zip stand entry and raw"},
		{head + "seed \"npy/none.npy\"", "no file"},
		{head + "fmt \"%d\"", "1 verbs"},
	} {
		t.Run(c.src, func(t *testing.T) {
			r, err := Parse("npy", "x", c.src, hostileClasses)
			if err == nil {
				_, err = r.Build()
			}
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want it to say %s", err, c.want)
			}
		})
	}
}

func TestAnArchiveWithoutOverridesIsReadByTheStandardLibrary(t *testing.T) {
	for _, c := range []struct{ name, zip, entry string }{
		{"plain", "", ""},
		{"deflate", "", "method=deflate"},
		{"descriptor", "", "descriptor=yes flags=0x808"},
		{"descriptor without signature", "", "descriptor=nosig method=deflate"},
		{"zip64 record", "zip64=yes", ""},
		{"zip64 with masked fields", "zip64=ff", "zip64=yes"},
		{"aligned", "", "align=64"},
		{"comments and extras", `comment="hello"`, `c.comment="c" extra={ u16 0x9999 2; hex 01 02 }`},
	} {
		t.Run(c.name, func(t *testing.T) {
			body := "zip " + c.zip + " { entry \"a/b\" " + c.entry + " { repeat 100 { str \"xy\" } }\n entry \"c\" " + c.entry + " { } }"
			data := build(t, body)
			z, err := zip.NewReader(bytes.NewReader(data), int64(len(data)))
			if err != nil {
				t.Fatal(err)
			}
			if len(z.File) != 2 || z.File[0].Name != "a/b" {
				t.Fatalf("%d files", len(z.File))
			}
			f, err := z.File[0].Open()
			if err != nil {
				t.Fatal(err)
			}
			got, err := io.ReadAll(f)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(strings.Repeat("xy", 100), string(got)); diff != "" {
				t.Error(diff)
			}
			if off, err := z.File[0].DataOffset(); err != nil || c.name == "aligned" && off%64 != 0 {
				t.Errorf("data at %d, %v", off, err)
			}
		})
	}
}

func TestEveryFieldOfAnArchiveCanBeOverridden(t *testing.T) {
	plain := build(t, `zip zip64=yes { entry "a" descriptor=yes { u8 1 } }`)
	for _, key := range append(append([]string{}, zipKeys...), entryFields...) {
		value := "3"
		switch key {
		case "eocd", "e64", "loc":
			value = "no"
		case "zip64":
			value = "ff"
		case "comment", "central-gap", "eocd-gap", "e64.extra", "name", "extra":
			value = `"zz"`
		}
		entry, own := "", ""
		if knownZip(key) && key != "comment" {
			own = key + "=" + value
			if key == "zip64" {
				own = "zip64=ff"
			}
		} else {
			entry = "c." + key + "=" + value
		}
		t.Run(key, func(t *testing.T) {
			if !strings.Contains(own, "zip64=") {
				own += " zip64=yes"
			}
			got := build(t, "zip "+own+" { entry \"a\" descriptor=yes "+entry+" { u8 1 } }")
			if bytes.Equal(plain, got) {
				t.Errorf("%s %s changed nothing", own, entry)
			}
		})
	}
}
