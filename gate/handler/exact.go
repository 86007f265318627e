package handler

import (
	"net/http"
	"path"
	"strings"
)

// Exact passes requests on to next, and answers those with 404 whose path is not clean: //upload,
// /./upload, /x/../upload. A [http.ServeMux] redirects them, and a redirect is a status below 400
// for a file that was not judged. Put it around the mux that has a [Handler].
func Exact(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case next == nil:
			WriteProblem(w, nil)
		case !isClean(r.URL.Path), !isClean(r.URL.EscapedPath()):
			WriteProblem(w, &Problem{Type: "about:blank", Title: http.StatusText(http.StatusNotFound), Status: http.StatusNotFound, Detail: "the path of the request is not clean: it has empty parts, or dots for one"})
		default:
			next.ServeHTTP(w, r)
		}
	})
}

// isClean reports whether a path is one that a mux does not clean.
func isClean(p string) bool {
	clean := path.Clean(p)
	return strings.HasPrefix(p, "/") && (p == clean || clean != "/" && p == clean+"/")
}
