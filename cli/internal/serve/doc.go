// Package serve has the command that judges uploads as a service, and those that it starts as
// processes of its own.
package serve
