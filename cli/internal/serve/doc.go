// Package serve has the command that judges uploads as a service, and the commands that it starts
// as child processes.
package serve
