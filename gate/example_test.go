package gate_test

import (
	"context"
	"fmt"
	"strings"

	"github.com/anamnesis-go/anamnesis/gate"
	"github.com/anamnesis-go/anamnesis/limits"
)

// An upload with the name of a checkpoint that runs a program.
func ExampleCheck() {
	const upload = "cos\nsystem\n(S'id'\ntR."
	b := limits.Policy{}.Budget(context.Background())
	defer b.Close()
	v, err := gate.Check(b, strings.NewReader(upload), int64(len(upload)), gate.Hint{Name: "model.pkl"})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer v.Close()
	fmt.Println(v.Accepted(), v.Class(), v.Class().HTTPStatus())
	for _, r := range v.Refusals() {
		fmt.Println(r.Rule, r.Off)
	}
	// Output:
	// false forbidden 403
	// pickle.global 0
	// pickle.call 19
}
