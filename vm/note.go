package vm

import (
	"slices"
	"strings"
)

// maxNotes bounds the notes of one pickle, besides the first with each code: a policy may let the others
// pass.
const maxNotes = 32

// note records something unusual about the current instruction.
func (m *machine) note(code, text string) {
	if len(m.g.notes) < maxNotes || !slices.ContainsFunc(m.g.notes, func(n Note) bool { return n.Code == code }) {
		m.g.notes = append(m.g.notes, Note{Code: code, Off: m.g.base + int64(m.op), Text: text})
	}
}

// Codes of notes.
const (
	NoteNested = "pickle.nested"    // bytes that are a file for another loader
	NoteBytes2 = "pickle.py2-bytes" // not UTF-8
)

// nested notes bytes that are a pickle, or an archive with one: a loader that gets them runs
// unchecked code.
func (m *machine) nested(s string) {
	if len(s) < 4 {
		return
	}
	switch binary := s[0] == 0x80 && s[1] >= 2 && s[1] <= 5; {
	case binary && s[len(s)-1] == '.', isOldPickle(s):
		m.note(NoteNested, "the bytes are a pickle themselves")
	case strings.HasPrefix(s, "PK\x03\x04"):
		m.note(NoteNested, "the bytes are an archive themselves")
	}
}

// isOldPickle reports whether s is a pickle of protocol 0 or 1 that begins with a global.
func isOldPickle(s string) bool {
	if s[0] != 'c' || s[len(s)-1] != '.' {
		return false
	}
	module, rest, _ := strings.Cut(s[1:min(len(s), 256)], "\n")
	name, _, ok := strings.Cut(rest, "\n")
	return ok && isDotted(module) && isDotted(name)
}

// isDotted reports whether s is identifiers with dots between them.
func isDotted(s string) bool {
	const letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789."
	return s != "" && strings.Trim(s, letters) == ""
}
