package zip_test

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/anamnesis-go/anamnesis/corpus"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/parser/zip"
	"github.com/google/go-cmp/cmp"
)

// Refusals too small for a recipe of their own; the body is that of a recipe.
func TestSmallRefusals(t *testing.T) {
	for _, c := range []struct {
		name, body string
		class      wire.Class
	}{
		{"method 9 is named", `zip { entry "a" method=9 { str "x" } }`, wire.Unsupported},
		{"method 77 is unknown", `zip { entry "a" method=77 { str "x" } }`, wire.Unsupported},
		{"a socket", `zip { entry "a" c.made=0x031e c.eattr=0xc1ff0000 { str "x" } }`, wire.Unsupported},
		{"a folder by mode, not by name", `zip { entry "a" c.made=0x031e c.eattr=0x41ed0000 { } }`, wire.Malformed},
		{"a file by mode, a folder by name", `zip { entry "a/" c.made=0x031e c.eattr=0x81a40000 { } }`, wire.Malformed},
		{"a name that is two dots", `zip { entry ".." { } }`, wire.Malformed},
		{"a name that ends in two dots", `zip { entry "a/.." { } }`, wire.Malformed},
		{"a local header longer than its place", `zip { entry "a" l.elen=100 { str "x" } entry "b" { } }`, wire.Malformed},
		{"an empty zip64 field", `zip { entry "a" l.extra={ u16 1 0 } { str "x" } }`, wire.Malformed},
		{"a zip64 field of 7 bytes", `zip { entry "a" l.extra={ u16 1 7; pad 7 } { str "x" } }`, wire.Malformed},
		{"a zip64 size past 2^63", `zip { entry "a" method=8 stored={ hex 0300 } c.usize=0xffffffff c.extra={ u16 1 8; u64 2^63 } { } }`, wire.Malformed},
		{"a directory entry of another signature", `zip { entry "a" c.sig=0x02014b51 { } }`, wire.Malformed},
		{"a directory that ends in a name", `zip { entry "a" c.nlen=200 { } }`, wire.Malformed},
		{"a directory that ends in extra fields", `zip { entry "a" c.elen=200 { } }`, wire.Malformed},
		{"a directory that ends in a comment", `zip { entry "a" c.clen=200 { } }`, wire.Malformed},
		{"a descriptor of another signature", `zip { entry "a" descriptor=yes d.sig=1 { str "x" } }`, wire.Malformed},
		{"a locator with no room before it", `hex 504b0506 504b0607; pad 12; hex 01000000; zip loc=no { }`, wire.Malformed},
		{"a zip64 record of the wrong length", `zip zip64=yes e64.size=43 { entry "a" { } }`, wire.Malformed},
		{"a zip64 record longer than it is", `zip zip64=yes e64.size=45 { entry "a" { } }`, wire.Malformed},
		{"entries that contradict the record", `zip zip64=yes e.entries=2 { entry "a" { } }`, wire.Malformed},
	} {
		t.Run(c.name, func(t *testing.T) {
			r, err := corpus.Parse("zip", "small", "# a small file that is refused\nexpect: malformed\noffset: none\n--\n"+lines(c.body), []string{"malformed"})
			if err != nil {
				t.Fatal(err)
			}
			_, err = decode(t, r.Bytes(), zip.Options{})
			if class := wire.ClassOf(err); class != c.class {
				t.Errorf("%v, want %v: %v", class, c.class, err)
			}
		})
	}
}

// Flag 8 requires a descriptor after the data, whatever the sizes in the headers are.
func TestFlag8AsksForADescriptor(t *testing.T) {
	for _, keys := range []string{"", " l.crc=0", " l.crc=0 l.csize=0 l.usize=0", " zip64=local", " zip64=yes", " zip64=yes l.crc=0", " c.flags=0", " l.flags=0"} {
		for n := range 32 {
			for _, next := range []string{"", ` entry "b" { }`} {
				body := fmt.Sprintf(`zip { entry "a" flags=8%s { pad %d }%s }`, keys, n, next)
				r, err := corpus.Parse("zip", "flag", "# no descriptor\nexpect: malformed\noffset: none\n--\n"+lines(body), []string{"malformed"})
				if err != nil {
					t.Fatal(err)
				}
				if _, err := decode(t, r.Bytes(), zip.Options{}); err == nil {
					t.Errorf("%s is accepted", body)
				}
			}
		}
	}
}

// lines breaks a recipe of one line where entries begin and the archive ends.
func lines(body string) string {
	return strings.TrimSuffix(strings.ReplaceAll(body, " entry", "\nentry"), "}") + "\n}"
}

func TestDirectorySeesTheMembersThatDecodeSees(t *testing.T) {
	for _, seed := range corpus.Valid("zip") {
		if seed.Recipe != nil {
			continue
		}
		r := bytes.NewReader(seed.Data)
		b := account(t, nil)
		l, err := zip.List(b, r, r.Size())
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		listed := slices.Clone(l.Members)
		a, err := decode(t, seed.Data, zip.Options{})
		if err != nil {
			t.Fatal(err)
		}
		for range 2 { // the second time all is proven already
			got, err := l.Decode(b, r, zip.Options{Format: "npz"})
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(a.Members, got.Members); diff != "" || got.Comment != a.Comment || got.Twin != a.Twin {
				t.Errorf("%s, once it is listed: %s", seed.Name, diff)
			}
		}
		for i := range a.Members {
			a.Members[i].DataOff = 0
		}
		if diff := cmp.Diff(a.Members, listed); diff != "" {
			t.Errorf("%s: %s", seed.Name, diff)
		}
		if _, err := zip.List(b, r, r.Size()-1); wire.ClassOf(err) != wire.Truncated {
			t.Errorf("%s, without its last byte: %v", seed.Name, err)
		}
	}
}
