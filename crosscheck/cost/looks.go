package main

import (
	"sync"
	"time"
)

// looks measures how long a run does not look at the context of its account: so late it may
// end. Each look is seen, so that no moment of an end is missed.
type looks struct {
	mu      sync.Mutex
	last    time.Time
	longest time.Duration
}

func (l *looks) look() {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := time.Now()
	l.longest = max(l.longest, now.Sub(l.last))
	l.last = now
}

// blind returns the longest processor time between two looks, the least of several runs: what
// one run has by chance, such as a collection of garbage, another does not have there.
func (c *command) blind(in *input, p *price) time.Duration {
	least := p.blind
	for range 2 {
		least = min(least, c.blindOnce(in))
	}
	return least
}

func (c *command) blindOnce(in *input) time.Duration {
	var mu sync.Mutex
	last, longest := cpu(), time.Duration(0)
	look := func() {
		mu.Lock()
		defer mu.Unlock()
		now := cpu()
		longest = max(longest, now-last)
		last = now
	}
	c.under(in, look)
	look()
	return longest
}
