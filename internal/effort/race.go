//go:build race

package effort

// Race reports that the race detector is on, under which much arithmetic takes ten times as long.
const Race = true
