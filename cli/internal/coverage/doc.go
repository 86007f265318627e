// Package coverage lists what a signed statement about a model covers, what it leaves out, and
// whether a loader could reach that.
package coverage
