package handler

import (
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"net/url"
	"strings"

	"github.com/anamnesis-go/anamnesis/limits"
)

const (
	maxFields  = 64       // of a form, files not counted
	maxValues  = 64 << 10 // bytes of all fields
	partHeader = 20 << 10 // bytes before the content of a part: its headers and the reader's lookahead
)

// form judges the files of a form. If one is refused, so are all.
func (q *request) form(kind string, params map[string]string) (*http.Request, error) {
	bad := func(detail string) error { return &problem{status: http.StatusBadRequest, detail: detail} }
	if kind != "multipart/form-data" || params["boundary"] == "" || q.r.Method != http.MethodPost {
		return nil, &problem{status: http.StatusUnsupportedMediaType, detail: "of the multipart types, form-data by POST is taken"}
	}
	frame := newFramed(&q.body, params["boundary"])
	parts, values := multipart.NewReader(frame, params["boundary"]), url.Values{}
	left, fields := int64(maxValues), 0
	for {
		q.body.bound, q.body.header = true, partHeader
		part, err := parts.NextRawPart()
		if err == io.EOF {
			break
		}
		if err != nil {
			return nil, err
		}
		q.body.bound = false
		name, file, err := partName(part)
		if why := unreadable(part, file != ""); why != "" {
			return nil, bad(why)
		}
		switch {
		case err != nil:
			return nil, bad("a part of the form has no name")
		case file != "" && len(q.uploads) >= q.o.MaxFiles:
			return nil, &problem{status: http.StatusRequestEntityTooLarge, detail: "the form has more files than are taken at once"}
		case file != "":
			if _, err := q.file(part, base(file), -1); err != nil {
				return nil, err
			}
			continue
		}
		text, err := io.ReadAll(io.LimitReader(part, left+1))
		if err != nil {
			return nil, err
		}
		left -= int64(len(text)) + int64(len(name))
		if fields++; left < 0 || fields > maxFields {
			return nil, &problem{status: http.StatusRequestEntityTooLarge, detail: "the form's fields hold more than " + limits.FormatSize(maxValues)}
		}
		values.Add(name, string(text))
	}
	if err := frame.finish(); err != nil {
		return nil, err
	}
	if len(q.uploads) == 0 {
		return nil, bad("the form has no file")
	}
	return q.formRequest(values), nil
}

// unreadable says what of a part's headers other readers of forms could take otherwise: then
// they would see a file that nobody judged. It is "" for other parts.
func unreadable(p *multipart.Part, file bool) string {
	types := p.Header["Content-Type"]
	kind, _, err := mime.ParseMediaType(p.Header.Get("Content-Type"))
	switch {
	case !plain(p.Header.Get("Content-Transfer-Encoding")):
		return "a part of a form is taken as it is, without a Content-Transfer-Encoding"
	case len(p.Header["Content-Encoding"]) > 0:
		return "a part of a form is taken as it is, without a Content-Encoding"
	case len(types) > 1 || len(types) == 1 && types[0] != "" && err != nil:
		return "a part of a form has one Content-Type that can be read"
	case strings.HasPrefix(kind, "multipart/"), strings.HasPrefix(kind, "message/"):
		return "a part of a form holds no further parts"
	case !file && kind != "" && kind != "text/plain" && kind != "application/json":
		return "a field of a form is text: give a file a filename"
	case strings.Contains(p.Header.Get("Content-Disposition"), `\"`):
		return "a name in a form has no quotes"
	}
	return ""
}

// formRequest returns the request for the next handler: the fields are set as after
// ParseMultipartForm, and the files are in the context.
func (q *request) formRequest(values url.Values) *http.Request {
	next := q.r.Clone(q.r.Context())
	next.Body, next.ContentLength, next.TransferEncoding = http.NoBody, 0, nil
	next.PostForm, next.Form = values, url.Values{}
	for _, of := range []url.Values{values, next.URL.Query()} {
		for name, list := range of {
			next.Form[name] = append(next.Form[name], list...)
		}
	}
	next.MultipartForm = &multipart.Form{Value: values, File: map[string][]*multipart.FileHeader{}}
	return next
}

// partName returns the names of a field and of its file. A part with two dispositions is
// rejected, since readers may take either.
func partName(p *multipart.Part) (name, file string, err error) {
	list := p.Header["Content-Disposition"]
	if len(list) != 1 {
		return "", "", http.ErrNotMultipart
	}
	kind, params, err := mime.ParseMediaType(list[0])
	if extended(list[0]) {
		return "", "", http.ErrNotMultipart
	}
	if err != nil || kind != "form-data" || params["name"] == "" {
		return "", "", http.ErrNotMultipart
	}
	file, is := params["filename"]
	if is && base(file) == "" {
		file = "file"
	}
	return params["name"], file, nil
}

// extended reports whether a disposition has a parameter with a star, outside of quotes.
// RFC 7578 (4.2) forbids filename* in a form, and readers differ in which of two names
// they take.
func extended(disposition string) bool {
	quoted := false
	for i := 0; i < len(disposition); i++ {
		switch c := disposition[i]; {
		case c == '\\' && quoted:
			i++
		case c == '"':
			quoted = !quoted
		case c == '*' && !quoted:
			return true
		}
	}
	return false
}

func plain(encoding string) bool {
	switch encoding {
	case "", "binary", "8bit", "7bit":
		return true
	}
	return false
}
