package encode

import (
	"slices"
	"strings"

	"github.com/anamnesis-go/anamnesis/internal/loaders"
	"github.com/anamnesis-go/anamnesis/internal/wire"
)

// tieKey is the member of config.json that says whether the output layer has the matrix of the
// input embedding.
const tieKey = "tie_word_embeddings"

// A tieSetting is what a configuration says of that.
type tieSetting struct{ stated, tied bool }

// sharesInput reports whether a module is the output layer, and has the matrix of the input
// embedding. Of a type that the table does not have, only what the configuration states counts.
func (e *Linear) sharesInput(module string) bool {
	of, known := loaders.EmbeddingsOf(e.Type)
	if !known {
		of = loaders.Embeddings{Output: []string{"lm_head"}, Ties: loaders.Untied}
	}
	tied := of.Ties == loaders.Tied
	switch {
	case of.Ties == loaders.NeverTied:
		return false
	case e.tie.stated:
		tied = e.tie.tied
	case e.tieOfText.stated:
		tied = e.tieOfText.tied
	}
	return tied && slices.ContainsFunc(e.Spellings(module), func(name string) bool {
		return slices.ContainsFunc(of.Output, func(end string) bool { return name == end || strings.HasSuffix(name, "."+end) })
	})
}

// checkTied rejects codes of a matrix that loaders take from another tensor.
func (e *Linear) checkTied(name string) error {
	if module := strings.TrimSuffix(name, ".weight"); !e.As.KeepsRules && e.sharesInput(module) {
		return wire.ErrUsage.Errorf("%s: it is the output layer, which has the matrix of the input embedding (%s): loaders take that one, and its codes would be left over. Leave it out of %s; if it has numbers of its own, config.json must say %s false",
			wire.OptionInclude, tieKey, wire.OptionInclude, tieKey)
	}
	return nil
}
