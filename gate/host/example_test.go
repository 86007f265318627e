package host_test

import (
	"context"
	"fmt"
	"strings"

	"github.com/anamnesis-go/anamnesis/gate/host"
)

// A server of any protocol: it admits an upload, takes it in, and judges it.
func Example() {
	h, err := host.New(host.Options{MaxFile: 1 << 20, PerTenant: 2})
	if err != nil {
		panic(err)
	}
	defer h.Close()
	u, err := h.Begin("alice")
	if err != nil {
		panic(err) // a host.Busy: come back later
	}
	defer u.Close()
	u.Name = "model.safetensors"
	if err := u.Spool(strings.NewReader("\x02\x00\x00\x00\x00\x00\x00\x00{}"), -1); err != nil {
		panic(err)
	}
	v, err := u.Judge(context.Background())
	if err != nil {
		panic(err)
	}
	fmt.Println(v.Accepted(), v.Format, h.Load().Uploads)
	// Output: true safetensors 1
}
