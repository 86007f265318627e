package convert

import (
	"errors"
	"io/fs"

	"github.com/anamnesis-go/anamnesis/internal/journal"
	"github.com/anamnesis-go/anamnesis/internal/output"
)

// Begun returns what [Plan.Write] or [Plan.WriteFolder] would resume at a path, nil if nothing. It
// goes by the journal and reads no output. It writes nothing, and refuses the journal of another
// job as they do.
func (p *Plan) Begun(path string) (*Resumed, error) {
	if p.o.Resume == nil {
		return nil, nil
	}
	at, err := output.At(path, p.placeOptions(true, len(p.Files) > 1))
	if err != nil {
		return nil, refusedPlace(err)
	}
	defer at.Close()
	if at.Kept() == 0 {
		return nil, nil // a journal without a file is removed
	}
	log, err := at.ReadJournal()
	if errors.Is(err, fs.ErrNotExist) {
		return &Resumed{Anew: "no journal says what of it was written"}, nil
	}
	if err != nil {
		return nil, refusedPlace(err)
	}
	defer log.Close()
	facts, err := p.facts()
	if err != nil {
		return nil, err
	}
	j, err := journal.Open(p.b, log, p.o.Resume.Key, facts)
	if other, ok := errors.AsType[*journal.Differs](err); ok {
		return nil, otherJob(other)
	}
	if bad, ok := errors.AsType[*journal.Unusable](err); ok {
		return &Resumed{Anew: unusable(bad)}, nil
	}
	if err != nil {
		return nil, err
	}
	found := &Resumed{}
	err = j.Each(p.b, func(r *journal.Record) error {
		found.Kept = min(found.Kept+recordSize(r), p.Size)
		return nil
	})
	return found, err
}

// unusable returns why a journal is ignored.
func unusable(bad *journal.Unusable) string {
	return "the journal of what was written says nothing that can be used: " + bad.Why
}
