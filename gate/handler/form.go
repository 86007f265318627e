package handler

import (
	"bytes"
	"cmp"
	"io"
	"maps"
	"mime"
	"mime/multipart"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/anamnesis-go/anamnesis/gate/host"
	"github.com/anamnesis-go/anamnesis/limits"
)

const (
	maxFields  = 64       // of a form, files not counted
	maxValues  = 64 << 10 // bytes of all fields
	partHeader = 20 << 10 // bytes before the content of a part: its headers and the reader's lookahead
)

// form judges the file of a form, or its files as one folder.
func (q *request) form(kind string, params map[string]string) (*http.Request, error) {
	if kind != "multipart/form-data" || params["boundary"] == "" || q.r.Method != http.MethodPost {
		return nil, &problem{status: http.StatusUnsupportedMediaType, detail: "of the multipart types, form-data by POST is taken"}
	}
	boundary := boundaryOf(q.r.Header.Get("Content-Type"), params)
	if boundary == "" {
		return nil, bad("the Content-Type of a form has one plain boundary, and no other parameter but a charset")
	}
	charset, ok := charsetOf(q.r.Header.Get("Content-Type"), params)
	if !ok {
		return nil, errCharset
	}
	f := &formReader{request: q, charset: charset, frame: newFramed(&q.body, boundary), values: url.Values{}, left: maxValues}
	f.parts = multipart.NewReader(f.frame, boundary)
	if _, err := q.observed("", f.read); err != nil {
		return nil, err
	}
	return q.formRequest(f.values), nil
}

var errCharset = bad("the charset of a body, of a form and of its parts is utf-8 or us-ascii")

func bad(detail string) error { return &problem{status: http.StatusBadRequest, detail: detail} }

// A formReader reads one form.
type formReader struct {
	*request

	charset string // of the request
	frame   *framed
	parts   *multipart.Reader
	values  url.Values
	left    int64 // bytes of further fields
	fields  int
	files   int
}

// read adds the files of a form to an upload, and gives it its name: that of its only file, or
// of the folder.
func (f *formReader) read(u *host.Upload) error {
	for {
		f.body.bound, f.body.header = true, partHeader
		part, err := f.parts.NextRawPart()
		if err == io.EOF {
			break
		}
		if err != nil {
			return err
		}
		f.body.bound = false
		name, file, named := partName(part)
		charset, why := unreadable(part, file != "")
		switch {
		case why != "":
			return bad(why)
		case !named, f.charset == ascii && !isASCII(name+file):
			return bad("a part of the form has no name, or one that can be read in two ways")
		case file != "" && strings.EqualFold(name, charsetField):
			return errCharset
		}
		content, err := sizedOf(part)
		switch {
		case err != nil:
			return err
		case file == "":
			if err := f.field(name, charset, content); err != nil {
				return err
			}
			continue
		case f.files >= f.o.MaxFiles:
			return &problem{status: http.StatusRequestEntityTooLarge, detail: "the form has more files than are taken at once"}
		}
		if err := stored(base(file)); err != nil {
			return err
		}
		if f.files++; f.files == 1 {
			u.Name = base(file)
		} else {
			u.Name = cmp.Or(base(f.o.NameOf(f.r)), "folder")
		}
		if err := u.Add(file, content); err != nil {
			return err
		}
		if u.RefusedEarly() {
			return nil // the rest need not come
		}
	}
	if err := f.frame.finish(); err != nil {
		return err
	}
	if f.files == 0 {
		return bad("the form has no file")
	}
	return f.judgeFields(u)
}

// charsetField is a field whose value some readers take for the charset of all others (RFC 7578,
// 4.6).
const charsetField = "_charset_"

// field reads a part that is not a file.
func (f *formReader) field(name, charset string, part io.Reader) error {
	text, err := io.ReadAll(io.LimitReader(part, f.left+1))
	if err != nil {
		return err
	}
	f.left -= int64(len(text)) + int64(len(name))
	if f.fields++; f.left < 0 || f.fields > maxFields {
		return &problem{status: http.StatusRequestEntityTooLarge, detail: "the form's fields hold more than " + limits.FormatSize(maxValues)}
	}
	if !isText(text) {
		return bad("a field of a form is text: give a file a filename")
	}
	if strings.EqualFold(name, charsetField) && strings.ToLower(string(text)) != "utf-8" || (charset == ascii || f.charset == ascii) && !isASCII(string(text)) {
		return errCharset
	}
	f.values.Add(name, string(text))
	return nil
}

// isText reports whether bytes are text to every reader of forms.
func isText(p []byte) bool {
	return utf8.Valid(p) && !bytes.ContainsFunc(p, func(c rune) bool { return c < ' ' && c != '\t' && c != '\n' && c != '\r' || c == 0x7f })
}

// judgeFields judges the fields, since they are passed on as the files are. Each is judged like a
// file of a folder: most are texts, in which there is nothing for a loader. One that is called as
// a file is, by an extension, is judged as that file.
func (f *formReader) judgeFields(u *host.Upload) error {
	for _, name := range slices.Sorted(maps.Keys(f.values)) {
		for _, text := range f.values[name] {
			if isWords(text) {
				continue
			}
			if err := f.judgeField(u, name, text); err != nil {
				return err
			}
			// Browsers end the lines of a field with CR LF, and many programs make LF of it.
			if lines := lineEnds.Replace(text); lines != text {
				if err := f.judgeField(u, name, lines); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

var lineEnds = strings.NewReplacer("\r\n", "\n", "\r", "\n")

func (f *formReader) judgeField(of *host.Upload, name, text string) error {
	isValue := path.Ext(name) == ""
	if isValue {
		name += " (field)" // a field "config" is not git's
	}
	u, err := of.Field(name, isValue)
	if err != nil {
		return err
	}
	f.beside = append(f.beside, u)
	if err := u.Spool(strings.NewReader(text), int64(len(text))); err != nil {
		return err
	}
	v, err := u.Judge(f.r.Context())
	if err != nil {
		return f.interrupted(err)
	}
	if _, ok := u.Acceptance(); !ok {
		return &refused{v}
	}
	return nil
}

// maxWords is the longest field that is not judged, if it is nothing but words.
const maxWords = 256

// isWords reports whether a text is a line of words, or none. No format begins like one, YAML makes
// one text of it, and a pickle names nothing without a line's end.
func isWords(text string) bool {
	if len(text) > maxWords {
		return false
	}
	for i := range len(text) {
		switch c := text[i]; {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9', strings.IndexByte(" _.,-", c) >= 0:
		default:
			return false
		}
	}
	return true
}

// unreadable returns the header of a part that other readers of forms could read differently: they
// would see a file that was not judged. It is "" for other parts, which may have a charset.
func unreadable(p *multipart.Part, file bool) (charset, why string) {
	for name, list := range p.Header {
		switch {
		case len(list) != 1:
			return "", "a part of a form has a header once"
		case !slices.Contains(headers, name):
			return "", "of the headers of a part, " + strings.Join(headers, ", ") + " are taken"
		}
	}
	stated := p.Header.Get("Content-Type")
	kind, params, err := mime.ParseMediaType(stated)
	charset, known := charsetOf(stated, params)
	switch _, is := p.Header[transfer]; {
	case is && !plain(p.Header.Get(transfer)):
		return "", "a part of a form is taken as it is, without a Content-Transfer-Encoding"
	case stated != "" && err != nil:
		return "", "a part of a form has one Content-Type that can be read"
	case !known, charset == "" && len(params) > 0, len(params) > 1, strings.ContainsAny(stated, `*\`):
		return "", "the Content-Type of a part has no parameter but a charset, which is utf-8 or us-ascii"
	case strings.HasPrefix(kind, "multipart/"), strings.HasPrefix(kind, "message/"):
		return "", "a part of a form holds no further parts"
	case !file && kind != "" && kind != "text/plain" && kind != "application/json":
		return "", "a field of a form is text: give a file a filename"
	}
	return charset, ""
}

const transfer = "Content-Transfer-Encoding"

// headers are those of a part that are taken. Clients send the first two, and some older ones the
// others.
var headers = []string{"Content-Disposition", "Content-Type", "Content-Length", transfer}

// A sized reads the content of a part, which has as many bytes as its headers say: some readers
// of forms take that many.
type sized struct {
	r    io.Reader
	left int64
}

// sizedOf returns the content of a part.
func sizedOf(p *multipart.Part) (io.Reader, error) {
	text, is := p.Header["Content-Length"]
	if !is {
		return p, nil
	}
	n, err := strconv.ParseInt(text[0], 10, 64)
	if err != nil || n < 0 || strconv.FormatInt(n, 10) != text[0] {
		return nil, errLength
	}
	return &sized{p, n}, nil
}

func (s *sized) Read(p []byte) (int, error) {
	n, err := s.r.Read(p)
	if s.left -= int64(n); s.left < 0 || err == io.EOF && s.left > 0 {
		return 0, errLength
	}
	return n, err
}

var errLength = bad("a part of the form has another length than its Content-Length")

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

// partName returns the names of a field and of its file. A part with two dispositions has none,
// since readers may take either.
func partName(p *multipart.Part) (name, file string, ok bool) {
	list := p.Header["Content-Disposition"]
	if len(list) != 1 {
		return "", "", false
	}
	name, file, isFile, ok := dispositionNames(list[0], "form-data")
	if isFile && base(file) == "" {
		file = "file"
	}
	return name, file, ok && name != ""
}

// plain reports whether an encoding is none. An empty one is not taken: readers differ in whether
// it is there.
func plain(encoding string) bool {
	switch encoding {
	case "binary", "8bit", "7bit":
		return true
	}
	return false
}
