// Package host keeps a server that judges uploads inside of its means: how many
// uploads are open, what they hold on disk and in memory, how many are judged at
// once, and which tenant each belongs to. [gate/handler] speaks HTTP over it and
// [gate/clamd] the protocol of ClamAV's daemon.
//
//	h, err := host.New(host.Options{})
//	u, err := h.Begin(ctx, "tenant")   // Busy: come back later
//	defer u.Close()
//	err = u.Spool(body, "model.safetensors", size)
//	v, err := u.Judge(ctx)
//
// # What is bounded
//
// Uploads that are open, in all and of one tenant; bytes of spooled files, in all
// and of one file; operations that judge, and those that wait for their turn; live
// memory of all judgements together, and of one tenant's, by accounts of package
// limits. What the host has no room for is a [Busy], never a verdict: a file is
// refused for what it is, not for what others do.
//
// # What is left behind
//
// Nothing. A small file stays in memory, under the account; a larger one lies in a
// temporary file that loses its name at once, where the system allows it. Close
// gives back both.
//
// # Concurrent use
//
// A Host is safe for concurrent use. An [Upload] belongs to one goroutine.
//
// [gate/handler]: https://pkg.go.dev/github.com/anamnesis-go/anamnesis/gate/handler
// [gate/clamd]: https://pkg.go.dev/github.com/anamnesis-go/anamnesis/gate/clamd
package host
