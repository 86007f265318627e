package main

import (
	"archive/zip"
	"bytes"
	"fmt"
	"math/rand/v2"
	"strings"
)

// largest is the size up to which files grow: a megabyte, the least that the bounds know.
const largest = mebi

// A mutator changes inputs.
type mutator struct {
	*rand.Rand

	seeds map[string][]*input // by format
}

// mutate returns a changed input, or nil if the change did not work out.
func (m *mutator) mutate(in *input) *input {
	out := &input{name: in.name, format: in.format, data: in.data, recipe: in.recipe}
	for range 1 + m.IntN(3) {
		if out = m.change(out); out == nil || len(out.data) == 0 || len(out.data) > largest {
			return nil
		}
	}
	return out
}

func (m *mutator) change(in *input) *input {
	if in.recipe != "" && m.IntN(3) > 0 {
		return m.changeRecipe(in)
	}
	out := *in
	out.recipe = ""
	switch n := m.IntN(20); {
	case n < 8:
		out.data = m.repeated(in.data)
	case n < 11:
		out.data = m.inserted(in.data)
	case n < 13:
		out.data = m.spliced(in)
	case n < 15:
		out.data = m.numbered(in.data)
	case n < 17:
		out.data = bytes.Clone(in.data)
		for range 1 + m.IntN(4) {
			out.data[m.IntN(len(out.data))] = byte(m.IntN(256))
		}
	case n < 18:
		out.name = names[m.IntN(len(names))]
	case n < 19 && in.format != "packed":
		out.data, out.name, out.format = m.wrapped(in), "a.tar", "packed"
	case in.format != "packed":
		p := packers[m.IntN(len(packers))]
		out.data, out.name, out.format = p.pack(in.data), in.name+p.ext, "packed"
	default:
		return nil
	}
	return &out
}

// part returns a short part of the data.
func (m *mutator) part(data []byte) (from, to int) {
	from = m.IntN(len(data))
	return from, min(len(data), from+1+m.IntN(1<<m.IntN(9)))
}

// repeated returns the data with a part, or a token in its place, repeated until it is
// large.
func (m *mutator) repeated(data []byte) []byte {
	from, to := m.part(data)
	what := data[from:to]
	if m.IntN(2) == 0 {
		what = []byte(tokens[m.IntN(len(tokens))] + tokens[m.IntN(len(tokens))])
		if m.IntN(2) == 0 {
			what = []byte(tokens[m.IntN(len(tokens))])
		}
		to = from
	}
	room := (largest >> m.IntN(8)) - len(data)
	if room <= 0 {
		return data
	}
	out := bytes.Join([][]byte{data[:from], bytes.Repeat(what, max(1, room/len(what))), data[to:]}, nil)
	return out[:min(largest, len(out))]
}

// numbered is repeated with a number in each repetition, for readers that refuse repeated
// names.
func (m *mutator) numbered(data []byte) []byte {
	from, to := m.part(data)
	cut := from + m.IntN(to-from)
	n := (largest >> m.IntN(8)) / (to - from + 5)
	out := bytes.NewBuffer(bytes.Clone(data[:from]))
	for i := range n {
		out.Write(data[from:cut])
		fmt.Fprintf(out, "%05d", i)
		out.Write(data[cut:to])
	}
	out.Write(data[to:])
	return out.Bytes()[:min(out.Len(), largest)]
}

func (m *mutator) inserted(data []byte) []byte {
	at := m.IntN(len(data) + 1)
	return bytes.Join([][]byte{data[:at], []byte(tokens[m.IntN(len(tokens))]), data[at:]}, nil)
}

// spliced puts a part of another input of the format into this one.
func (m *mutator) spliced(in *input) []byte {
	list := m.seeds[in.format]
	if len(list) == 0 {
		return in.data
	}
	other := list[m.IntN(len(list))].data
	if len(other) == 0 {
		return in.data
	}
	from, to := m.part(other)
	at := m.IntN(len(in.data) + 1)
	return bytes.Join([][]byte{in.data[:at], other[from:to], in.data[at:]}, nil)
}

// wrapped puts copies of the input into an archive.
func (m *mutator) wrapped(in *input) []byte {
	n := min(1<<m.IntN(12), largest/(len(in.data)+600))
	switch m.IntN(3) {
	case 0:
		return zipped(n, in.data, zip.Deflate)
	case 1:
		return zipped(n, in.data, zip.Store)
	}
	return members(n, in.data)
}

// changeRecipe changes the text of a recipe: a line is repeated or doubled, a number is
// another one, a text is longer. Lengths and sums follow.
func (m *mutator) changeRecipe(in *input) *input {
	head, body, ok := strings.Cut(in.recipe, "\n--\n")
	if !ok {
		return nil
	}
	lines := strings.Split(body, "\n")
	i := m.IntN(len(lines))
	line := lines[i]
	switch m.IntN(5) {
	case 0, 1:
		if strings.TrimSpace(line) == "" || strings.Count(line, "{") != strings.Count(line, "}") {
			return nil
		}
		lines[i] = fmt.Sprintf("repeat %d { %s\n}", 1<<m.IntN(17), line)
	case 2:
		lines[i] = line + "\n" + line
	case 3:
		lines[i] = m.otherNumber(line)
	case 4:
		lines[i] = m.longerText(line)
	}
	text := head + "\n--\n" + strings.Join(lines, "\n")
	if len(text) > 64<<10 {
		return nil
	}
	out := built(in.format, in.name, text)
	if out != nil {
		out.name, out.format = in.name, in.format
	}
	return out
}

// otherNumber replaces a number of the line.
func (m *mutator) otherNumber(line string) string {
	var at []int
	for i := range len(line) {
		if digit(line[i]) && (i == 0 || !digit(line[i-1])) {
			at = append(at, i)
		}
	}
	if len(at) == 0 {
		return line
	}
	from := at[m.IntN(len(at))]
	to := from
	for to < len(line) && digit(line[to]) {
		to++
	}
	return fmt.Sprint(line[:from], uint64(1)<<m.IntN(33)-uint64(m.IntN(2)), line[to:])
}

func digit(c byte) bool { return '0' <= c && c <= '9' }

// longerText repeats a part of a quoted text.
func (m *mutator) longerText(line string) string {
	from := strings.IndexAny(line, "\"`")
	to := strings.LastIndexAny(line, "\"`")
	if to-from < 2 {
		return line
	}
	a := from + 1 + m.IntN(to-from-1)
	b := min(to, a+1+m.IntN(16))
	return line[:a] + strings.Repeat(line[a:b], 1<<m.IntN(10)) + line[b:]
}
