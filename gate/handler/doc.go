// Package handler is a gate in front of an HTTP handler: what is uploaded is
// spooled, judged, and handed on only if it is accepted.
//
//	h, err := handler.New(store, handler.Options{})
//	http.Handle("PUT /models/{name}", h)
//
// # What a client sends
//
// PUT or POST with the file as the body, or POST of multipart/form-data with any
// number of files. Name and format of a file are what its headers say, and only
// promise: the content decides.
//
// # What the next handler gets
//
// A request whose body is the file that was judged, byte for byte, with its
// [Uploads] in the context. Of a multipart form the files are in the context
// alone, the other fields in [http.Request.PostForm].
//
// # What a client gets
//
// A refusal is application/problem+json with the identifiers of the rules:
//
//	400 a request that is no upload        413 a file over a limit
//	403 forbidden by a rule or a policy     415 a format that is not taken
//	422 malformed, or not what was promised 429, 503 busy, with Retry-After
//
// # What is bounded
//
// Everything that package host bounds, and of a request: the number of files and
// fields of a form, their headers, and how long a client may send nothing. The
// server's own ReadHeaderTimeout and MaxHeaderBytes bound what comes before.
//
// # Concurrent use
//
// A Handler is safe for concurrent use. Uploads belong to one request.
package handler
