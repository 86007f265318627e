// Package store keeps what a fleet knows: the backlog of revisions that are to be judged, the
// jobs that workers have taken, and the verdicts.
//
//	s, err := store.Open(ctx, "hub.db", store.Options{})           // one process, one file
//	s, err := store.Open(ctx, "postgres://host/hub", store.Options{}) // many machines
//
// # Units
//
// A unit of work is one revision of one repository. A unit of knowledge is a content, by its
// SHA-256, or a folder of contents, by its [gate.DirHash], under one policy and one set of
// rules.
//
// # What a transaction holds
//
// The verdicts of a revision, the event that tells of them, the completion of the job and the
// end of its row in the backlog are one transaction. It begins by locking the job, and goes on
// only if the job is still that attempt of this worker: River's own completion does not compare
// attempts, so a worker that was thought dead could put its verdicts a second time.
//
// # Turns
//
// The backlog lies in a table of ours. [Store.Admit] moves a few rows at a time to River, by
// deficit round robin over tenants: each is given as much work in turn, in the cost of its rows,
// however long its backlog is.
//
// # What no worker brings to an end
//
// A row is parked with the reason after its last attempt. It is shown, and tried again by
// command. A worker that died is noticed by its heartbeat, or in the embedded store when the
// next process opens the file.
package store
