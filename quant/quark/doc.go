// Package quark knows the configuration of Quark, whose weights are of several schemes.
package quark
