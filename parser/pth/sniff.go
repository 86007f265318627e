package pth

import (
	"bytes"
)

// A Kind is what the first bytes of a file say about it.
type Kind uint8

// The kinds.
const (
	KindNone    Kind = iota // nothing that torch.load or a pickle reader opens
	KindArchive             // a ZIP archive, of torch or of another program
	KindLegacy              // a legacy file of torch.save
	KindPickle              // any other pickle of protocol 2 or later
	KindWrapper             // a known archive or compressed stream
)

// Sniff determines the kind of a file from its first [SniffLen] bytes, or all of a shorter file;
// name is set for KindWrapper. Pickles of protocols 0 and 1 cannot be distinguished from text this
// way.
func Sniff(head []byte) (kind Kind, name string) {
	switch {
	case bytes.HasPrefix(head, []byte(zipMagic)):
		return KindArchive, ""
	case couldBegin(head):
		if is, _ := legacyFit(head); is {
			return KindLegacy, ""
		}
		return KindNone, ""
	}
	if name := wrapperOf(head); name != "" {
		return KindWrapper, name
	}
	if len(head) >= 2 && head[0] == opProto && head[1] >= 2 && head[1] <= 5 {
		return KindPickle, ""
	}
	return KindNone, ""
}

// Opcodes with which the first pickle of a legacy file may begin.
const (
	opProto = 0x80
	opFrame = 0x95
	opLong1 = "\x8a"
	opLong  = "L"
)

// legacyNumber is the magic number as the argument of LONG1.
const legacyNumber = "\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19"

// legacyFit reports whether a file begins with a literal of the magic number, or ends too
// early to tell. PROTO and FRAME may come first, as in protocols 2 to 5.
func legacyFit(head []byte) (is, maybe bool) {
	if len(head) > 0 && head[0] == opProto {
		if len(head) > 1 && (head[1] < 2 || head[1] > 5) {
			return false, false
		}
		head = head[min(2, len(head)):]
		if len(head) > 0 && head[0] == opFrame {
			head = head[min(9, len(head)):]
		}
	}
	for _, number := range [...]string{opLong1 + legacyNumber, opLong + legacyMagic + "L\n"} {
		n := min(len(head), len(number))
		if string(head[:n]) == number[:n] {
			is, maybe = is || n == len(number), true
		}
	}
	return is, maybe
}

// couldBegin reports whether head could be the beginning of a checkpoint and ends too early
// to tell.
func couldBegin(head []byte) bool {
	_, legacy := legacyFit(head)
	return legacy || len(head) <= len(zipMagic) && zipMagic[:len(head)] == string(head)
}
