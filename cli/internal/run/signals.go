package run

import (
	"os"
	"sync/atomic"
	"syscall"
	"time"
)

// grace is how long an interrupted command may take to clean up.
const grace = 5 * time.Second

// Signals say what signals mean to the program. They end it; to a service, SIGHUP is a reload, and the
// others are the normal end.
type Signals struct {
	Serving atomic.Bool
	Grace   atomic.Int64 // how long the program may take to end, in nanoseconds
	Hangups chan os.Signal
}

func NewSignals() *Signals {
	l := &Signals{Hangups: make(chan os.Signal, 1)}
	l.Grace.Store(int64(grace))
	return l
}

// CutTime is how long a service takes to end once the time for running checks is over.
const CutTime = 2 * time.Second

// Serve makes the program a service, for which a signal is the normal end.
func (l *Signals) Serve(drain time.Duration) {
	l.Grace.Store(int64(drain + CutTime))
	l.Serving.Store(true)
}

// Reloads reports whether a signal asks a service to read its files again, and passes it on.
func (l *Signals) Reloads(s os.Signal) bool {
	if s != syscall.SIGHUP || !l.Serving.Load() {
		return false
	}
	select {
	case l.Hangups <- s:
	default: // the next reload will see what this one would
	}
	return true
}
