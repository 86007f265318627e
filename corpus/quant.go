package corpus

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing/fstest"
)

// A Case is a model whose quantization cannot be decoded: a row of a table in corpus/quant.
type Case struct {
	Table, Name string
	Files       fstest.MapFS // the model, in a folder with its configuration
	Open        string       // the file that is opened, or "." for the folder
	Options     []string     // of decoding, as the table writes them
	Expect      string       // class
	Cause       string       // what the class is for: a cause, or the axis of a limit
	Place       string       // where the error says it is
}

// Path returns the table's path in the module.
func (c *Case) Path() string { return "corpus/" + quantFolder + "/" + c.Table + ".txt" }

// quantFolder is the folder with the tables of [Quant].
const quantFolder = "quant"

// Quant returns the cases of quantized models, in the order of their tables.
func Quant() []Case {
	list, err := quantCases()
	if err != nil {
		panic("internal error: " + err.Error())
	}
	return list
}

func quantCases() (all []Case, err error) {
	err = eachFile(quantFolder, func(name string, data []byte) error {
		list, err := parseTable(strings.TrimSuffix(name, ".txt"), string(data))
		all = append(all, list...)
		if err != nil {
			return fmt.Errorf("corpus/%s/%s: %w", quantFolder, name, err)
		}
		return nil
	})
	return all, err
}

// parseTable reads a table: a comment, then cases with an empty line before each.
func parseTable(table, src string) ([]Case, error) {
	var list []Case
	lists := map[string]string{}
	line := 1
	for i, part := range strings.Split(src, "\n\n") {
		if i == 0 {
			if !strings.HasPrefix(part, "# ") {
				return list, errors.New("no comment: say what the table holds")
			}
		} else {
			c := Case{Table: table, Files: fstest.MapFS{}}
			if err := c.parse(strings.TrimRight(part, "\n"), lists); err != nil {
				return list, fmt.Errorf("line %d, %q: %w", line, c.Name, err)
			}
			if c.Expect != "" {
				list = append(list, c)
			}
		}
		line += strings.Count(part, "\n") + 2
	}
	return list, nil
}

// parse reads one case, or a part that only names texts for those after it.
func (c *Case) parse(src string, lists map[string]string) error {
	meta := ""
	for _, line := range whole(src) {
		key, value, ok := strings.Cut(line, ": ")
		verb, name, _ := strings.Cut(key, " ")
		if !ok {
			return fmt.Errorf("neither a comment nor a key, a colon and a value: %s", line)
		}
		var err error
		switch verb {
		case "let":
			lists[name], err = inserted(value, lists)
		case "meta":
			meta = value
		case "config":
			err = c.put("config.json", []byte(value), nil)
		case "file":
			err = c.put(name, []byte(value), nil)
		case "build", "tensors":
			if value, err = inserted(value, lists); err != nil {
				return err
			}
			var data []byte
			if verb == "build" {
				data, err = buildText(value)
			} else {
				data, err = tensorsText(value, meta)
			}
			err = c.put(cmp.Or(name, "model.safetensors"), data, err)
		default:
			err = c.says(verb, value)
		}
		if err != nil {
			return err
		}
	}
	for name := range c.Files {
		if c.Open == "" && strings.HasPrefix(name, "model.") && !strings.HasSuffix(name, ".json") {
			c.Open = name
		}
	}
	if c.Name != "" && (c.Expect == "" || c.Open == "") {
		return errors.New("a case has a model and a line that says how it is refused")
	}
	return nil
}

// says reads a line that is not a file.
func (c *Case) says(verb, value string) error {
	switch verb {
	case "case":
		c.Name = value
	case "open":
		c.Open = value
	case "with":
		c.Options = strings.Split(value, ", ")
	case "refused":
		parts := strings.SplitN(value+" ", " ", 3)
		if len(parts) < 3 || parts[0] != "usage" && !slices.Contains(hostileClasses, parts[0]) {
			return fmt.Errorf("refused: %q is not a class, a cause, and a place", value)
		}
		c.Expect, c.Cause, c.Place = parts[0], parts[1], strings.TrimSpace(parts[2])
	default:
		return fmt.Errorf("unknown key %q; there are: let, case, config, file, build, meta, tensors, open, with, refused", verb)
	}
	return nil
}

// whole returns the lines that are no comments, each with those after it that begin with a tab.
func whole(src string) (lines []string) {
	for line := range strings.SplitSeq(src, "\n") {
		switch last := len(lines) - 1; {
		case strings.HasPrefix(line, "#"):
		case strings.HasPrefix(line, "\t") && last >= 0:
			lines[last] += "\n" + line
		default:
			lines = append(lines, line)
		}
	}
	return lines
}

func (c *Case) put(name string, data []byte, err error) error {
	if err != nil {
		return err
	}
	if _, twice := c.Files[name]; twice || !fs.ValidPath(name) {
		return fmt.Errorf("%s: repeated, or not a path", name)
	}
	c.Files[name] = &fstest.MapFile{Data: data, Mode: 0o666}
	return nil
}

var inList = regexp.MustCompile(`\$[a-z0-9]+`)

// inserted replaces $name by the text of that name.
func inserted(text string, lists map[string]string) (out string, err error) {
	out = inList.ReplaceAllStringFunc(text, func(name string) string {
		if lists[name[1:]] == "" {
			err = fmt.Errorf("no list %s", name)
		}
		return lists[name[1:]]
	})
	return out, err
}

// splitOutside splits at semicolons outside of braces and texts.
func splitOutside(text string) (parts []string) {
	depth, from, raw := 0, 0, false
	for i, r := range text {
		switch {
		case r == '`':
			raw = !raw
		case raw:
		case r == '{':
			depth++
		case r == '}':
			depth--
		case r == ';' && depth == 0:
			parts, from = append(parts, text[from:i]), i+1
		}
	}
	return append(parts, text[from:])
}

// widths are the bits of the elements of safetensors' types.
var widths = map[string]int{
	"BOOL": 8, "F4": 4, "F6_E2M3": 6, "F6_E3M2": 6, "U8": 8, "I8": 8, "F8_E5M2": 8, "F8_E4M3": 8, "F8_E8M0": 8, "F8_E4M3FNUZ": 8, "F8_E5M2FNUZ": 8,
	"I16": 16, "U16": 16, "F16": 16, "BF16": 16, "I32": 32, "U32": 32, "F32": 32, "C64": 64, "F64": 64, "I64": 64, "U64": 64,
}

// tensorsText writes a safetensors file of "name TYPE 2x3 { verbs }" with semicolons between;
// without verbs the tensor is zeros. A shape may be scalar, or * for as many as there are.
func tensorsText(list, meta string) ([]byte, error) {
	var header, body bytes.Buffer
	header.WriteByte('{')
	if meta != "" {
		fmt.Fprintf(&header, `"__metadata__":%s`, meta)
	}
	for _, text := range splitOutside(list) {
		text, verbs, given := strings.Cut(strings.TrimSpace(text), "{")
		f := strings.Fields(text)
		if len(f) != 3 || widths[f[1]] == 0 {
			return nil, fmt.Errorf("a tensor is a name, a type and a shape: %q", text)
		}
		n, dims := widths[f[1]], []int{}
		switch f[2] {
		case "scalar":
		case "*":
			block, err := buildText(strings.TrimSuffix(strings.TrimSpace(verbs), "}"))
			if err != nil {
				return nil, fmt.Errorf("%s: %w", f[0], err)
			}
			dims, n = []int{8 * len(block) / n}, 8*len(block)
		default:
			for d := range strings.SplitSeq(f[2], "x") {
				k, err := strconv.Atoi(d)
				if err != nil {
					return nil, err
				}
				dims, n = append(dims, k), n*k
			}
		}
		data := make([]byte, n/8)
		if given {
			block, err := buildText(strings.TrimSuffix(strings.TrimSpace(verbs), "}"))
			if err != nil {
				return nil, fmt.Errorf("%s: %w", f[0], err)
			}
			if len(block) != len(data) {
				return nil, fmt.Errorf("%s has %d bytes, not %d", f[0], len(block), len(data))
			}
			data = block
		}
		if header.Len() > 1 {
			header.WriteByte(',')
		}
		name, _ := json.Marshal(f[0])
		shape, _ := json.Marshal(dims)
		fmt.Fprintf(&header, `%s:{"dtype":"%s","shape":%s,"data_offsets":[%d,%d]}`, name, f[1], shape, body.Len(), body.Len()+len(data))
		body.Write(data)
	}
	header.WriteByte('}')
	return slices.Concat(binary.LittleEndian.AppendUint64(nil, uint64(header.Len())), header.Bytes(), body.Bytes()), nil
}

// buildText builds bytes in the language of recipes, of one line.
func buildText(src string) ([]byte, error) {
	toks, err := lex(src, 1)
	if err != nil {
		return nil, err
	}
	p := &parser{toks: toks}
	n, err := p.block(endOfFile)
	if err != nil {
		return nil, err
	}
	var b builder
	if err := n(&b); err != nil {
		return nil, err
	}
	return b.out, nil
}

// Names lists the files of a case, sorted.
func (c *Case) Names() (names []string) {
	for name := range c.Files {
		names = append(names, path.Clean(name))
	}
	slices.Sort(names)
	return names
}
