//go:build unix

package cli_test

import (
	"bytes"
	"os"
	"regexp"
	"strconv"
	"testing"
)

// Every run pays for what packages make before main: half a megabyte in all, far from
// what makes the collector run.
func TestStartTakesLittleMemory(t *testing.T) {
	cmd := process(t, "version")
	if cmd.Env == nil {
		cmd.Env = os.Environ()
	}
	cmd.Env = append(cmd.Env, "GODEBUG=inittrace=1")
	var said bytes.Buffer
	cmd.Stderr = &said
	if err := cmd.Run(); err != nil {
		t.Fatal(err)
	}
	all, sum := regexp.MustCompile(`(?m)^init (\S+) @.*, (\d+) bytes, \d+ allocs$`).FindAllStringSubmatch(said.String(), -1), 0
	for _, m := range all {
		n, _ := strconv.Atoi(m[2])
		if sum += n; n > 256<<10 {
			t.Errorf("%s takes %d bytes", m[1], n)
		}
	}
	if len(all) < 20 || sum > 1<<20 {
		t.Errorf("%d packages take %d bytes", len(all), sum)
	}
}
