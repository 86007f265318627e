package limits_test

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/anamnesis-go/anamnesis/limits"
)

// A host bounds what all its requests hold together; each request has an
// account of its own.
func Example() {
	host := limits.Policy{MaxTotalBytes: 4 << 30, Timeout: limits.NoTimeout}.Budget(context.Background())
	defer host.Close()

	request := host.Child(limits.Policy{MaxTotalBytes: 64 << 20})
	defer request.Close()

	_, err := limits.Make[byte](request, 100<<20) // a file asked for 100 MiB
	if limit, ok := errors.AsType[*limits.Error](err); ok {
		fmt.Println(limit)
		fmt.Println("raise it with", limit.Axis.Field())
	}
	// Output:
	// limit total: it takes 104857600 bytes, and 67108864 are left
	// raise it with max_total_bytes
}

func ExampleReadPolicy() {
	p, err := limits.ReadPolicy(strings.NewReader(`{"max_total_bytes": "64MiB", "timeout": "5s"}`))
	fmt.Println(p.MaxTotalBytes, p.Timeout, err)

	_, err = limits.ReadPolicy(strings.NewReader(`{"max_total_bytes": "64MB"}`))
	fmt.Println(err)
	// Output:
	// 67108864 5s <nil>
	// policy: field "max_total_bytes": unknown unit in "64MB": write B, KiB, MiB, GiB, TiB or PiB
}
