package sidecar

import (
	"strings"

	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// codeGraph is the code of findings about TensorFlow graphs as text.
const codeGraph = "sidecar.tensorflow"

// savedModel judges a model that TensorFlow loads if its binary form is not there. No such
// model is read here, in neither form.
func (r *reader) savedModel() error {
	return r.report(codeGraph, tensor.Danger, "", 0, "tf.saved_model.load runs the operations of this file, which may write files and call Python: it is not read here")
}

// touching are operations of TensorFlow that open files, or run code outside of the graph.
// Those that save and restore a checkpoint, or print, are in every training graph.
var touching = setOf(`ReadFile WriteFile PyFunc PyFuncStateless EagerPyFunc SaveDataset SaveDatasetV2 LoadDataset SnapshotDataset SnapshotDatasetV2
	DebugIdentity DebugIdentityV2 DebugIdentityV3 RpcCall RpcServer RpcClient RemoteCall TRTEngineOp`)

// operation judges the name of an operation of a graph as text of protobuf, such as
//
//	node { name: "w" op: "WriteFile" }
//
// which tf.train.import_meta_graph reads in place of the binary form.
func (r *reader) operation(name string) error {
	switch {
	case strings.Contains(name, `\`):
		return r.once(codeGraph, tensor.Danger, "op", r.off, "the name of an operation is written with escapes: it is hidden")
	case touching()[name]:
		return r.once(codeGraph, tensor.Danger, "op", r.off, "an operation "+wire.Quote(name)+" opens files, or runs code outside of the graph")
	}
	return nil
}
