package fuzz_test

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/anamnesis-go/anamnesis/compare"
	"github.com/anamnesis-go/anamnesis/fuzz"
	"github.com/anamnesis-go/anamnesis/gate"
	"github.com/anamnesis-go/anamnesis/gate/bom"
	"github.com/anamnesis-go/anamnesis/gate/report"
	"github.com/anamnesis-go/anamnesis/internal/fixtures"
	"github.com/anamnesis-go/anamnesis/parser/safetensors"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
	"github.com/anamnesis-go/anamnesis/stats"
)

// skeletonOf returns the structure of a document without its texts, which a name of a file must
// not change.
var skeletonOf = map[string]func(t *testing.T, text string) string{
	"sarif": jsonSkeleton, "gitlab": jsonSkeleton, "baseline": jsonSkeleton, "bom": jsonSkeleton,
	"junit": func(t *testing.T, text string) string {
		var out strings.Builder
		for d := xml.NewDecoder(strings.NewReader(text)); ; {
			token, err := d.Token()
			switch token := token.(type) {
			case xml.StartElement:
				fmt.Fprintf(&out, "<%s", token.Name.Local)
				for _, a := range token.Attr {
					fmt.Fprintf(&out, " %s", a.Name.Local)
				}
			case xml.EndElement:
				out.WriteString(">")
			}
			if errors.Is(err, io.EOF) {
				return out.String()
			}
			if err != nil {
				t.Fatalf("no XML: %v\n%s", err, text)
			}
		}
	},
	"html": func(_ *testing.T, text string) string {
		tags := regexp.MustCompile(`<[A-Za-z!/][^>]*>`).FindAllString(quoted.ReplaceAllString(text, `""`), -1)
		return strings.Join(tags, "\n")
	},
	"markdown": func(_ *testing.T, text string) string {
		return regexp.MustCompile(`(?m)^[^|\n]+$`).ReplaceAllString(regexp.MustCompile(`\\\||[^|\n]`).ReplaceAllString(text, ""), "")
	},
	"github": func(_ *testing.T, text string) string {
		return strings.Join(regexp.MustCompile(`(?m)^(::\w*|.?)`).FindAllString(text, -1), "\n")
	},
}

var quoted = regexp.MustCompile(`"[^"]*"`)

// jsonSkeleton has the names of members and the kinds of values. No name may be there twice.
func jsonSkeleton(t *testing.T, text string) string {
	d := json.NewDecoder(strings.NewReader(text))
	v, err := onlyOnce(d)
	if err == nil {
		if _, err = d.Token(); errors.Is(err, io.EOF) {
			err = nil
		}
	}
	if err != nil {
		t.Fatalf("no JSON: %v\n%s", err, text)
	}
	var show func(v any) string
	show = func(v any) string {
		switch v := v.(type) {
		case map[string]any:
			var list []string
			for _, k := range slices.Sorted(maps.Keys(v)) {
				list = append(list, k+":"+show(v[k]))
			}
			return "{" + strings.Join(list, ",") + "}"
		case []any:
			var list []string
			for _, e := range v {
				list = append(list, show(e))
			}
			return "[" + strings.Join(list, ",") + "]"
		}
		return fmt.Sprintf("%T", v)
	}
	return show(v)
}

// FuzzReport writes every kind of report about any file of any name: it has the structure of a
// report about a file with a plain name, so that no name adds a result, an element or a line.
func FuzzReport(f *testing.F) {
	for _, name := range []string{"a.gguf", "a b/<x>|`%,:\"&é::error::\n.pkl", "\x00\xff\u202e", "x\" onload=\"y", "]]>", "\\", "::error file=a::b", "%0A::warning::", strings.Repeat("<", 2000), "a\r\n- b", "--><script>"} {
		f.Add(name, []byte("cos\nsystem\n(S'id'\ntR."))
		f.Add(name, []byte("\x02\x00\x00\x00\x00\x00\x00\x00{}"))
	}
	f.Fuzz(func(t *testing.T, name string, data []byte) {
		b := fuzz.Ceilings.Budget(t.Context())
		defer b.Close()
		g := gate.Gate{Digest: true}
		v, err := g.Check(b, bytes.NewReader(data), int64(len(data)), gate.Hint{Name: "x"})
		if err != nil || strings.Trim(name, "./\\") == "" {
			return
		}
		defer v.Close()
		for kind, skeleton := range skeletonOf {
			write := func(name string) string {
				var out strings.Builder
				err := writeReport(&out, kind, name, v)
				if err != nil {
					t.Fatalf("%s about %q: %v", kind, name, err)
				}
				return out.String()
			}
			text := write(name)
			if got, want := skeleton(t, text), skeleton(t, write("plain")); got != want {
				t.Fatalf("%s about %q has the structure\n%s\nand about a plain name\n%s\n%s", kind, name, got, want, text)
			}
			if i := strings.IndexFunc(text, func(r rune) bool { return r < ' ' && r != '\n' && r != '\t' || r == 0x7f && kind != "bom" }); i >= 0 {
				t.Fatalf("%s about %q has the control character %q", kind, name, text[i])
			}
		}
	})
}

func writeReport(out io.Writer, kind, name string, v *gate.Verdict) error {
	if kind == "bom" {
		w := bom.New(out, "1.2.3")
		return errors.Join(w.Add(name, v, nil), w.Close())
	}
	w, err := report.New(kind, out, "1.2.3")
	if err != nil {
		return err
	}
	return errors.Join(w.Add(name, v), w.Close())
}

// FuzzNumbers counts the numbers of a model in the plainest way, and compares the model with
// itself and with one of which an element differs.
func FuzzNumbers(f *testing.F) {
	f.Add([]byte{}, uint16(0))
	f.Add([]byte{0, 0, 0x80, 0x3f, 0, 0, 0xc0, 0x7f, 0, 0, 0x80, 0xff, 1, 0, 0, 0, 0, 0, 0, 0x80}, uint16(9))
	f.Fuzz(func(t *testing.T, data []byte, at uint16) {
		b := fuzz.Ceilings.Budget(t.Context())
		defer b.Close()
		var list []float32
		for ; len(data) >= 4; data = data[4:] {
			list = append(list, math.Float32frombits(uint32(data[0])|uint32(data[1])<<8|uint32(data[2])<<16|uint32(data[3])<<24))
		}
		open := func(list []float32) tensor.Model {
			file := fixtures.Safetensors(fixtures.Tensor{Name: "w", Type: "F32", Shape: []int64{int64(len(list))}, Values: list})
			m, err := safetensors.Decode(b, bytes.NewReader(file), int64(len(file)))
			if err != nil {
				t.Fatal(err)
			}
			return m
		}
		m := open(list)
		defer m.Close()
		got, err := stats.Tensors(b, m, stats.Options{Workers: 2})
		if err != nil || len(got) != 1 {
			t.Fatal(got, err)
		}
		want := stats.Tensor{First: -1, Min: math.Inf(1), Max: math.Inf(-1)}
		for i, v := range list {
			x := float64(v)
			bad := math.IsNaN(x) || math.IsInf(x, 0)
			if bad && want.First < 0 {
				want.First = int64(i)
			}
			switch {
			case math.IsNaN(x):
				want.NaN++
			case bad:
				want.Infinite++
			default:
				want.Min, want.Max = math.Min(want.Min, x), math.Max(want.Max, x)
				if x == 0 {
					want.Zeros++
				}
			}
		}
		if want.NaN+want.Infinite == int64(len(list)) {
			want.Min, want.Max = 0, 0
		}
		if g := got[0]; g.Elements != int64(len(list)) || g.Zeros != want.Zeros || g.NaN != want.NaN || g.Infinite != want.Infinite || g.First != want.First || g.Min != want.Min || g.Max != want.Max {
			t.Fatalf("%v: %+v, counted %+v", list, g, want)
		}
		in := int64(0)
		for _, bin := range got[0].Bins {
			in += bin.Negative + bin.Positive
		}
		if in != int64(len(list))-want.Zeros-want.NaN-want.Infinite {
			t.Fatalf("%v: %d numbers in bins: %+v", list, in, got[0])
		}
		other := slices.Clone(list)
		var found []compare.Difference
		differ := func(second tensor.Model) compare.Result {
			defer second.Close()
			r, err := compare.Models(b, m, second, compare.Options{}, func(d *compare.Difference) error { found = append(found, *d); return nil })
			if err != nil {
				t.Fatal(err)
			}
			return r
		}
		if r := differ(open(other)); r.Equal != 1 || r.Different != 0 || len(found) > 0 {
			t.Fatalf("%v: differs from itself: %+v, %+v", list, r, found)
		}
		if len(other) == 0 {
			return
		}
		i := int(at) % len(other)
		other[i] = math.Float32frombits(math.Float32bits(other[i]) ^ 1<<(at%23))
		if r := differ(open(other)); r.Equal != 0 || r.Different != 1 || len(found) != 1 || found[0].Kind != compare.Elements || found[0].Count != 1 || found[0].First[0] != int64(i) {
			t.Fatalf("%v: element %d differs: %+v, %+v", list, i, r, found)
		}
	})
}
