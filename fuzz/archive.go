package fuzz

import (
	"encoding/binary"
	"fmt"
	"strings"
	"testing"

	"github.com/anamnesis-go/anamnesis/corpus"
)

// A Naming returns the name and the body of the i-th member of a built archive, from bytes
// of the fuzzer.
type Naming func(i int, raw []byte) (name string, body []byte)

// Plain names members m0, m1, ... and leaves their bodies unchanged.
func Plain(i int, raw []byte) (string, []byte) { return fmt.Sprintf("m%d", i), raw }

// Archive reads the fuzzer's bytes as a plan of a ZIP archive and builds it. Sizes and
// CRCs are right, or deliberately wrong in one field of a few members. Mutations of a
// finished archive hardly ever get past the CRC and the two directories; mutations of a
// plan do. [Plan] returns the archive as a recipe.
func Archive(t testing.TB, data []byte, naming Naming) []byte {
	t.Helper()
	r, err := corpus.Parse("zip", "plan", Plan(data, naming), []string{"ok"})
	if err != nil {
		t.Fatalf("the plan is no recipe: %v", err)
	}
	out, err := r.Build()
	if err != nil {
		t.Fatalf("the plan builds nothing: %v", err)
	}
	return out
}

// maxMembers and maxRaw bound a built archive.
const (
	maxMembers = 8
	maxRaw     = 4 << 10
)

// Fields that may be wrong, of a member and of the archive.
var (
	memberFields = strings.Fields("l.flags c.flags flags l.method c.method method l.crc c.crc crc l.csize c.csize csize l.usize c.usize usize " +
		"l.nlen c.nlen l.elen c.elen c.clen c.disk c.offset c.sig l.sig d.sig d.crc d.csize d.usize c.iattr c.eattr c.made l.version c.version l.time date")
	archiveFields = strings.Fields("e.sig e.disk e.cd-disk e.here e.entries e.cd-size e.cd-offset e.clen " +
		"e64.sig e64.size e64.made e64.version e64.disk e64.cd-disk e64.here e64.entries e64.cd-size e64.cd-offset " +
		"loc.sig loc.disk loc.offset loc.disks")
	wrong = [...]string{"0", "1", "2", "3", "6", "8", "9", "20", "22", "45", "46", "30", "255", "0x800", "0x7fff", "0xffff"}
)

// Plan returns the recipe of the archive that [Archive] builds.
func Plan(data []byte, naming Naming) string {
	p := plan{data: data}
	var out strings.Builder
	out.WriteString("# built by a fuzz target\nexpect: ok\n--\nzip")
	switch mode := p.byte(); mode & 7 {
	case 5:
		out.WriteString(" zip64=ff")
	case 6:
		out.WriteString(" zip64=yes")
	case 7:
		fmt.Fprintf(&out, " zip64=yes %s=%s", archiveFields[int(mode>>3)%len(archiveFields)], p.wrong())
	}
	out.WriteString(" {\n")
	for i := range maxMembers {
		if len(p.data) == 0 {
			break
		}
		p.member(&out, i, naming)
	}
	out.WriteString("}\n")
	return out.String()
}

type plan struct{ data []byte }

func (p *plan) byte() byte {
	if len(p.data) == 0 {
		return 0
	}
	c := p.data[0]
	p.data = p.data[1:]
	return c
}

func (p *plan) wrong() string {
	c := p.byte()
	if c&0x80 != 0 {
		return fmt.Sprint(c & 0x7f)
	}
	return wrong[int(c)%len(wrong)]
}

// raw reads a body: a byte of length, which means a long one from 192 on.
func (p *plan) raw() []byte {
	n := int(p.byte())
	if n >= 192 {
		n = (n - 191) * 64
	}
	n = min(n, len(p.data), maxRaw)
	out := p.data[:n]
	p.data = p.data[n:]
	return out
}

func (p *plan) member(out *strings.Builder, i int, naming Naming) {
	control := p.byte()
	defect := ""
	if control>>5 == 7 { // one member in eight
		defect = fmt.Sprintf(" %s=%s", memberFields[int(p.byte())%len(memberFields)], p.wrong())
	}
	name, body := naming(i, p.raw())
	if control>>5 == 6 && control&1 == 1 { // one in sixteen: a name that was there
		name, _ = naming(0, nil)
	}
	fmt.Fprintf(out, "\tentry %q", name)
	switch control & 3 {
	case 2:
		if !strings.Contains(defect, " method=") {
			fmt.Fprintf(out, " method=8 stored={ hex %x }", storedBlock(body))
		}
	case 3:
		if !strings.Contains(defect, " method=") {
			out.WriteString(" method=deflate")
		}
	}
	switch control >> 2 & 3 {
	case 1:
		out.WriteString(" descriptor=yes")
	case 2:
		out.WriteString(" zip64=yes")
	case 3:
		out.WriteString(" zip64=yes descriptor=64")
	}
	if control&0x10 != 0 {
		out.WriteString(" align=64")
	}
	out.WriteString(defect)
	if len(body) == 0 {
		out.WriteString(" { }\n")
		return
	}
	fmt.Fprintf(out, " { hex %x }\n", body)
}

// storedBlock returns a DEFLATE stream of one block without compression.
func storedBlock(body []byte) []byte {
	n := uint16(len(body))
	out := binary.LittleEndian.AppendUint16([]byte{1}, n)
	return append(binary.LittleEndian.AppendUint16(out, ^n), body...)
}
