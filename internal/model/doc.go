// Package model is models made of models. A [Source] gives the bytes of one tensor, and
// each verb is a type that is a Source and is made of others: a tensor as it is stored, rows
// of one, several behind each other, numbers in another type. A [Model] is a list of such
// tensors under their names.
//
// Nothing of a tensor is held, except where a verb says so: what is made is asked for in
// ranges, as a file is.
package model
