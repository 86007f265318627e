// Package stamp tells whether a file is still the one that was opened, by what the system
// keeps about it: which file it is, its size, and the times of its last change.
//
// # What it cannot notice
//
// A writer that changes bytes within one tick of the file system's clock after the first
// look (a few milliseconds on most systems, two seconds on FAT). A system without a change
// time (Windows, FAT, some network file systems), where a writer puts the modification time
// back. Bytes that change below the file system: a disk, another machine that mounts it.
package stamp

import (
	"io/fs"
	"os"
	"strconv"
	"time"
)

// Changed says how a file differs from what it was, or returns "". Both come from the same
// open file, or from the same path.
func Changed(was, now fs.FileInfo) string {
	switch {
	case now.Size() < was.Size():
		return "it shrank from " + bytes(was.Size()) + " to " + bytes(now.Size())
	case now.Size() > was.Size():
		return "it grew from " + bytes(was.Size()) + " to " + bytes(now.Size())
	case !now.ModTime().Equal(was.ModTime()):
		return "it was written at " + now.ModTime().UTC().Format(time.RFC3339Nano)
	case now.Mode().Type() != was.Mode().Type():
		return "it is not a regular file now"
	case changeTime(was) != changeTime(now):
		return "its content, name or attributes were changed"
	}
	return ""
}

// Replaced reports whether a path leads to another file than before. Only files of the
// system can be compared.
func Replaced(was, now fs.FileInfo) bool {
	return os.SameFile(was, was) && !os.SameFile(was, now)
}

func bytes(n int64) string { return strconv.FormatInt(n, 10) + " bytes" }

// allDigits is RFC 3339 with nine digits of a second: what keeps such a text pays the same whatever the
// time is.
const allDigits = "2006-01-02T15:04:05.000000000Z07:00"

// Of returns what is compared of a file, as a text: its size and the times of its last change.
// It is "" for a file without a time, whose content may be any.
func Of(info fs.FileInfo) string {
	if info.ModTime().IsZero() {
		return ""
	}
	text := bytes(info.Size()) + ", written at " + info.ModTime().UTC().Format(allDigits)
	if c := changeTime(info); c != [2]int64{} {
		text += ", changed at " + time.Unix(c[0], c[1]).UTC().Format(allDigits)
	}
	return text
}
