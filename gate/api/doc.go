// Package api is a gate as a web service, for hosts that are not written in Go:
//
//	PUT  /v1/check?name=&promised=   one file as the body
//	POST /v1/check                   a folder of files as multipart/form-data
//	GET  /v1/rules                   the rules by which files are refused
//	GET  /healthz, /readyz           is it alive, does it take uploads
//	GET  /metrics                    counts, in Prometheus' text format
//	GET  /openapi.json               all of this for a program
//
// The answer to an accepted file is its verdict with status 200, the answer to a refused
// one a problem with the status of its class; see package handler. A folder has one verdict.
// With
// ?format=modelscan, or an Accept header of application/vnd.modelscan+json, both
// answers have status 200 and the form of modelscan's report.
//
// # Authorization
//
// If tokens are set, a request carries one as "Authorization: Bearer TOKEN"; the token
// decides the tenant. /healthz and /readyz need none. Without tokens the tenant is the
// client's address.
//
// # Slow clients
//
// Answers have the bounds of bodies: a client that does not read is cut. A large verdict is
// sent while it is written. The report of the page is written to a file first, so that
// reading it slowly holds no memory.
//
// # Concurrent use
//
// An API is safe for concurrent use.
package api
