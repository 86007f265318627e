// Package handler is a gate in front of an HTTP handler: an upload is spooled, judged,
// and passed on only if it is accepted.
//
//	h, err := handler.New(store, handler.Options{})
//	http.Handle("PUT /models/{name}", h)
//
// # What a client sends
//
// PUT or POST with the file as the body, or POST of multipart/form-data. A form with several
// files is a folder: the names of its files are their paths in it, and it is judged as a whole.
// A form that readers could split into other parts, and a name that systems could make another
// one of, are refused: a part has Content-Disposition, and Content-Type, Content-Length and
// Content-Transfer-Encoding (7bit, 8bit or binary) at most once each.
// The headers state the name and the promised format of a file; the content decides what it is.
//
// # What the next handler gets
//
// A request whose body is the judged file, byte for byte, with its [Uploads] in the context. The
// files of a multipart form are in the context only, as one upload whose Files are those of the
// folder; its other fields are in [http.Request.PostForm]. A field is a text that was judged like a
// file of a folder: models and code in it are refused.
//
// # What a client gets
//
// A refusal is application/problem+json with the identifiers of the rules:
//
//	400 not an upload                       413 a file over a limit
//	403 forbidden by a rule or a policy     415 a format that is not accepted
//	422 malformed, or not what was promised 429, 503 busy, with Retry-After
//
// # Limits
//
// Those of package host; in a request also the number of files and fields of a form,
// their headers, and how slowly a client may send: the time without any byte, the bytes a
// second on an average, the time for all of a body. The server's own ReadHeaderTimeout and
// MaxHeaderBytes cover the time before the handler is called, and its WriteTimeout or the
// next handler the time in which a client reads an answer.
//
// # Concurrent use
//
// A Handler is safe for concurrent use. Uploads belong to one request.
package handler
