package tfbundle

import (
	"bytes"
	"io/fs"
	"path"
	"strings"

	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// State is the name of the text that names the newest checkpoint: a CheckpointState in protobuf's text format.
const State = "checkpoint"

// maxState is far larger than any such text: a checkpoint takes a line of it.
const maxState = 64 << 10

// mark is a field of such a text, which has the name of a checkpoint.
const mark = "model_checkpoint_path"

// namesOne reports whether a file called checkpoint is such a text, and names a checkpoint that is there, or one that is
// not in the folder, or says nothing clearly.
func namesOne(fsys fs.FS, dir string, h *tensor.Handle) bool {
	text, is, err := stateText(h)
	if err != nil || !is {
		return false
	}
	newest, err := newestOf(text)
	if err != nil {
		return true
	}
	_, err = fs.Stat(fsys, path.Join(dir, newest)+Suffix)
	return err == nil
}

// stateText reads a text; is reports whether it can be a CheckpointState. A text format begins with the name of a field, a
// comment or a space.
func stateText(h *tensor.Handle) (text []byte, is bool, err error) {
	var first [1]byte
	if h.Size == 0 {
		return nil, false, nil
	}
	if err := wire.ReadFull(h, first[:], 0); err != nil || !strings.Contains(" \t\r\n\v\f#mal", string(first[:])) {
		return nil, false, err
	}
	room := new([maxState]byte)
	text = room[:min(h.Size, maxState)]
	if err := wire.ReadFull(h, text, 0); err != nil {
		return nil, false, err
	}
	if h.Size > maxState {
		return nil, true, nil
	}
	return text, bytes.Contains(text, []byte(mark)), nil
}

// state finds the checkpoint that a file called checkpoint names.
func (d *decoder) state() error {
	if d.prefix != State {
		return nil
	}
	h, err := tensor.OpenFile(d.fsys, path.Join(d.dir, State))
	if err != nil {
		return inFile(State, missing(err))
	}
	defer h.Close()
	if err := d.hold(maxState); err != nil {
		return inFile(State, err)
	}
	defer d.b.Drop(maxState)
	text, is, err := stateText(h)
	switch {
	case err != nil:
		return inFile(State, err)
	case !is || h.Size > maxState:
		return inFile(State, errText.Errorf("%d bytes that name no checkpoint, or more than %d", h.Size, maxState))
	}
	newest, err := newestOf(text)
	if err != nil {
		return inFile(State, err)
	}
	d.dir, d.prefix = path.Join(d.dir, path.Dir(newest)), path.Base(newest)+Suffix
	return nil
}

// newestOf returns the path of the newest checkpoint. All paths lead to files of the folder.
func newestOf(text []byte) (newest string, err error) {
	n := -1
	for line := range bytes.Lines(text) { // at most maxState bytes
		n++
		line := strings.TrimSuffix(string(line), "\n")
		key, value, ok := strings.Cut(line, ":")
		value = strings.TrimSpace(value)
		switch key = strings.TrimSpace(key); {
		case line == "":
			continue
		case ok && (key == "all_model_checkpoint_timestamps" || key == "last_preserved_timestamp"):
			if strings.Trim(value, "0123456789.e+-") != "" {
				return "", errText.Errorf("line %d is not a number", n+1)
			}
			continue
		case !ok || key != mark && key != "all_model_checkpoint_paths":
			return "", errText.Errorf("line %d is not a field that TensorFlow writes", n+1)
		}
		name, ok := unquoted(value)
		switch {
		case !ok:
			return "", errText.Errorf("line %d is not a text in quotes", n+1)
		case escapes(name):
			return "", errState.Errorf("line %d: %s leads out of its folder", n+1, wire.Quote(name))
		case !fs.ValidPath(name) || name == ".":
			return "", errText.Errorf("line %d: %s is not a path in its folder", n+1, wire.Quote(name))
		case key != mark:
		case newest != "":
			return "", errText.Errorf("line %d: a second newest checkpoint", n+1)
		default:
			newest = name
		}
	}
	if newest == "" {
		return "", errText.Errorf("no %s", mark)
	}
	return newest, nil
}

// escapes reports whether a path leaves its folder, on any system.
func escapes(name string) bool {
	name = strings.ReplaceAll(name, `\`, "/")
	return strings.HasPrefix(name, "/") || strings.Contains(name, ":") || strings.Contains("/"+name+"/", "/../")
}

// unquoted reads a text as protobuf's text format writes it: in double quotes, other bytes than printable ASCII escaped.
func unquoted(value string) (string, bool) {
	if len(value) < 2 || value[0] != '"' || value[len(value)-1] != '"' {
		return "", false
	}
	var out []byte
	for in := value[1 : len(value)-1]; in != ""; {
		c, n := in[0], 1
		switch {
		case c == '"' || c < ' ' || c > '~':
			return "", false
		case c == '\\':
			if c, n = escaped(in[1:]); n == 0 {
				return "", false
			}
		}
		out, in = append(out, c), in[n:]
	}
	return string(out), true
}

// escaped reads what follows a backslash: a letter, or three octal digits. n counts the backslash.
func escaped(in string) (c byte, n int) {
	if in == "" {
		return 0, 0
	}
	if i := strings.IndexByte(`nrt"'\`, in[0]); i >= 0 {
		return "\n\r\t\"'\\"[i], 2
	}
	if len(in) < 3 || in[0] > '3' {
		return 0, 0
	}
	v := 0
	for _, d := range in[:3] {
		if d < '0' || d > '7' {
			return 0, 0
		}
		v = 8*v + int(d-'0')
	}
	return byte(v), 4
}
