package sidecar

import (
	"strconv"
	"strings"

	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// CodeCount is the code of findings about numbers of parts that no model has.
const CodeCount = "sidecar.count"

const (
	// maxParts is more than any model has of layers, heads, labels and other parts, of which a library
	// makes one after the other.
	maxParts = 1_000_000
	// maxLayers is more than any model has of layers, each of which is made of modules before the
	// weights are looked at: the deepest has a thousand.
	maxLayers = 4096
	// maxSide is more than any model has of rows of an image, to which a library scales each one.
	maxSide = 1 << 16
	// maxLength is more than any model has of positions, words and channels, for which a library
	// makes an array: the longest context is 10 million.
	maxLength = 100_000_000
)

// partEndings are how members end that say how many parts there are.
var partEndings = setOf("heads head experts labels classes channels level levels stages groups queries tokens")

// layerEndings are how members end that say how many layers there are.
var layerEndings = setOf("layers layer blocks block depth depths")

// lengthEndings are how members end that say how long something is, whatever they begin with.
var lengthEndings = setOf("size sizes dim dims positions embeddings ctx embeds embd samples items vectors fft buckets keep")

// maxOf returns the largest number that a member may have which says how many parts there are, or
// how long something is, 0 for another member.
func maxOf(key string) uint64 {
	last := key[strings.LastIndexByte(key, '_')+1:]
	switch {
	case layerEndings()[last]:
		return maxLayers
	case last == "height":
		return maxSide
	case lengthEndings()[last] && !strings.HasSuffix(key, "window_size"):
		return maxLength
	case partEndings()[last], strings.HasPrefix(key, "num_"), strings.HasPrefix(key, "n_"), strings.Contains(key, "_num_"):
		return maxParts
	}
	return 0
}

// counts judges a number of a member, or of a list of it, that a library reads in a configuration:
// transformers makes a name for each of num_labels, before it looks at the weights.
func (w *walk) counts(text string, at int64) error {
	if w.known == nil || len(text) < len("4096") || !strings.HasSuffix(w.file, configs) {
		return nil
	}
	i := len(w.open) - 1
	for i >= 0 && w.open[i].list {
		i--
	}
	if i < 0 {
		return nil
	}
	key := w.open[i].key
	most := maxOf(key)
	if _, reader := w.known.grammars(key); most == 0 || reader == "" || strings.Trim(text, "0123456789") != "" {
		return nil
	}
	if n, err := strconv.ParseUint(text, 10, 64); err == nil && n <= most {
		return nil
	}
	return w.once(CodeCount, tensor.Danger, key, at, w.known.reads(key)+", and makes so many: "+text+", where "+strconv.FormatUint(most, 10)+" is more than any model has")
}
