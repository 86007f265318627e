// Package scan has the command that judges files.
package scan
