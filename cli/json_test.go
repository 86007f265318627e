package cli_test

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math/big"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/anamnesis-go/anamnesis/corpus"
	"github.com/anamnesis-go/anamnesis/internal/effort"
	"github.com/anamnesis-go/anamnesis/limits"
)

// A schema checks the part of JSON Schema 2020-12 that cli/schema uses. It is
// closed: a field that the schema does not name is an error, so that none goes
// undescribed.
type schema map[string]any

func loadSchema(t testing.TB, name string) schema {
	t.Helper()
	var s schema
	if err := json.Unmarshal([]byte(load(t, filepath.Join("schema", name+".json"))), &s); err != nil {
		t.Fatal(err)
	}
	return s
}

// keywords are what check understands, and what means nothing to it.
var keywords = []string{"$schema", "$id", "$defs", "$ref", "title", "description", "type", "properties", "required",
	"items", "enum", "const", "minimum", "maximum", "pattern", "anyOf", "allOf", "additionalProperties"}

// check lists what is wrong with a value.
func (root schema) check(s schema, at string, v any) []string {
	var wrong []string
	fail := func(format string, args ...any) { wrong = append(wrong, at+": "+fmt.Sprintf(format, args...)) }
	for k := range s {
		if !slices.Contains(keywords, k) {
			fail("the schema uses %q, which this test does not know", k)
		}
	}
	if ref, ok := s["$ref"].(string); ok {
		def := root["$defs"].(map[string]any)[strings.TrimPrefix(ref, "#/$defs/")]
		if def == nil {
			fail("no definition %s", ref)
		} else {
			wrong = append(wrong, root.check(def.(map[string]any), at, v)...)
		}
	}
	if want, ok := s["type"]; ok && !isType(want, v) {
		fail("%v is no %v", v, want)
	}
	if want, ok := s["const"]; ok && want != v {
		fail("%v, want %v", v, want)
	}
	if list, ok := s["enum"].([]any); ok && !slices.Contains(list, v) {
		fail("%v is not one of %v", v, list)
	}
	if p, ok := s["pattern"].(string); ok {
		if text, ok := v.(string); ok && !matches(p, text) {
			fail("%q does not match %s", text, p)
		}
	}
	if n, ok := v.(json.Number); ok {
		f, _ := n.Float64()
		if least, ok := s["minimum"].(float64); ok && f < least {
			fail("%v is less than %v", n, least)
		}
		if most, ok := s["maximum"].(float64); ok && f > most {
			fail("%v is more than %v", n, most)
		}
	}
	return append(wrong, root.checkParts(s, at, v)...)
}

func (root schema) checkParts(s schema, at string, v any) []string {
	var wrong []string
	if list, ok := s["anyOf"].([]any); ok {
		if !slices.ContainsFunc(list, func(one any) bool { return len(root.check(one.(map[string]any), at, v)) == 0 }) {
			wrong = append(wrong, at+": none of anyOf fits")
		}
	}
	if list, ok := s["allOf"].([]any); ok {
		for _, one := range list {
			wrong = append(wrong, root.check(one.(map[string]any), at, v)...)
		}
	}
	if object, ok := v.(map[string]any); ok {
		if list, ok := s["required"].([]any); ok {
			for _, name := range list {
				if _, ok := object[name.(string)]; !ok {
					wrong = append(wrong, at+": "+name.(string)+" is missing")
				}
			}
		}
		if props, ok := s["properties"].(map[string]any); ok {
			for name, field := range object {
				if p, ok := props[name].(map[string]any); ok {
					wrong = append(wrong, root.check(p, at+"."+name, field)...)
				} else {
					wrong = append(wrong, at+": the schema does not know "+name)
				}
			}
		}
	}
	if list, ok := v.([]any); ok {
		if items, ok := s["items"].(map[string]any); ok {
			for i, item := range list {
				wrong = append(wrong, root.check(items, fmt.Sprintf("%s[%d]", at, i), item)...)
			}
		}
	}
	return wrong
}

var patterns = map[string]*regexp.Regexp{}

func matches(pattern, text string) bool {
	if patterns[pattern] == nil {
		patterns[pattern] = regexp.MustCompile(pattern)
	}
	return patterns[pattern].MatchString(text)
}

func isType(want, v any) bool {
	if list, ok := want.([]any); ok {
		return slices.ContainsFunc(list, func(one any) bool { return isType(one, v) })
	}
	switch v := v.(type) {
	case nil:
		return want == "null"
	case map[string]any:
		return want == "object"
	case []any:
		return want == "array"
	case string:
		return want == "string"
	case bool:
		return want == "boolean"
	case json.Number:
		_, whole := new(big.Int).SetString(v.String(), 10)
		return want == "number" || want == "integer" && whole
	}
	return false
}

// object reads one line of output.
func object(t testing.TB, line string) map[string]any {
	t.Helper()
	d := json.NewDecoder(strings.NewReader(line))
	d.UseNumber()
	var v map[string]any
	if err := d.Decode(&v); err != nil {
		t.Fatalf("%v in %.200s", err, line)
	}
	if d.More() {
		t.Fatalf("more than one object: %.200s", line)
	}
	return v
}

// valid checks a line against a schema of cli/schema.
func valid(t testing.TB, name, line string) {
	t.Helper()
	s := loadSchema(t, name)
	for _, w := range s.check(s, name, object(t, line)) {
		t.Errorf("%s\n%.300s", w, line)
	}
}

// Every object that is printed is what its schema says, over the whole corpus
// and all that is refused.
func TestOutputFollowsTheSchemas(t *testing.T) {
	dir := t.TempDir()
	var files []string
	found := 0
	add := func(name string, data []byte) {
		if found++; !effort.Whole() && found%4 != 0 || !effort.Some(found/4) {
			return
		}
		path := filepath.Join(dir, fmt.Sprintf("%04d-%s", len(files), name))
		write(t, path, string(data))
		files = append(files, path)
	}
	for _, format := range corpus.Formats() {
		for _, s := range corpus.Valid(format) {
			add(strings.TrimSuffix(s.Name, filepath.Ext(s.Name))+"."+format, s.Data)
		}
		for _, r := range corpus.Hostile(format) {
			add(r.Name+"."+format, r.Bytes())
		}
	}
	for _, command := range []string{"inspect", "parse"} {
		r := amn(t, nil, append([]string{command, "--json", "--usage", "-q"}, files...)...)
		lines := strings.Split(strings.TrimSuffix(r.out, "\n"), "\n")
		if len(lines) != len(files) {
			t.Fatalf("%s: %d objects for %d files", command, len(lines), len(files))
		}
		s, worst := loadSchema(t, command), 0
		for i, line := range lines {
			v := object(t, line)
			for _, w := range s.check(s, filepath.Base(files[i]), v) {
				t.Error(w)
			}
			if v["path"] != files[i] {
				t.Errorf("object %d is of %v, want %s", i, v["path"], files[i])
			}
			exit, _ := v["exit"].(json.Number).Int64()
			worst = max(worst, int(exit))
		}
		if r.code != worst || worst < 3 {
			t.Errorf("%s: exit %d, the highest of the files is %d", command, r.code, worst)
		}
	}
	valid(t, "formats", amn(t, nil, "formats", "--json").out)
	valid(t, "rules", amn(t, nil, "rules", "--json").out)
	valid(t, "digest", amn(t, nil, "digest", "--json", demo+"/sharded").out)
	valid(t, "stats", amn(t, nil, "stats", "--json", demo+"/sharded").out)
	valid(t, "stats", amn(t, nil, "stats", "--json", "../stats/testdata/numbers.npz").out)
	valid(t, "version", amn(t, nil, "version", "--json").out)
	valid(t, "convert", amn(t, nil, "edit", "--json", "--dry-run", "--set", "a=b", "--rename", "layers.*=blocks.*", demo+"/model.safetensors").out)
	valid(t, "convert", amn(t, nil, "merge-lora", "--json", "-o", t.TempDir()+"/merged", demo+"/sharded", demo+"/adapter").out)
	for _, profile := range limits.Profiles() {
		valid(t, "policy", amn(t, nil, "limits", "show", profile).out)
	}
}

// The schemas of inspect, parse and verify differ in their names alone.
func TestSchemasAgree(t *testing.T) {
	inspect := load(t, "schema/inspect.json")
	for _, command := range []string{"parse", "verify"} {
		if diff := cmp.Diff(strings.ReplaceAll(inspect, "inspect", command), load(t, "schema/"+command+".json")); diff != "" {
			t.Error(diff)
		}
	}
}

// The checker of this test refuses what it must.
func TestTheSchemaCheckIsClosed(t *testing.T) {
	s := loadSchema(t, "version")
	good := `{"schema":"amn.version/1","version":"v1","commit":"","modified":false,"go":"go1.26","platform":"linux/amd64","kernels":"generic"}`
	if wrong := s.check(s, "", object(t, good)); len(wrong) > 0 {
		t.Fatal(wrong)
	}
	for _, change := range [][2]string{
		{`"version":"v1"`, `"version":1`}, {`"version":"v1",`, ``}, {`version/1`, `version/2`},
		{`"modified":false`, `"modified":"no"`}, {`"go"`, `"golang"`},
	} {
		if wrong := s.check(s, "", object(t, strings.Replace(good, change[0], change[1], 1))); len(wrong) == 0 {
			t.Errorf("%s for %s passes", change[1], change[0])
		}
	}
}

// build writes a safetensors file with these entries in its header.
func build(entries ...string) string {
	header := "{" + strings.Join(entries, ",") + "}"
	return string(binary.LittleEndian.AppendUint64(nil, uint64(len(header)))) + header
}

func jsonText(s string) string {
	text, _ := json.Marshal(s)
	return string(text)
}

// Names reach a program whole and exact; what is printed for people is clean.
func TestNamesAreExactInJSONAndCleanInText(t *testing.T) {
	long := strings.Repeat("n", 300)
	list := []string{"plain", "日本語", "esc\x1b[31m", "rtl\u202eabc", "zero\u200bwidth", `q"b\s`, long, "tab\tnl\n", "\u2028"}
	var entries []string
	for i, name := range list {
		entries = append(entries, fmt.Sprintf(`%s:{"dtype":"U8","shape":[0],"data_offsets":[0,0]}`, jsonText(name)))
		list[i] = name
	}
	path := filepath.Join(t.TempDir(), "m.safetensors")
	write(t, path, build(entries...))
	r := amn(t, nil, "parse", "--json", path)
	var got []string
	for _, v := range object(t, r.out)["tensors"].([]any) {
		got = append(got, v.(map[string]any)["name"].(string))
	}
	slices.Sort(list)
	slices.Sort(got)
	if diff := cmp.Diff(list, got); diff != "" {
		t.Errorf("%s\n%s", diff, r.err)
	}
	text := amn(t, nil, "parse", path).out
	for _, bad := range []string{"\x1b", "\u202e", "\u200b", "\t", "\u2028"} {
		if strings.Contains(text, bad) {
			t.Errorf("%q reaches the terminal", bad)
		}
	}
	if !strings.Contains(text, long) || strings.Contains(wide(t, 80, nil, "parse", path).out, long) {
		t.Error("a name is whole in a file, and cut on a terminal")
	}
}

// Numbers that a double cannot hold are strings.
func TestLargeNumbersAreStrings(t *testing.T) {
	path := filepath.Join(t.TempDir(), "m.safetensors")
	write(t, path, build(`"a":{"dtype":"U8","shape":[9007199254740993,0],"data_offsets":[0,0]}`, `"b":{"dtype":"U8","shape":[9007199254740992,0],"data_offsets":[0,0]}`))
	out := amn(t, nil, "parse", "--json", path).out
	if !strings.Contains(out, `"shape":["9007199254740993",0]`) || !strings.Contains(out, `"shape":[9007199254740992,0]`) {
		t.Error(out)
	}
}

// Text that is not UTF-8 is printed as base64, without loss.
func TestUndecodableBytesAreBase64(t *testing.T) {
	path := filepath.Join(t.TempDir(), "bad\xff\xfename.safetensors")
	if err := os.WriteFile(path, []byte(build()), 0o666); err != nil {
		t.Skipf("this file system wants UTF-8: %v", err)
	}
	r := amn(t, nil, "inspect", "--json", path)
	v := object(t, r.out)
	text, _ := v["path_base64"].(string)
	if got, err := base64.StdEncoding.DecodeString(text); err != nil || string(got) != path {
		t.Errorf("%q, %v: %s", got, err, r.out)
	}
	if v["path"] != nil {
		t.Error("path and path_base64 both stand")
	}
	if again := amn(t, nil, "inspect", path+"x"); !strings.Contains(again.err, `bad\x{ff}\x{fe}name`) {
		t.Errorf("%q", again.err)
	}
}

// inspect agrees with the header of the demo, as another reader reads it.
func TestInspectAgreesWithTheHeader(t *testing.T) {
	data := []byte(load(t, filepath.Join(demo, "model.safetensors")))
	n := binary.LittleEndian.Uint64(data)
	var header map[string]struct {
		Dtype   string
		Shape   []int64
		Offsets [2]int64 `json:"data_offsets"`
	}
	if err := json.Unmarshal(data[8:8+n], &header); err != nil {
		t.Fatal(err)
	}
	delete(header, "__metadata__")
	var out struct {
		Totals  struct{ Tensors, Bytes int64 }
		Tensors []struct {
			Name, Dtype    string
			Shape          []int64
			Offset, Length int64
		}
	}
	r := amn(t, bytes.NewReader(data), "inspect", "--json", "-")
	if err := json.Unmarshal([]byte(r.out), &out); err != nil {
		t.Fatal(err)
	}
	if out.Totals.Tensors != int64(len(header)) || out.Totals.Bytes != int64(len(data))-8-int64(n) {
		t.Errorf("totals %+v of %d tensors in %d bytes", out.Totals, len(header), len(data)-8-int(n))
	}
	for _, got := range out.Tensors {
		h, ok := header[got.Name]
		base := 8 + int64(n)
		if !ok || h.Dtype != got.Dtype || !slices.Equal(h.Shape, got.Shape) ||
			got.Offset != base+h.Offsets[0] || got.Length != h.Offsets[1]-h.Offsets[0] {
			t.Errorf("%+v, the header says %+v", got, h)
		}
	}
}

// inspect --usage prints every axis against its limit.
func TestUsageNamesEveryAxis(t *testing.T) {
	r := amn(t, nil, "inspect", "--usage", filepath.Join(demo, "model.safetensors"))
	for _, a := range limits.Axes() {
		if !strings.Contains(r.out, "  "+a.String()+" ") {
			t.Errorf("no %v in\n%s", a, r.out)
		}
	}
	v := object(t, amn(t, nil, "inspect", "--usage", "--json", filepath.Join(demo, "model.safetensors")).out)
	if list, _ := v["usage"].([]any); len(list) != len(limits.Axes()) {
		t.Errorf("%d axes", len(list))
	}
}
