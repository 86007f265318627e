package browse

import (
	"bytes"
	"strconv"
	"strings"
	"unicode/utf8"
)

// A Key is a character, or one of the constants.
type Key rune

// Keys that are not characters.
const (
	Up Key = -1 - iota
	Down
	Left
	Right
	PageUp
	PageDown
	Home
	End
	Enter
	Escape
	Tab
	BackTab
	Backspace
	Interrupt // Ctrl-C
	Suspend   // Ctrl-Z
	Repaint   // Ctrl-L
	Erase     // Ctrl-U: the whole line
	Click     // the left button of the mouse
	WheelUp
	WheelDown
	unknown // an unknown sequence
)

// An Input is a key, or a button of the mouse with the place that it was pressed at: the column and
// the line, from 0.
type Input struct {
	Key
	X, Y int
}

// controls are keys that send a control character.
var controls = map[byte]Key{
	'\r': Enter, '\n': Enter, '\t': Tab, 0x7f: Backspace, 0x08: Backspace, 0x03: Interrupt, 0x04: Interrupt,
	0x1a: Suspend, 0x0c: Repaint, 0x15: Erase, 0x02: PageUp, 0x06: PageDown, 0x0e: Down, 0x10: Up, 0x01: Home, 0x05: End,
}

// sequences are the sequences after an escape, without parameters, of xterm, its application
// mode, and the console of Linux.
var sequences = map[string]Key{
	"[A": Up, "[B": Down, "[C": Right, "[D": Left, "OA": Up, "OB": Down, "OC": Right, "OD": Left,
	"[H": Home, "[F": End, "OH": Home, "OF": End, "[1~": Home, "[4~": End, "[7~": Home, "[8~": End,
	"[5~": PageUp, "[6~": PageDown, "[Z": BackTab, "OM": Enter,
}

// A Decoder decodes keys from the bytes of a terminal, which may be split anywhere.
type Decoder struct{ rest []byte }

// Waiting reports whether the last bytes may begin a longer sequence. An escape is the key
// itself only if nothing follows it soon.
func (d *Decoder) Waiting() bool { return len(d.rest) > 0 }

// Flush returns the keys of an incomplete sequence.
func (d *Decoder) Flush() (keys []Input) {
	if len(d.rest) > 0 && d.rest[0] == 0x1b {
		keys = append(keys, Input{Key: Escape})
	}
	d.rest = nil
	return keys
}

// maxSequence is the length at which an unfinished sequence is dropped.
const maxSequence = 32

// Feed adds bytes, and returns the keys that they complete.
func (d *Decoder) Feed(p []byte) (keys []Input) {
	d.rest = append(d.rest, p...)
	for len(d.rest) > 0 {
		k, n := d.next()
		if n == 0 {
			return keys
		}
		d.rest = d.rest[n:]
		if k.Key != unknown {
			keys = append(keys, k)
		}
	}
	d.rest = nil
	return keys
}

// next returns the first key and its length; 0 if it is incomplete.
func (d *Decoder) next() (Input, int) {
	c := d.rest[0]
	switch {
	case c == 0x1b:
		return d.sequence()
	case c < 0x20 || c == 0x7f:
		if k, ok := controls[c]; ok {
			return Input{Key: k}, 1
		}
		return Input{Key: unknown}, 1
	case !utf8.FullRune(d.rest):
		return Input{Key: unknown}, 0
	}
	r, n := utf8.DecodeRune(d.rest)
	if r == utf8.RuneError {
		return Input{Key: unknown}, n
	}
	return Input{Key: Key(r)}, n
}

// sequence decodes an escape sequence: [ or O, parameters, and a final letter.
func (d *Decoder) sequence() (Input, int) {
	p := d.rest
	if len(p) == 1 {
		return Input{Key: unknown}, 0
	}
	if p[1] != '[' && p[1] != 'O' {
		return Input{Key: Escape}, 1
	}
	for i := 2; i < len(p); i++ {
		if i == maxSequence {
			return Input{Key: unknown}, i
		}
		if p[i] >= 0x40 && p[i] <= 0x7e && (i > 2 || p[i] != '[') { // the console of Linux sends [[A for F1
			if p[2] == '<' {
				return mouse(p[3 : i+1]), i + 1
			}
			return Input{Key: keyOf(p[1 : i+1])}, i + 1
		}
		if p[i] < 0x20 || p[i] > 0x7e { // not part of a sequence
			return Input{Key: unknown}, i
		}
	}
	return Input{Key: unknown}, 0
}

// What xterm's encoding 1006 adds to a button for a held key, which does not matter here.
const heldKeys = 4 | 8 | 16

// buttons are those of the mouse that mean something.
var buttons = map[int]Key{0: Click, 64: WheelUp, 65: WheelDown}

// mouse decodes "button;column;line" with M for a button that goes down.
func mouse(p []byte) Input {
	var n [3]int
	text, pressed := strings.CutSuffix(string(p), "M")
	for k, field := range strings.SplitN(text, ";", len(n)) {
		var err error
		if n[k], err = strconv.Atoi(field); err != nil {
			return Input{Key: unknown}
		}
	}
	k, ok := buttons[n[0]&^heldKeys]
	if !ok || !pressed || n[1] < 1 || n[2] < 1 {
		return Input{Key: unknown}
	}
	return Input{k, n[1] - 1, n[2] - 1}
}

// keyOf returns the key of a sequence, without modifiers such as shift.
func keyOf(p []byte) Key {
	if k, ok := sequences[string(p)]; ok {
		return k
	}
	if at := bytes.IndexByte(p, ';'); at > 0 { // "[1;5A", "[5;2~"
		end := string(p[len(p)-1:])
		if end == "~" {
			end = string(p[1:at]) + end
		}
		if k, ok := sequences["["+end]; ok {
			return k
		}
	}
	return unknown
}
