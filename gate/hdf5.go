package gate

import (
	"io"
	"slices"

	"github.com/anamnesis-go/anamnesis/internal/unwrap"
	"github.com/anamnesis-go/anamnesis/internal/wire"
)

// checkHDF5 refuses an accepted file that is also an HDF5 file for h5py, which skips what
// precedes it. At the beginning of a member of an archive it is a content, and judged as
// such.
func (j *judgement) checkHDF5() {
	if j.Err != nil || j.Unlooked != "" {
		return
	}
	found, err := unwrap.HDF5(j.r, j.Size)
	if err != nil {
		j.Err = wire.At("detect", "", wire.NoOffset, err)
		return
	}
	for _, off := range found {
		if !slices.Contains(j.starts, off) {
			what := j.Harmless
			if what == "" {
				what = j.Format
			}
			j.Harmless = ""
			j.Err = wire.At("detect", "", off, wire.ErrUnsupported.WithRule("detect.two-formats").Errorf("%s, but also an HDF5 file for h5py, which skips what precedes it: loaders see different content", what))
			return
		}
	}
}

// startsAt notes where a content lies in its archive, if h5py would look there.
func (j *judgement) startsAt(content io.ReaderAt) {
	s, ok := content.(*io.SectionReader)
	if !ok {
		return
	}
	if r, off, _ := s.Outer(); r == j.r && off > 0 && off&(off-1) == 0 {
		j.starts = append(j.starts, off)
	}
}
