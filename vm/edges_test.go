package vm_test

import (
	"encoding/binary"
	"strings"
	"testing"

	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/vm"
)

// A timedelta has at most 999,999,999 days in either direction, less than a day of seconds and less
// than a second of microseconds: datetime.timedelta.min and max of Python.
func TestEdgesOfTimedeltas(t *testing.T) {
	number := func(n int32) string {
		return "J" + string(binary.LittleEndian.AppendUint32(nil, uint32(n)))
	}
	for _, c := range []struct {
		days, seconds, micros int32
		ok                    bool
	}{
		{-999_999_999, 0, 0, true}, {-1_000_000_000, 0, 0, false}, {999_999_999, 86_399, 999_999, true}, {1_000_000_000, 0, 0, false},
		{0, 86_400, 0, false}, {0, -1, 0, false}, {0, 0, 1_000_000, false}, {0, 0, -1, false},
	} {
		data := "\x80\x02cdatetime\ntimedelta\n" + number(c.days) + number(c.seconds) + number(c.micros) + "\x87R."
		b := limits.Policy{}.Budget(t.Context())
		if _, err := vm.Load(b, strings.NewReader(data), 0, int64(len(data))); (err == nil) != c.ok {
			t.Errorf("%d days, %d seconds, %d microseconds: %v", c.days, c.seconds, c.micros, err)
		}
		b.Close()
	}
}
