package worker

import (
	"context"

	"github.com/anamnesis-go/anamnesis/gate"
	"github.com/anamnesis-go/anamnesis/hub/evidence"
	"github.com/anamnesis-go/anamnesis/hub/store"
	"github.com/anamnesis-go/anamnesis/internal/wire"
)

// again judges a revision from what was read of it before. ok is false if that is not enough:
// evidence of a file is missing, or the rules of today read more than those of then.
func (w *Worker) again(ctx context.Context, g *gate.Gate, of store.Work) (out store.Judged, ok bool, err error) {
	files, err := w.Store.Files(ctx, of.ID)
	if err != nil || len(files) == 0 || gate.DirHash(files) == "" {
		return out, false, err
	}
	sums := make([]string, len(files))
	for i, f := range files {
		sums[i] = f.SHA256
	}
	kept, err := w.Store.Evidence(ctx, w.Sources.Domain(of.Address), sums)
	if err != nil {
		return out, false, err
	}
	out, ok, err = FromEvidence(ctx, w, g, files, kept)
	// Which digests of an address were claimed is not kept: that some may have been is.
	if out.Domain = w.Sources.Domain(of.Address); out.Domain != "" {
		out.Claimed = int64(len(files))
	}
	out.Computed = out.Domain == ""
	return out, ok, err
}

// FromEvidence judges files of which only evidence is there.
func FromEvidence(ctx context.Context, w *Worker, g *gate.Gate, files []gate.File, kept map[string][]byte) (out store.Judged, ok bool, err error) {
	var folder gate.Folder
	contents := make([]*evidence.Content, len(files))
	for i, f := range files {
		c, err := evidence.Open(kept[f.SHA256])
		if err != nil || c.Size != f.Size || folder.Add(f, c) != nil {
			return out, false, nil
		}
		contents[i] = c
	}
	v, err := InProcess(ctx, w.Budget, g, &folder)
	if err != nil {
		return out, false, err
	}
	defer v.Close()
	for _, c := range contents {
		if c.Missed() {
			return out, false, nil
		}
	}
	if v.Class() == wire.Internal {
		return out, false, nil
	}
	out, err = w.judged(v, g)
	return out, err == nil, err
}
