package host

import (
	"context"
	"encoding/binary"
	"errors"
	"io"
	"sync"
	"time"
)

// A Turn is the slot of a judgement that [Options.Judge] makes in another process. The
// process asks for each turn through a pipe, with an [Asking], and its parent grants it.
//
//	parent, in Options.Judge             child
//	turn := host.TurnOf(ctx)             asking := host.Ask(asks, grants, cancel)
//	go turn.Grant(asks, grants)          b.Meter(asking.Pay)
//
// The message is the steps of the turn that is over, eight bytes, little endian. The answer
// is one byte, once the process may go on.
type Turn struct{ t *turn }

type turnKey struct{}

// TurnOf returns the turn of the judgement whose context this is; nil if it has none.
func TurnOf(ctx context.Context) *Turn {
	t, _ := ctx.Value(turnKey{}).(*Turn)
	return t
}

// Grant answers a process until it ends or closes its pipe. The time for which it waits does not
// count as time of the judgement. A process's own count of steps is trusted up to the price of a
// turn; a process that never asks keeps its slot, and is charged for its time.
func (t *Turn) Grant(asks io.Reader, grants io.Writer) error {
	if t == nil || t.t == nil {
		return errNoTurn
	}
	t.t.asks.Store(true)
	var p [8]byte
	for {
		if _, err := io.ReadFull(asks, p[:]); err != nil {
			if err == io.EOF {
				return nil
			}
			return err
		}
		t.t.pay(int64(min(binary.LittleEndian.Uint64(p[:]), quantum)))
		if _, err := grants.Write(p[:1]); err != nil {
			return err
		}
	}
}

// An Asking is a process's side of a [Turn]: it pays for steps, and waits where a turn is
// over. It is safe for concurrent use.
type Asking struct {
	mu     sync.Mutex // held while it waits
	asks   io.Writer
	grants io.Reader
	end    func(error)
	every  int64
	steps  int64
	since  time.Time
}

// errAlone is why a process without its parent ends its judgement.
var errAlone = errors.New("host: the process that grants turns is gone")

// Ask begins the first turn. It calls end if the parent is gone.
func Ask(asks io.Writer, grants io.Reader, end func(error)) *Asking {
	return &Asking{asks: asks, grants: grants, end: end, every: quantum, since: time.Now()}
}

// Every sets the steps of a turn, to be used before the first payment.
func (a *Asking) Every(steps int64) {
	if a != nil {
		a.every = min(max(steps, 1), quantum)
	}
}

// Pay pays for steps, and asks for another turn if this one is over.
func (a *Asking) Pay(steps int64) {
	if a == nil {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.steps += steps
	if a.grants == nil || a.steps < a.every && time.Since(a.since) < turnTime {
		return
	}
	p := binary.LittleEndian.AppendUint64(nil, uint64(a.steps))
	_, err := a.asks.Write(p)
	if err == nil {
		_, err = io.ReadFull(a.grants, p[:1])
	}
	if err != nil {
		a.grants = nil
		a.end(errors.Join(errAlone, err))
		return
	}
	a.steps, a.since = 0, time.Now()
}

// Reader returns a reader that pays for the bytes that are read of a file.
func (a *Asking) Reader(r io.ReaderAt) io.ReaderAt {
	if a == nil || r == nil {
		return noTurn{}
	}
	return paid(r, a.Pay)
}

// A noTurn fails all reads, since no tenant pays for them.
type noTurn struct{}

func (noTurn) ReadAt([]byte, int64) (int, error) { return 0, errNoTurn }
