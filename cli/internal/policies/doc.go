// Package policies is what holds for a run: the flags of every command, the policy that --limits
// names, and what both come to.
package policies
