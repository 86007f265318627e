// Package host bounds the resources of a server that judges uploads: how many are open,
// how much disk and memory they take, how many are judged at once, and all of this for
// each tenant. [gate/handler] serves HTTP with it, [gate/clamd] the protocol of
// ClamAV's daemon.
//
//	h, err := host.New(host.Options{})
//	u, err := h.Begin("tenant")   // Busy: come back later
//	defer u.Close()
//	u.Name = "model.safetensors"
//	err = u.Spool(body, size)
//	v, err := u.Judge(ctx)
//
// # Limits
//
// Open uploads, in all and per tenant; bytes of spooled files, in all and per file;
// judgements that run, and judgements that wait; live memory of all judgements and of
// each tenant's, by accounts of package limits. When there is no room the answer is
// [Busy], never a verdict: the load of a server does not change what it says about a
// file.
//
// # Cleaning up
//
// A small file stays in memory, under the account. A larger one is written to a
// temporary file, which is unlinked at once where the system allows it. Close frees
// both.
//
// # Concurrent use
//
// A Host is safe for concurrent use. An [Upload] belongs to one goroutine.
//
// [gate/handler]: https://pkg.go.dev/github.com/anamnesis-go/anamnesis/gate/handler
// [gate/clamd]: https://pkg.go.dev/github.com/anamnesis-go/anamnesis/gate/clamd
package host
