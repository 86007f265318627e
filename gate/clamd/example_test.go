package clamd_test

import (
	"context"
	"fmt"
	"io"
	"net"

	"github.com/anamnesis-go/anamnesis/gate/clamd"
	"github.com/anamnesis-go/anamnesis/gate/host"
)

// A client of clamd asks whether a stream is clean.
func Example() {
	h, err := host.New(host.Options{})
	if err != nil {
		panic(err)
	}
	defer h.Close()
	l, err := net.Listen("tcp", "localhost:0")
	if err != nil {
		panic(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	s, done := clamd.Server{Host: h}, make(chan error)
	go func() { done <- s.Serve(ctx, l) }()

	c, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		panic(err)
	}
	fmt.Fprint(c, "nINSTREAM\n\x00\x00\x00\x15cos\nsystem\n(S'id'\ntR.\x00\x00\x00\x00")
	answer, err := io.ReadAll(c)
	fmt.Printf("%s%v\n", answer, err)
	stop()
	fmt.Println(<-done)
	// Output:
	// stream: Anamnesis.pickle.global FOUND
	// <nil>
	// <nil>
}
