package fault

import (
	"errors"
	"testing"
)

func TestAMessageHasTheAddressOnce(t *testing.T) {
	const address = "https://example.com/a.gguf"
	for err, want := range map[string]string{address + ": the server has no ranges": "the server has no ranges", "no such host": "no such host"} {
		if got := Message(address, errors.New(err)); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
