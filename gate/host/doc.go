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
// There are limits for open uploads, spooled bytes, files that wait to be judged, and live memory of
// judgements (by accounts of package limits): one for all tenants, and one for each, by default half
// of it. The number of files that are judged at the same time is limited too. When there is no room,
// the answer is [Busy], never a verdict: the load of a server does not change what it says about a
// file.
//
// # Turns
//
// Slots are given to tenants by deficit round robin: a tenant pays for its judgements in steps and
// in bytes read, and a tenant with a deficit waits until the others have had as much. A judgement
// that has used up its turn, 5 to 10 ms, gives its slot to another tenant that waits and goes on
// later; the policy's time counts only while it runs. So one tenant never holds all slots while
// another waits, however expensive its files are. If [Options.Judge] is set, a judgement in another
// process asks for its turns, see [Turn]. One that does not ask keeps its slot to the end, so while
// one tenant holds all of several slots there is one more for the others.
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
