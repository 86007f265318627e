package scan

import (
	"runtime/debug"
	"testing"
)

func TestGarbageIsAsMuchAsIsHeldOrSpare(t *testing.T) {
	for held, want := range map[uint64]int{0: most, 1 << 20: most, 4 << 20: most, 8 << 20: 200, 16 << 20: usual, 1 << 30: usual} {
		if got := percent(held); got != want {
			t.Errorf("%d bytes are held: %d%%, want %d%%", held, got, want)
		}
	}
}

// The pace is the usual one again when the last scan of a process ends.
func TestPaceEndsWithTheLastScan(t *testing.T) {
	pace := func() int {
		now := debug.SetGCPercent(usual)
		debug.SetGCPercent(now)
		return now
	}
	t.Setenv("GOGC", "")
	before := debug.SetGCPercent(usual)
	defer debug.SetGCPercent(before)
	first, second := garbage.begin(), garbage.begin()
	if got := pace(); got != most {
		t.Errorf("%d%% at the beginning, want %d%%", got, most)
	}
	first()
	first()
	if got := pace(); got != most {
		t.Errorf("%d%% while a scan runs, want %d%%", got, most)
	}
	second()
	if got := pace(); got != usual {
		t.Errorf("%d%% at the end, want %d%%", got, usual)
	}
	t.Setenv("GOGC", "50")
	garbage.begin()()
	if got := pace(); got != usual {
		t.Errorf("%d%% although GOGC is set", got)
	}
}
