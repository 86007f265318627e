// Package parser opens model files. It detects the format by the content, decodes the
// file under an account, and classifies every refusal.
//
//	b := limits.Policy{}.Budget(ctx)
//	defer b.Close()
//	m, err := parser.Open(b, "model.safetensors")
//	if err != nil {
//		return parser.ClassOf(err).HTTPStatus(), err
//	}
//	defer m.Close()
//
// [Open] takes a path, a folder that holds one model, or a name such as "ollama:llama3".
// [OpenFS] does the same in an [io/fs.FS], and [Decode] takes any [io.ReaderAt]. Tensor
// bodies are read only by [Verify] and by the methods At and Body of the model.
//
// [Formats] lists the formats; each has a package below this one. The content decides,
// never the name. A file that fits two formats, or that a loader could take for a pickle,
// is refused. Files often found in place of models (a Git LFS pointer, a web page, see
// [Recognized]) are refused by name, with advice.
//
// An error about a file is an [*Error] with format, place, offset and a cause for
// [errors.Is], such as [ErrDuplicate]. [ClassOf] returns its class, which has an exit
// code and an HTTP status.
//
// All functions are safe for concurrent use, even on one account; so are the methods of
// a model, except Close. Close the model first, then the account. A reader passed to
// Decode must stay open until then. An account may be that of one file, which is opened
// under the host's with [limits.Budget.Child], or serve for many, one after the other.
package parser

// # Names
//
// A file whose name promises another format than its content has the finding
// detect.name. A file of one format that is also a ZIP or tar archive, or a pickle that
// names something Python could import, is refused; with the quirk "detect.polyglot" of
// the policy it is a finding instead.
//
// # Panics
//
// A panic inside an operation, in this module or in the reader, becomes an error of class Internal,
// and the files that the operation opened are closed. Its charges are returned.
