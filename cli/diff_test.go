package cli_test

import (
	"encoding/binary"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// numbers is a safetensors file with tensors of F32, one per name.
func numbers(t *testing.T, dir, name string, tensors map[string][]float32) string {
	t.Helper()
	var entries []string
	body := ""
	for _, key := range []string{"a", "b", "c\x1b[31m"} {
		list, ok := tensors[key]
		if !ok {
			continue
		}
		begin := len(body)
		for _, x := range list {
			body += string(binary.LittleEndian.AppendUint32(nil, math.Float32bits(x)))
		}
		entries = append(entries, jsonText(key)+`:{"dtype":"F32","shape":[`+strconv.Itoa(len(list))+`],"data_offsets":[`+strconv.Itoa(begin)+","+strconv.Itoa(len(body))+`]}`)
	}
	path := filepath.Join(dir, name)
	write(t, path, build(entries...)+body)
	return path
}

func TestModelsThatDifferEndWithEight(t *testing.T) {
	dir := t.TempDir()
	a := numbers(t, dir, "a.safetensors", map[string][]float32{"a": {1, 2}, "b": {3}})
	same := numbers(t, dir, "same.safetensors", map[string][]float32{"a": {1, 2}, "b": {3}})
	near := numbers(t, dir, "near.safetensors", map[string][]float32{"a": {1, 2.0001}, "b": {3}})
	more := numbers(t, dir, "more.safetensors", map[string][]float32{"a": {1, 2}, "b": {4}, "c\x1b[31m": {1}})
	cut := filepath.Join(dir, "cut.safetensors")
	write(t, cut, load(t, a)[:40])
	for _, c := range []struct {
		name string
		args []string
		code int
		out  []string
	}{
		{"equal", []string{a, same}, 0, []string{"Equal: 2 tensors, 12 B compared"}},
		{"a file and itself", []string{a, a}, 0, []string{"Equal"}},
		{"near", []string{a, near}, 8, []string{"! a  1 of 2 elements differ, first [1]: 2, 2.0001, at most 9.99e-05", "Different: 1 tensor, and 1 equal"}},
		{"near enough", []string{"--tolerance", "0.001", a, near}, 0, []string{"Equal"}},
		{"near enough in percent", []string{a, near, "--tolerance=0.1%"}, 0, []string{"Equal"}},
		{"not near enough", []string{"--tolerance", "1e-5", a, near}, 8, []string{"Different"}},
		{"names that act on a terminal", []string{a, more}, 8, []string{`+ c\u{1b}[31m  F32 [1]`, "! b  1 of 1 element differ, first [0]: 3, 4, at most 1"}},
		{"a limit of lines", []string{"--limit", "1", a, more}, 8, []string{"and 1 more difference (--limit 0 prints all)"}},
		{"no limit of lines", []string{"--limit", "0", a, more}, 8, []string{"Different: 2 tensors, and 1 equal"}},
		{"a broken file", []string{a, cut}, 4, nil},
		{"no file", []string{a, filepath.Join(dir, "none")}, 2, nil},
		{"one argument", []string{a}, 2, nil},
		{"no number", []string{a, a, "--tolerance", "x"}, 2, nil},
		{"a tolerance below zero", []string{a, a, "--tolerance=-1"}, 2, nil},
		{"a tolerance that is none", []string{a, a, "--tolerance=nan"}, 2, nil},
		{"a limit below zero", []string{a, a, "--limit=-1"}, 2, nil},
		{"under limits that both pass", []string{"--limits", "strict", a, same}, 0, []string{"Equal"}},
		{"over a limit", []string{"--max-items", "1", a, same}, 6, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := amn(t, nil, append([]string{"diff"}, c.args...)...)
			if r.code != c.code {
				t.Errorf("exit %d, want %d\n%s%s", r.code, c.code, r.out, r.err)
			}
			for _, want := range c.out {
				if !strings.Contains(r.out, want) {
					t.Errorf("%q is not in\n%s", want, r.out)
				}
			}
			if c.code != 2 {
				valid(t, "diff", amn(t, nil, append([]string{"diff", "--json"}, c.args...)...).out)
			}
		})
	}
}

func TestDiffReadsStandardInput(t *testing.T) {
	dir := t.TempDir()
	a := numbers(t, dir, "a.safetensors", map[string][]float32{"a": {1, 2}})
	f, err := os.Open(a)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if r := amn(t, f, "diff", "-", a); r.code != 0 {
		t.Error(r)
	}
	if r := amn(t, strings.NewReader(load(t, a)), "diff", a, "-"); r.code != 0 {
		t.Error(r)
	}
	if r := amn(t, strings.NewReader(load(t, a)), "diff", "-", "-"); r.code != 2 {
		t.Error(r)
	}
}

func TestVerifyReadsAll(t *testing.T) {
	dir := t.TempDir()
	good := filepath.Join(dir, "good.npz")
	copyFile(t, good, filepath.Join(demo, "weights.npz"))
	if r := amn(t, nil, "verify", good); r.code != 0 || !strings.Contains(r.out, "good.npz: NPZ archive, 5 tensors, 8.2 KiB, data read and checked") {
		t.Error(r)
	}
	data := []byte(load(t, good))
	bad := filepath.Join(dir, "bad.npz")
	data[len(data)/2] ^= 1
	write(t, bad, string(data))
	r := amn(t, nil, "verify", good, bad)
	if r.code != 3 || !strings.Contains(r.err, "bad.npz: npz: member") {
		t.Error(r)
	}
	for _, command := range []string{"stats", "hash", "inspect"} { // as the help of --limits says
		for path, code := range map[string]int{good: 0, bad: 3} {
			if r := amn(t, nil, command, "--limits", "server", path); r.code != code || code == 3 && !strings.Contains(r.err, "checksum") {
				t.Error(command, r)
			}
		}
	}
	if r := amn(t, nil, "verify", "--against", good, bad); r.code != 3 {
		t.Error(r)
	}
	if r := amn(t, nil, "diff", good, good); r.code != 0 {
		t.Error(r)
	}
	if r := amn(t, nil, "verify", "--against", good, good, bad); r.code != 2 {
		t.Error(r)
	}
	for _, flag := range [][]string{{"--values"}, {"--tolerance", "1e-3"}, {"--against", good, "--limit", "-1"}} { // one that would do nothing, or cannot
		if r := amn(t, nil, append([]string{"verify", good}, flag...)...); r.code != 2 {
			t.Errorf("%q: exit %d", flag, r.code)
		}
	}
	for _, line := range strings.Split(strings.TrimSpace(amn(t, nil, "verify", "--json", good, bad).out), "\n") {
		valid(t, "verify", line)
	}
}
