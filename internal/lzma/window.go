package lzma

import (
	"math"

	"github.com/anamnesis-go/anamnesis/limits"
)

const (
	// maxRun is how much is made at once, so that a window always has room for it.
	maxRun = 4 << 10
	// minWindow is what a dictionary begins with: most streams of an archive are small.
	minWindow = maxRun
)

// A window is the dictionary: the last bytes that were made. It grows up to its size
// as they are, then it is a ring.
type window struct {
	b     *limits.Budget
	buf   []byte
	small []byte // the initial buf, which is not charged
	paid  int64  // for buf
	size  int    // the most that buf grows to
	pos   int    // where the next byte goes
	full  int    // bytes available before pos
	made  uint32
}

// resize sets the size that a header states, and empties the window. Less than 4 KiB
// is taken for that much, as all decoders do; more than memory has addresses for is
// asked for when it is filled so far, and refused then.
func (w *window) resize(size uint64) {
	w.size = int(min(max(size, 4<<10), math.MaxInt))
	if len(w.buf) > w.size {
		w.buf = w.buf[:w.size]
	}
	w.clear()
}

func (w *window) clear() { w.pos, w.full, w.made = 0, 0, 0 }

// room makes room for n bytes more, which are no more than the window's size.
func (w *window) room(n int) error {
	if len(w.buf) == w.size || w.pos+n <= len(w.buf) {
		return nil
	}
	want := w.size
	if len(w.buf) <= w.size/2 {
		want = min(max(minWindow, 2*len(w.buf)), w.size)
	}
	if want <= cap(w.buf) {
		w.buf = w.buf[:want]
		return nil
	}
	if len(w.buf) == 0 && want <= len(w.small) {
		w.buf = w.small[:want]
		return nil
	}
	grown, err := limits.Make[byte](w.b, want)
	if err != nil {
		return err
	}
	copy(grown, w.buf[:w.full])
	w.b.Drop(w.paid)
	w.buf, w.paid = grown, int64(want)
	return nil
}

// close gives back what the account was charged.
func (w *window) close() {
	w.b.Drop(w.paid)
	w.buf, w.small, w.paid = nil, nil, 0
}

func (w *window) put(c byte) {
	if w.pos == len(w.buf) {
		w.pos = 0
	}
	w.buf[w.pos] = c
	w.pos++
	w.made++
	if w.full < len(w.buf) {
		w.full++
	}
}

// back is the byte that was made dist bytes before the next one, 0 before the first.
func (w *window) back(dist int) byte {
	if dist > w.full {
		return 0
	}
	i := w.pos - dist
	if i < 0 {
		i += len(w.buf)
	}
	return w.buf[i]
}

// repeat makes n bytes of those that begin dist bytes before.
func (w *window) repeat(dist, n int) {
	from := w.pos - dist
	if from < 0 {
		from += len(w.buf)
	}
	w.made += uint32(n)
	w.full = min(w.full+n, len(w.buf))
	for n > 0 {
		if from == len(w.buf) {
			from = 0
		}
		if w.pos == len(w.buf) {
			w.pos = 0
		}
		begin := w.pos
		if end := min(begin+n, len(w.buf)); from < begin {
			for w.pos < end { // what was just made is repeated too: twice as much each time
				w.pos += copy(w.buf[w.pos:end], w.buf[from:w.pos])
			}
		} else {
			w.pos += copy(w.buf[begin:end], w.buf[from:])
		}
		n, from = n-(w.pos-begin), from+(w.pos-begin)
	}
}

// last copies the n bytes that were made last, which the window holds.
func (w *window) last(to []byte, n int) {
	if from := w.pos - n; from >= 0 {
		copy(to, w.buf[from:w.pos])
		return
	}
	k := copy(to, w.buf[len(w.buf)-(n-w.pos):])
	copy(to[k:], w.buf[:w.pos])
}
