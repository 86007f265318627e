// Package output is the one way in which this program creates, replaces and removes files.
//
//	p, err := output.At(path, output.Options{Force: force})
//	f, err := p.Create()
//	defer f.Discard()
//	... write to f ...
//	err = f.Commit()
//
// # Links
//
// A path ends with the name of the output. That name is never followed: a link there is
// refused. The folder before it is opened once, and everything that follows happens in this
// open folder, whatever becomes of its path.
//
// Links on the way to the folder are followed where the system's owner puts them, such as
// /tmp that leads to /private/tmp. They are refused where a stranger may have put them: in the
// current folder and in the folders of [Options].Guard (what is judged, and where the input
// is), and everywhere below them. Such a path is opened from the guarded folder down, one
// component at a time, each of which must be a folder. The root of the file system is never
// guarded: its links are the system's.
//
// # Names
//
// An output has a temporary name in the same folder, .NAME.amn-partial, until it is complete. It is
// locked while it is written. The file .NAME.amn-mark beside it identifies that file or folder on
// this machine. The next run with the same target removes what a killed run left under that name,
// and nothing else: a file or folder that the mark does not name, and that is not empty, is
// somebody's, and refused. So is a file that is no journal under the name of one, and whatever has
// the name for an old folder, .NAME.amn-old. A temporary name that somebody else took meanwhile is
// neither published nor removed.
//
// A new name is given by a call that replaces nothing: renameat2(RENAME_NOREPLACE), else a
// link, else a rename over an empty file that was created with O_EXCL just before. An existing
// file is replaced only with [Options].Force, only if it is the file that was looked at, and
// only if [Options].Ours says that it could be an earlier output. Where the system can, the
// names are exchanged first, so that the file that loses its name is looked at once more.
//
// A [Tree] replaces a folder only if each file in it has the name of a file of the new one, or
// is one of all the files of an earlier output ([Options].Former).
// Nothing else in a folder is removed: the tree is refused, and the error names the file.
//
// # Order
//
// Open outputs before the process locks itself: afterwards they only get their names, for
// which [Options].Hold prepares. Write, sync, rename, sync the folder. [File.Discard] removes what was not published.
//
// # Not supported
//
// Extended attributes and access control lists of a replaced file are not kept. On systems
// without locks two runs for one target are not told of each other.
package output
