// Package model is models made of models. A [Source] gives the bytes of one tensor, and
// each verb is a type that is a Source and is made of others: a tensor as it is stored, rows
// of one, several concatenated, numbers in another type. A [Model] is a list of such
// tensors under their names.
//
// No part of a tensor is held in memory, except where a verb says so: results are computed by
// ranges, as a file is read.
package model
