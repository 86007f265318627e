// Package gate judges untrusted files. Its verdict says what a file is, whether it is
// accepted or by which rule it is refused, which loaders would open it, and which parts
// were not read.
//
//	g := gate.Gate{}
//	v, err := g.Check(b, file, size, gate.Hint{Name: "model.safetensors"})
//	if err != nil {
//		return err // the context ended: nothing is known of the file
//	}
//	defer v.Close()
//	if !v.Accepted() {
//		http.Error(w, v.Refusals()[0].Text, v.Class().HTTPStatus())
//	}
//
// A [Verdict] is a function of the bytes, the name, the policy and the version: its JSON
// is the same on every machine. [Rules] lists the identifiers that refusals and findings
// carry ("zip.overlap", "limit.time"). A [Stream] refuses an upload while it comes.
//
// A Gate keeps nothing between calls and may be used by many goroutines at once.
package gate

// # What is judged
//
// Models of every format with their bodies; checkpoints and plain pickles with every
// import and call they ask for; and all other files of a folder. A file is harmless if its
// content proves that no loader takes it for a model. Any other file could hold one, and
// is refused as not looked at, unless the policy only reports it.
//
// Archives and compressed files are opened layer by layer, under the account of the file.
// Each content is judged by itself, with a name such as "outer.tar.gz!inner/model.bin",
// and its refusals count for the file. Texts beside a model are searched for requests to
// run code, ONNX models are judged by their structure, and a name that is a digest is
// compared with the content.
//
// # Rules
//
// Each refusal and finding has the identifier of a rule: the code of the finding, the
// format and the kind of error ("zip.overlap"), or the limit that was reached
// ("limit.time").
