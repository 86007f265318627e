// Package parser opens model files: it finds out what a file is by its content, decodes
// it under an account, and says in one of five classes why it will not.
//
//	b := limits.Policy{}.Budget(ctx)
//	defer b.Close()
//	m, err := parser.Open(b, "model.safetensors")
//	if err != nil {
//		return parser.ClassOf(err).HTTPStatus(), err
//	}
//	defer m.Close()
//
// [Open] takes a path, a folder that holds one model or a name such as "ollama:llama3";
// [OpenFS] the same of an [io/fs.FS]; [Decode] any [io.ReaderAt]. No body of a tensor is
// read before [Verify], or the methods At and Body of the model.
//
// [Formats] lists the formats, each a package below this one. The content decides, never
// the name. A file that is of two formats, or that a loader could take for a pickle, is
// refused. What is met instead of models (a Git LFS pointer, a web page, see
// [Recognized]) is refused by name, with what to do.
//
// An error about a file is an [*Error]: format, place, offset and a cause for
// [errors.Is], such as [ErrDuplicate]. [ClassOf] gives its class: exit code and HTTP
// status.
//
// All functions may be called at once, on one account too, and so may the methods of a
// model except Close. Close the model, then the account; a reader handed to Decode stays
// open until then.
package parser

// # Names
//
// A name that promises another format than the content is the finding detect.name. A
// file that is of one format from its beginning and a ZIP or tar archive from its end or
// its header, or a pickle that names what Python could import, is refused, unless the
// policy grants the quirk "detect.polyglot", which makes it a finding.
//
// # Panics
//
// A panic inside an operation, ours or a reader's, ends as class Internal: the files
// that the operation opened are closed. What a failed operation charged is given back
// when its account closes.
