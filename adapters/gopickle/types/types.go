// Package types has the types of github.com/nlpodyssey/gopickle/types under this path, so
// that an import is all that changes.
package types

import upstream "github.com/nlpodyssey/gopickle/types"

// The containers that a pickle holds.
type (
	ByteArray        = upstream.ByteArray
	Dict             = upstream.Dict
	DictEntry        = upstream.DictEntry
	FrozenSet        = upstream.FrozenSet
	GenericClass     = upstream.GenericClass
	GenericObject    = upstream.GenericObject
	List             = upstream.List
	OrderedDict      = upstream.OrderedDict
	OrderedDictClass = upstream.OrderedDictClass
	OrderedDictEntry = upstream.OrderedDictEntry
	Set              = upstream.Set
	Tuple            = upstream.Tuple
)

// What makes them.
var (
	NewByteArray          = upstream.NewByteArray
	NewByteArrayFromSlice = upstream.NewByteArrayFromSlice
	NewDict               = upstream.NewDict
	NewFrozenSetFromSlice = upstream.NewFrozenSetFromSlice
	NewGenericClass       = upstream.NewGenericClass
	NewList               = upstream.NewList
	NewListFromSlice      = upstream.NewListFromSlice
	NewOrderedDict        = upstream.NewOrderedDict
	NewSet                = upstream.NewSet
	NewSetFromSlice       = upstream.NewSetFromSlice
	NewTupleFromSlice     = upstream.NewTupleFromSlice
)
