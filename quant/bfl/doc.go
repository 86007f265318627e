// Package bfl knows the configuration in files of Black Forest Labs, whose weights are of
// several schemes.
package bfl
