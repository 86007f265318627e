// Package run is one run of the program: its streams, the policy in force, what was counted, and
// the models that arguments name. Commands are handed a [Run] and keep the rest to themselves.
package run
