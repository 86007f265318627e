// Package parser opens model files: it finds out what a file is by its content,
// decodes it under an account, and says in one of five classes why it will not.
//
//	b := limits.Policy{}.Budget(ctx)
//	defer b.Close()
//	m, err := parser.Open(b, "model.safetensors")
//	if err != nil {
//		return parser.ClassOf(err).HTTPStatus(), err
//	}
//	defer m.Close()
//
// # What it reads
//
// [Formats] lists the formats; each is a package below this one. The name of a
// file decides nothing. A name that promises another format than the content is
// the finding detect.name. A file that is of one format from its beginning and a
// ZIP or tar archive from its end or its header, or a pickle that names what
// Python could import, is refused, unless the policy grants the quirk
// "detect.polyglot", which makes it a finding. What people really meet instead
// of a model (a Git LFS pointer, an HTML page, a compressed file, see
// [Recognized]) is unsupported by name, with what to do.
//
// # Entry points
//
//   - [Open]: a path; a folder that holds one model; an "ollama:" name.
//   - [OpenFS]: the same inside an [io/fs.FS].
//   - [Decode]: any [io.ReaderAt]: memory, an object store, an uploaded file.
//   - [Find]: the models of a folder.
//   - [Detect]: the name of the format, nothing decoded.
//   - [Verify]: read the bodies of a model.
//
// Nothing of a tensor is read before [Verify] or the Model's own At and Body.
//
// # Folders and links
//
// A model's siblings (shards, configuration) are found in the folder that the
// caller named, and nowhere else: [os.Root] confines them. The cache of the
// Hugging Face hub is honest input: in models--NAME/snapshots/REVISION a link to
// a regular file of that model's blobs folder, named by 40 or 64 hex digits, is
// followed. Any other link out of the folder is refused. The path that the caller
// gave is the caller's word: links on it are followed. A FIFO or a device is
// never opened.
//
// # Errors
//
// Every error about a file is an [*Error] with format, place, offset and cause;
// [ClassOf] gives its class, which is the exit code and the HTTP status. A panic
// inside an operation, ours or a reader's, ends as class Internal: the files that
// the operation opened are closed. What a failed operation charged is given back
// when its account closes.
//
// # Concurrent use
//
// All functions here are safe for concurrent use, also on one account. A Model's
// methods are, except Close. The caller closes the Model, then the account, and
// keeps a reader that it handed to [Decode] open until then.
package parser
