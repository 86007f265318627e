// Package clamd speaks the protocol of ClamAV's daemon over a gate: what asks clamd
// whether a file is clean asks us by a change of the address.
//
//	s := clamd.Server{Host: h, Root: root}
//	err := s.Serve(ctx, listener)
//
// # Commands
//
// PING, VERSION, VERSIONCOMMANDS, INSTREAM, SCAN, CONTSCAN, MULTISCAN and
// ALLMATCHSCAN of paths below a root, STATS, IDSESSION and END; with the prefixes n
// and z, or none. RELOAD, SHUTDOWN and FILDES are answered with an error.
//
// # Answers
//
// A file that the gate accepts, or that no loader takes for a model, is OK. One that
// is refused is FOUND, by the identifier of the rule: "stream:
// Anamnesis.pickle.global FOUND". Unlike ClamAV, a file over a limit is FOUND, too:
// what was not looked at is not clean. ERROR is what says nothing about the file:
// the server is busy, or the path is not below the root.
//
// # What is bounded
//
// What package host bounds, and connections, the length of a command, and how long
// a client may say nothing.
//
// # Concurrent use
//
// A Server serves any number of listeners.
package clamd
