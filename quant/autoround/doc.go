// Package autoround knows the configuration of AutoRound, whose models may be of many schemes.
package autoround
