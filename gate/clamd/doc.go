// Package clamd speaks the protocol of ClamAV's daemon, so that a client of clamd can
// ask a gate instead by a change of address.
//
//	s := clamd.Server{Host: h, Root: root}
//	err := s.Serve(ctx, listener)
//
// # Commands
//
// PING, VERSION, VERSIONCOMMANDS, INSTREAM, SCAN, CONTSCAN, MULTISCAN and
// ALLMATCHSCAN of paths below a root, FILDES over a Unix socket, RELOAD, STATS, IDSESSION
// and END; with the prefixes n and z, or none. SHUTDOWN is answered with an error. The
// descriptor of FILDES must be that of a regular file, open for reading only; its offset
// does not matter, and stays.
//
// # Answers
//
// OK means that the gate accepts the file, or that no loader takes it for a model.
// FOUND means that it is refused, and names the rule: "stream:
// Anamnesis.pickle.global FOUND". Unlike with ClamAV, a file over a limit is FOUND,
// too: a file that was not read is not clean. ERROR says nothing about the file: the
// server is busy, or the path is not below the root.
//
// # Limits
//
// Those of package host; also the number of connections, the length of a command, and
// how slowly a client may send and read. A client over TCP is a tenant by its address; those
// of Unix sockets are one tenant.
//
// # Concurrent use
//
// A Server serves any number of listeners.
package clamd
