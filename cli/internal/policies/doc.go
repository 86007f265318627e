// Package policies computes the limits and policy of a run, from the flags of every command and the
// policy that --limits names.
package policies
