// Package api is a gate as a web service, for hosts that are not written in Go:
//
//	PUT  /v1/check?name=&promised=   one file as the body
//	POST /v1/check                   any number of files as multipart/form-data
//	GET  /v1/rules                   the rules by which files are refused
//	GET  /healthz, /readyz           is it alive, does it take uploads
//	GET  /metrics                    counts, in Prometheus' text format
//	GET  /openapi.json               all of this for a program
//
// A file that is accepted is answered with its verdict and 200, one that is refused
// with a problem and the status of its class; see package handler. With
// ?format=modelscan, or where the Accept header asks for
// application/vnd.modelscan+json, both come in the form that modelscan prints, with
// 200.
//
// # Who may ask
//
// Where tokens are set, a request carries one as "Authorization: Bearer TOKEN"; its
// tenant is the token's. /healthz and /readyz are for everybody.
//
// # Concurrent use
//
// An API is safe for concurrent use.
package api
