// Package gate gives one verdict about a file that nobody vouches for: what it
// is, whether it is accepted, by which rule it is not, which loaders would open
// it, and what was not looked at.
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
// Models of every format with their bodies, checkpoints and plain pickles with all
// that they ask of a loader, and what else lies in a folder: a file whose content
// proves that no loader takes it for a model is harmless; everything else could
// hold one, and is refused as not looked at unless the policy only reports it.
//
// Archives and compressed files are opened, layer by layer, under the account of the
// file: each content is judged as if it stood alone, with a name such as
// "outer.tar.gz!inner/model.bin", and its refusals are those of the file. Texts beside a
// model are looked through for what asks its loader to run code, ONNX models by their
// structure, and a name that is a digest is held against the content.
//
// # Rules
//
// Each refusal and each finding carries the identifier of a rule: the code of the
// finding, or the format and the kind of what is wrong ("zip.overlap"), or the limit
// that was reached ("limit.time").
