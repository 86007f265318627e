package flags

import (
	"strings"
	"testing"
)

// A system that lacks a part of the sandbox is refused with the part and a flag, and the flag
// continues.
func TestASystemWithoutASandboxIsNamedOrAllowed(t *testing.T) {
	lacks := []string{"Landlock (the kernel was built without it)"}
	f := SandboxFlags{Sandbox: "on"}
	err := f.without(lacks)
	if err == nil || !strings.Contains(err.Error(), "--sandbox on: the system lacks "+lacks[0]+": nothing was read; --sandbox auto continues") {
		t.Errorf("the refusal is %v", err)
	}
	if err := f.without(nil); err != nil {
		t.Errorf("a system that lacks nothing is refused: %v", err)
	}
	for _, other := range []string{"auto", "off"} {
		f.Sandbox = other
		if err := f.without(lacks); err != nil {
			t.Errorf("--sandbox %s is refused: %v", other, err)
		}
		if err := f.CanLock(); err != nil {
			t.Errorf("--sandbox %s cannot be locked here: %v", other, err)
		}
	}
}
