package vm_test

import (
	"context"
	"fmt"
	"strings"

	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/vm"
)

// A pickle that would run a command, were it loaded by Python: here nothing is
// called, and what it asks for is listed.
func ExampleScan() {
	const pickle = "cos\nsystem\n(S'echo hello'\ntR."

	b := limits.Policy{}.Budget(context.Background())
	defer b.Close()
	report := vm.Scan(b, strings.NewReader(pickle), 0, int64(len(pickle)))
	for _, g := range report.Graph.Globals() {
		fmt.Println(g)
	}
	fmt.Println(report.Refusal())
	// Output:
	// os.system
	// pickle: GLOBAL at 0x0: forbidden: "os.system" is dangerous: starts programs
}
