package scan

import (
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"sync"
)

// A file leaves some 50 KB of garbage and a scan holds 1 MB, so with Go's default the collector would
// run about every eightieth file. Here it runs after spare bytes of garbage, or after as much garbage
// as the heap holds, whichever is more.
const (
	spare = 16 << 20
	usual = 100 // Go's default: garbage in percent of the live heap
	most  = 400 // the first collection is then at 16 MiB
)

// A collector paces the collections of garbage while scans run.
type collector struct {
	mu       sync.Mutex
	scans    int
	awaiting bool // the end of a collection
}

var garbage collector

// begin paces the collector until the function that it returns is called. GOGC in the environment
// has the last word.
func (c *collector) begin() (end func()) {
	if os.Getenv("GOGC") != "" {
		return func() {}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.scans++; c.scans == 1 {
		debug.SetGCPercent(most)
		c.await()
	}
	return sync.OnceFunc(func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.scans--; c.scans == 0 {
			debug.SetGCPercent(usual)
		}
	})
}

// await adjusts the pace after the next collection, when the sentinel is gone.
func (c *collector) await() {
	if c.awaiting {
		return
	}
	c.awaiting = true
	runtime.AddCleanup(&struct{ c *collector }{c}, (*collector).adjust, c)
}

func (c *collector) adjust() {
	held := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(held)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.awaiting = false
	if c.scans > 0 {
		debug.SetGCPercent(percent(held[0].Value.Uint64()))
		c.await()
	}
}

// percent returns how much garbage may come to what is held.
func percent(held uint64) int {
	return int(min(max(spare*100/max(held, 1), usual), most))
}
