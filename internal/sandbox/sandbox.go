// Package sandbox takes from this process, for good, what a judgement of files does
// not need: a bug in a parser then reaches nothing but the files that were named.
//
//	missing, err := sandbox.Lock(sandbox.Needs{Read: []string{"models"}})
//
// # What remains
//
// On Linux, on all threads: no_new_privs; Landlock, so that only what [Needs] names can be
// opened; and a filter of system calls (seccomp) that lists those of Go's runtime and of
// reading files, with the arguments that they need: no starting of programs, no new socket,
// no signal to another process, neither by call nor by a file's owner, no new memory that
// can be run, no mapping that is shared, and writing only if Needs asks for it. Whatever is
// not listed fails with EPERM (or ENOSYS, if an older call is asked for next). A call by the
// numbers of another processor, such as those of 32 bits, ends the process.
//
// Without Landlock a process can still read every file of its user, and if Needs asks for
// writing, write it.
//
// # Order
//
// Open what is needed, such as the files of reports, then lock, then read the first
// byte that a stranger sent. It cannot be undone.
//
// # Not supported
//
// Landlock needs Linux 5.13, and in a program that links C (which Go cannot lock on
// all threads) Linux 7.0: build with CGO_ENABLED=0. The filter is written for amd64 and
// arm64. Other systems have neither. Lock lists what is missing.
package sandbox

// Needs say what a process still does after it is locked.
type Needs struct {
	// Read lists files and folders that it opens to read.
	Read []string
	// Write lists folders in which it makes, replaces and removes files.
	Write []string
	// Publish lists folders in which files that are open already get their names, and lose
	// their temporary ones. Nothing is opened there to be written.
	Publish []string
	// Remove lists folders from which it removes files.
	Remove []string
	// Serve lets it answer on sockets that are open already.
	Serve bool
}
