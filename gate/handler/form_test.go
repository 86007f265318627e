package handler_test

import (
	"bytes"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"net/textproto"
	"net/url"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/anamnesis-go/anamnesis/gate/handler"
	"github.com/anamnesis-go/anamnesis/gate/host"
)

// form writes a form; each part is a field, or a file where it has a name.
func form(parts ...[3]string) (kind string, body *bytes.Buffer) {
	body = &bytes.Buffer{}
	m := multipart.NewWriter(body)
	for _, p := range parts {
		h := textproto.MIMEHeader{"Content-Disposition": {fmt.Sprintf("form-data; name=%q", p[0])}}
		if p[1] != "" {
			h.Set("Content-Disposition", fmt.Sprintf("form-data; name=%q; filename=%q", p[0], p[1]))
		}
		w, err := m.CreatePart(h)
		if err == nil {
			_, err = io.WriteString(w, p[2])
		}
		if err != nil {
			panic(err)
		}
	}
	if err := m.Close(); err != nil {
		panic(err)
	}
	return m.FormDataContentType(), body
}

func TestForms(t *testing.T) {
	s, _, _ := serve(t, handler.Options{MaxFiles: 2})
	good := [3]string{"file", "a.safetensors", honest(400_000)}
	for _, tc := range []struct {
		what   string
		parts  [][3]string
		status int
		has    string
	}{
		{"two files and a field", [][3]string{good, {"note", "", "hello"}, {"file", "b.safetensors", honest(5)}}, 200, "a.safetensors 400072 <nil>\nb.safetensors 69 <nil>\nfolder 0 <nil> folder\n"},
		{"one file by its last name", [][3]string{{"file", `x/y/a.safetensors`, honest(5)}}, 200, "a.safetensors 69 <nil> safetensors\n"},
		{"a text beside a model", [][3]string{good, {"file", "sub/config.json", "{}"}}, 200, "sub/config.json 2 <nil>\n"},
		{"a text alone", [][3]string{{"file", "config.json", `{"model_type": "llama"}`}}, 415, "unsupported"},
		{"a name that leads out", [][3]string{good, {"file", "../../b.bin", honest(5)}}, 400, "../../b.bin"},
		{"the first name leads out", [][3]string{{"file", "../b.safetensors", honest(5)}, good}, 400, "../b.safetensors"},
		{"a name of another system", [][3]string{{"file", `C:\x\b.safetensors`, honest(5)}, good}, 400, "two ways"},
		{"the same alone", [][3]string{{"file", `C:\x\b.safetensors`, honest(5)}}, 400, "two ways"},
		{"a name twice", [][3]string{good, good}, 400, "two files are called"},
		{"twins by case", [][3]string{good, {"file", "A.safetensors", honest(5)}}, 400, "two files are called"},
		{"a file that is a folder", [][3]string{good, {"file", "a.safetensors/b", honest(5)}}, 400, "a file and a folder"},
		{"forbidden by its beginning", [][3]string{{"file", "config.json", "{}"}, {"file", "b.bin", "\x80\x02cos\nsystem\n" + strings.Repeat(" ", 9000)}}, 403, `"file":"b.bin"`},
		{"malformed by its beginning", [][3]string{{"file", "b.safetensors", "\xff" + strings.Repeat("\xff", 9000)}, {"file", "b.bin", evil}}, 403, "pickle.call"},
		{"the field", [][3]string{good, {"note", "", "hello"}}, 200, "note=[hello]"},
		{"one is bad", [][3]string{good, {"file", "x/b.bin", evil}}, 403, `"where":"\"x/b.bin\"`},
		{"too many", [][3]string{good, {"file", "b.safetensors", honest(5)}, {"file", "c.safetensors", honest(5)}}, 413, "more files"},
		{"none", [][3]string{{"note", "", "hello"}}, 400, "no file"},
		{"a long field", [][3]string{{"note", "", strings.Repeat("x", 70<<10)}, good}, 413, "fields hold"},
		{"a long header", [][3]string{{strings.Repeat("n", 80<<10), "", "x"}, good}, 413, "headers"},
	} {
		kind, body := form(tc.parts...)
		res, text := ask(t, "POST", s.URL, kind, body)
		if res.StatusCode != tc.status || !strings.Contains(text, tc.has) {
			t.Errorf("%s: %d, %s", tc.what, res.StatusCode, text)
		}
	}
	kind, body := form(good)
	boundary := strings.TrimPrefix(kind, "multipart/form-data; boundary=")
	hidden := "\r\nContent-Disposition: form-data; name=\"file\"; filename=\"evil.bin\"\r\n\r\n" + evil
	headed := func(s string) string { return strings.Replace(body.String(), "\r\n\r\n", "\r\n"+s+"\r\n\r\n", 1) }
	for what, bad := range map[string]string{
		"two encodings":             headed("Content-Transfer-Encoding: 7bit\r\nContent-Transfer-Encoding: base64"),
		"encodings by case":         headed("content-transfer-encoding: 8bit\r\nCONTENT-TRANSFER-ENCODING: BASE64"),
		"an empty encoding":         headed("Content-Transfer-Encoding:"),
		"an unknown header":         headed("Content-Location: evil.bin"),
		"a name in a type":          headed("Content-Type: application/octet-stream; name=\"evil.bin\""),
		"a name in parts of a type": headed("Content-Type: text/plain; charset*0=\"x\""),
		"a length too short":        headed("Content-Length: 10"),
		"a length too long":         headed("Content-Length: 400073"),
		"a length that is none":     headed("Content-Length: +400072"),
		"a folded header":           headed("Content-Type: text/plain;\r\n charset=utf-8"),
		"headers that end early":    strings.Replace(body.String(), "\r\n\r\n", "\n\nhello\r\n\r\n", 1),
		"a bare LF in headers":      headed("Content-Type: text/plain\nX: y"),
		"a bare CR in headers":      headed("Content-Type: text/plain\rX: y"),
		"another parameter":         strings.Replace(body.String(), "filename=", "x=\"y\"; filename=", 1),
		"a name with a semicolon":   strings.Replace(body.String(), `name="file"`, `name="file; filename=evil.bin"`, 1),
		"a name of a field's type":  strings.Replace(body.String(), "--\r\n", "\r\nContent-Disposition: form-data; name=\"x\"\r\nContent-Type: text/plain; name=\"evil.bin\"\r\n\r\n"+evil+"\r\n--"+boundary+"--\r\n", 1),
		"cut short":                 body.String()[:body.Len()-100],
		"an encoding":               strings.Replace(body.String(), "\r\n\r\n", "\r\nContent-Transfer-Encoding: base64\r\n\r\n", 1),
		"two headers":               strings.Replace(body.String(), "\r\n\r\n", "\r\nContent-Disposition: form-data; name=x; filename=y\r\n\r\n", 1),
		"two names":                 strings.Replace(body.String(), "filename=", "filename*=utf-8''evil.pkl; filename=", 1),
		"another header":            strings.Replace(body.String(), "form-data;", "attachment;", 1),
		"a preamble":                evil + "\r\n" + body.String(),
		"an epilogue":               body.String() + evil,
		"another form":              body.String() + body.String(),
		"parts inside":              strings.Replace(body.String(), "\r\n\r\n", "\r\nContent-Type: multipart/mixed; boundary=x\r\n\r\n", 1),
		"two types":                 strings.Replace(body.String(), "\r\n\r\n", "\r\nContent-Type: text/plain\r\nContent-Type: multipart/mixed; boundary=x\r\n\r\n", 1),
		"packed":                    strings.Replace(body.String(), "\r\n\r\n", "\r\nContent-Encoding: gzip\r\n\r\n", 1),
		"a name in a name":          strings.Replace(body.String(), `name="file"`, `name="file\"; filename=\"e.pkl"`, 1),
		"a typed field":             strings.Replace(body.String(), "--\r\n", "\r\nContent-Disposition: form-data; name=\"x\"\r\nContent-Type: application/octet-stream\r\n\r\n"+evil+"\r\n--"+strings.TrimPrefix(kind, "multipart/form-data; boundary=")+"--\r\n", 1),
	} {
		if res, text := ask(t, "POST", s.URL, kind, strings.NewReader(bad)); res.StatusCode != 400 {
			t.Errorf("%s: %d, %s", what, res.StatusCode, text)
		}
	}
	for _, within := range []string{"\n--%s\r\n", "\r--%s\r", "\r--%s\r\n", "\n--%s\n", "\r\n--%s\n", "\r\n--%s\r", "\r\n--%s \r\n", "\r\n--%sx\r\n", "\n--%s--\n", "--%s\r\n", "\r\n--%s-\r\n"} {
		bad := strings.Replace(body.String(), "xxx", fmt.Sprintf(within, boundary)+hidden[2:], 1)
		for _, r := range []io.Reader{strings.NewReader(bad), iotest.OneByteReader(strings.NewReader(bad))} {
			if res, text := ask(t, "POST", s.URL, kind, r); res.StatusCode != 400 {
				t.Errorf("a boundary %q within: %d, %s", within, res.StatusCode, text)
			}
		}
	}
	for _, bad := range []string{
		kind + "; boundary*=utf-8''BB", kind + "; boundary*0=B", strings.Replace(kind, ";", "; x=\"; boundary=AA\";", 1), kind + "; x=y",
		strings.Replace(kind, boundary, `"`+boundary[:1]+`\`+boundary[1:]+`"`, 1), kind + "; charset*=utf-8''x",
		`multipart/form-data; charset="; boundary=AA"; boundary=` + boundary, "multipart/form-data; charset=boundary; boundary=" + boundary,
	} {
		if res, text := ask(t, "POST", s.URL, bad, strings.NewReader(body.String())); res.StatusCode != 400 {
			t.Errorf("%s: %d, %s", bad, res.StatusCode, text)
		}
	}
	for what, good := range map[string]string{
		"what older clients send": headed("Content-Type: application/octet-stream; charset=utf-8\r\nContent-Transfer-Encoding: binary\r\nContent-Length: " + fmt.Sprint(len(good[2]))),
		"without the last line":   strings.TrimSuffix(body.String(), "\r\n"),
	} {
		for _, r := range []io.Reader{strings.NewReader(good), iotest.OneByteReader(strings.NewReader(good))} {
			if res, text := ask(t, "POST", s.URL, strings.Replace(kind, boundary, `"`+boundary+`"; charset=utf-8`, 1), r); res.StatusCode != 200 {
				t.Errorf("%s: %d, %s", what, res.StatusCode, text)
			}
		}
	}
	// Boundaries as Chromium and Safari, and as Firefox write them, and two that name another.
	for named, status := range map[string]int{"----WebKitFormBoundary7MA4YWxkTrZu0gW": 200, "----geckoformboundaryab12c3": 200, "xboundary=y": 400, "boundary==y": 400} {
		text := strings.ReplaceAll(body.String(), boundary, named)
		if res, said := ask(t, "POST", s.URL, "multipart/form-data; boundary="+named, strings.NewReader(text)); res.StatusCode != status {
			t.Errorf("%s: %d, %s", named, res.StatusCode, said)
		}
	}
	r, err := http.NewRequestWithContext(t.Context(), "POST", s.URL, strings.NewReader(body.String()))
	if err != nil {
		t.Fatal(err)
	}
	r.Header["Content-Type"] = []string{kind, "multipart/form-data; boundary=other"}
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	res.Body.Close()
	if res.StatusCode != 400 {
		t.Errorf("two types: %d", res.StatusCode)
	}
}

// A field is passed on like a file, so it is judged: models, pickles and code are refused, also
// among fields that are plain text.
func TestFieldsAreJudged(t *testing.T) {
	s, _, _ := serve(t, handler.Options{})
	good := [3]string{"file", "a.safetensors", honest(5)}
	for _, tc := range []struct {
		what, name, text string
		status           int
		has              string
	}{
		{"a word", "revision", "main", 200, "revision=[main]"},
		{"nothing", "note", "", 200, "note=[]"},
		{"a line", "message", "Add the weights, v1.2", 200, "message=[Add"},
		{"a sentence", "message", "What's new? Everything (50% smaller)!", 200, "smaller)!]"},
		{"paragraphs", "card", "# A model\n\nIt reads `x` and writes *y*.\r\n\r\n- one\n- two\n", 200, "two"},
		{"letters", "title", "模型 \u00e9\U0001f600", 200, "模型"},
		{"JSON", "metadata", `{"license": "mit", "tags": ["a", "b"], "public": true}`, 200, "license"},
		{"YAML", "metadata", "license: mit\ntags:\n- a\n", 200, "license"},
		{"an address", "from", "https://example.org/x?y=z#1", 200, "example"},
		{"a pickle in letters", "note", "cos\nsystem\n(S'id'\ntR.", 403, "pickle.call"},
		{"the same behind a text", "x", "cbuiltins\neval\n(S'1'\ntR.", 403, "pickle.call"},
		{"a pickle", "note", "\x80\x02cos\nsystem\n", 400, "is text"},
		{"an archive", "note", "PK\x03\x04" + strings.Repeat("\x00", 40), 400, "is text"},
		{"a model", "note", honest(5), 400, "is text"},
		{"a byte that is no letter", "note", "a\xffb", 400, "is text"},
		{"an end of a text", "note", "a\x00b", 400, "is text"},
		{"an escape", "note", "a\x1b[2Jb", 400, "is text"},
		{"an object of Python", "config", "a: !!python/object/apply:os.system [id]\n", 403, "sidecar.yaml-tag"},
		{"what Hydra calls", "config", "_target_: os.system\ncommand: id\n", 403, "sidecar.target"},
		{"code by its name", "config.json", `{"model_type": "llama", "auto_map": {"AutoModel": "evil--x.Y"}, "trust_remote_code": true}`, 403, "sidecar"},
		{"a model by its name", "model.safetensors", "{not one}", 415, `"file":"model.safetensors"`},
		{"a pickle in lines of a browser", "note", "cos\r\nsystem\r\n(S'id'\r\ntR.", 403, "pickle.call"},
		{"the same in lines of CR", "note", "cos\rsystem\r(S'id'\rtR.", 403, "pickle.call"},
		{"code", "note", "import os\nos.system('id')\n", 200, "import"}, // a text like any other
		{"code by its name", "handler.py", "import os\nos.system('id')\n", 403, "code"},
		{"a pickle in base64", "note", "Y29zCnN5c3RlbQooUydpZCcKdFIu\r\n", 200, "Y29z"}, // a text, too
		{"a setting", "config", "steps: 3\nseed: 1\n", 200, "steps"},
	} {
		for at := range 2 { // before and after the file
			parts := [][3]string{{tc.name, "", tc.text}, {"other", "", "x"}}
			kind, body := form(slices.Insert(parts, 2*at, good)...)
			res, text := ask(t, "POST", s.URL, kind, body)
			if res.StatusCode != tc.status || !strings.Contains(text, tc.has) {
				t.Errorf("%s: %d, %s", tc.what, res.StatusCode, text)
			}
		}
	}
	kind, body := form(good, [3]string{"a", "", "{}"}, [3]string{"b", "", "{}"}, [3]string{"b", "", "cos\nsystem\n(S'id'\ntR."})
	if res, text := ask(t, "POST", s.URL, kind, body); res.StatusCode != 403 {
		t.Errorf("the second of a name: %d, %s", res.StatusCode, text)
	}
}

// Fields do not count as uploads, and leave nothing behind.
func TestFieldsOfATenantWithOneUpload(t *testing.T) {
	o := handler.Options{}
	o.PerTenant, o.MaxUploads = 1, 1
	s, h, _ := serve(t, o)
	for range 3 {
		kind, body := form([3]string{"file", "a.safetensors", honest(5)}, [3]string{"a", "", `{"a": 1}`}, [3]string{"b", "", `{"b": 1}`})
		if res, text := ask(t, "POST", s.URL, kind, body); res.StatusCode != 200 {
			t.Errorf("%d, %s", res.StatusCode, text)
		}
	}
	if l := h.Host().Load(); l != (host.Load{}) {
		t.Errorf("left: %+v", l)
	}
}

// A name that systems or readers change is refused, in every header.
func TestNamesThatStorageChangesAreRefused(t *testing.T) {
	s, _, _ := serve(t, handler.Options{NameOf: func(r *http.Request) string { return r.URL.Query().Get("name") }})
	good := [3]string{"file", "a.safetensors", honest(5)}
	for _, name := range []string{
		"handler.py.", "handler.py ", " handler.py", "handler.py::$DATA", "a:b", "handler&#46;py", "a&amp", "=?utf-8?q?handler=2Epy?=", "handler.py\u200b", "a\u202eb", "con", "NUL.txt", "COM¹.x", "a*", "a|b", "<a>",
		"handler\uff0epy", strings.Repeat("a", 256),
	} {
		if res, text := ask(t, "PUT", s.URL+"?"+url.Values{"name": {name}}.Encode(), "", strings.NewReader(honest(5))); res.StatusCode != 400 {
			t.Errorf("PUT of %q: %d, %s", name, res.StatusCode, text)
		}
		for _, parts := range [][][3]string{{{"file", name, honest(5)}}, {{"file", name, honest(5)}, good}, {good, {"file", name, "{}"}}, {good, {"file", "x/" + name, "{}"}}, {good, {"file", name + "/x", "{}"}}} {
			var body strings.Builder
			for _, p := range parts {
				fmt.Fprintf(&body, "--BB\r\nContent-Disposition: form-data; name=\"file\"; filename=\"%s\"\r\n\r\n%s\r\n", p[1], p[2])
			}
			if res, text := ask(t, "POST", s.URL, "multipart/form-data; boundary=BB", strings.NewReader(body.String()+"--BB--\r\n")); res.StatusCode != 400 {
				t.Errorf("a form with %q: %d, %s", name, res.StatusCode, text)
			}
		}
	}
	for _, twin := range [][2]string{{"\u00e9.json", "e\u0301.json"}, {"ﬁle.json", "file.json"}, {"ß.json", "ss.json"}} {
		body := "--BB\r\nContent-Disposition: form-data; name=\"file\"; filename=\"" + twin[0] + "\"\r\n\r\n{}\r\n--BB\r\nContent-Disposition: form-data; name=\"file\"; filename=\"" + twin[1] + "\"\r\n\r\n{}\r\n--BB--\r\n"
		if res, text := ask(t, "POST", s.URL, "multipart/form-data; boundary=BB", strings.NewReader(body)); res.StatusCode != 400 || !strings.Contains(text, "could be one name") {
			t.Errorf("%q: %d, %s", twin, res.StatusCode, text)
		}
	}
	for _, name := range []string{"", "模型.safetensors", "Résumé (1).safetensors", "a=b&1.safetensors"} {
		if res, text := ask(t, "PUT", s.URL+"?"+url.Values{"name": {name}}.Encode(), "", strings.NewReader(honest(5))); res.StatusCode != 200 {
			t.Errorf("PUT of %q: %d, %s", name, res.StatusCode, text)
		}
	}
}

// In another charset than the one that was judged, the bytes of a form are other letters: a pickle in
// a field, another name of a file. No request, part or field states one.
func TestCharsets(t *testing.T) {
	s, _, _ := serve(t, handler.Options{})
	file := "--BB\r\nContent-Disposition: form-data; name=\"file\"; filename=\"a.safetensors\"\r\n%s\r\n" + honest(5) + "\r\n"
	field := "--BB\r\nContent-Disposition: form-data; name=\"%s\"\r\n%s\r\n%s\r\n"
	const pickle = "+AGMAbwBzAAoAcwB5AHMAdABlAG0ACgAoAFMAJwBpAGQAJwAKAHQAUgAu-"
	for charset, status := range map[string]int{
		"utf-8": 200, "UTF-8": 200, "us-ascii": 200, `"utf-8"`: 200, `"US-ASCII"`: 200,
		"utf-7": 400, `"utf-7"`: 400, "unicode_escape": 400, "utf-16": 400, "cp037": 400, "base64": 400, "rot13": 400, "hz": 400, "idna": 400, "iso-8859-1": 400, "utf8": 400, "x": 400,
		`"utf-8, x"`: 400, `"utf-8 "`: 400, `""`: 400, "": 400, "'utf-8'": 400, "utf-8; charset=utf-7": 400, "utf-8; Charset=utf-7": 400, "utf-8; x=utf-7": 400, "utf-8, utf-7": 400, "utf-8 utf-7": 400,
		"utf-8; charset*=us-ascii''utf-7": 400, "utf-8; charset*0=utf-7": 400, "utf-8; format=flowed": 400, "\"utf-8\"\t;charset=x": 400, "ut\u017f-8": 400, `"utf\-7"`: 400,
	} {
		in := "text/plain; charset=" + charset
		for what, tc := range map[string]struct{ kind, body string }{
			"field":            {"", fmt.Sprintf(file, "") + fmt.Sprintf(field, "note", "Content-Type: "+in+"\r\n", pickle)},
			"field of JSON":    {"", fmt.Sprintf(file, "") + fmt.Sprintf(field, "note", "Content-Type: application/json; charset="+charset+"\r\n", "1")},
			"file":             {"", fmt.Sprintf(file, "Content-Type: "+in+"\r\n")},
			"request":          {"; charset=" + charset, fmt.Sprintf(file, "") + fmt.Sprintf(field, "note", "", pickle)},
			"request, a file":  {"; charset=" + charset, fmt.Sprintf(file, "")},
			"request in front": {"charset=" + charset + "; ", fmt.Sprintf(file, "")},
		} {
			kind := "multipart/form-data; boundary=BB" + tc.kind
			if strings.HasSuffix(tc.kind, " ") {
				kind = "multipart/form-data; " + tc.kind + "boundary=BB"
			}
			if res, text := ask(t, "POST", s.URL, kind, strings.NewReader(tc.body+"--BB--\r\n")); res.StatusCode != status {
				t.Errorf("%s in %s: %d, %s", what, charset, res.StatusCode, text)
			}
		}
		if res, text := ask(t, "PUT", s.URL+"/a.safetensors", in, strings.NewReader(honest(5))); res.StatusCode != status && !strings.Contains(charset, ";") {
			t.Errorf("a body in %s: %d, %s", charset, res.StatusCode, text)
		}
	}
	for _, tc := range []struct {
		name, value string
		status      int
	}{
		{"_charset_", "utf-8", 200}, {"_charset_", "UTF-8", 200}, {"_charset_", "utf-7", 400}, {"_charset_", "", 400}, {"_charset_", "us-ascii", 400}, {"_charset_", "utf-8\r\n", 400}, {"_CHARSET_", "utf-7", 400},
		{`_charset_"; filename="x.txt`, "utf-7", 400}, {"charset", "utf-7", 200},
	} {
		for _, body := range []string{fmt.Sprintf(field, tc.name, "", tc.value) + fmt.Sprintf(file, ""), fmt.Sprintf(file, "") + fmt.Sprintf(field, tc.name, "", tc.value)} {
			if res, text := ask(t, "POST", s.URL, "multipart/form-data; boundary=BB", strings.NewReader(body+"--BB--\r\n")); res.StatusCode != tc.status {
				t.Errorf("%s=%s: %d, %s", tc.name, tc.value, res.StatusCode, text)
			}
		}
	}
	letters := fmt.Sprintf(field, "note", "Content-Type: text/plain; charset=%s\r\n", "\u00e9 = 1")
	for charset, status := range map[string]int{"utf-8": 200, "us-ascii": 400} {
		if res, text := ask(t, "POST", s.URL, "multipart/form-data; boundary=BB", strings.NewReader(fmt.Sprintf(file, "")+fmt.Sprintf(letters, charset)+"--BB--\r\n")); res.StatusCode != status {
			t.Errorf("letters in %s: %d, %s", charset, res.StatusCode, text)
		}
		if res, text := ask(t, "POST", s.URL, "multipart/form-data; boundary=BB; charset="+charset, strings.NewReader(strings.Replace(fmt.Sprintf(file, ""), "a.saf", "\u00e9.saf", 1)+"--BB--\r\n")); res.StatusCode != status {
			t.Errorf("a name in %s: %d, %s", charset, res.StatusCode, text)
		}
	}
	for _, name := range []string{"handler+AC4-py", "..+AC8-..+AC8-x", "+AC8-etc+AC8-x", "config.json+AAA-"} {
		body := "--BB\r\nContent-Disposition: form-data; name=\"file\"; filename=\"" + name + "\"\r\n\r\n" + honest(5) + "\r\n--BB--\r\n"
		if res, text := ask(t, "POST", s.URL, "multipart/form-data; boundary=BB; charset=utf-7", strings.NewReader(body)); res.StatusCode != 400 {
			t.Errorf("%s: %d, %s", name, res.StatusCode, text)
		}
	}
}

// A name is a token or in double quotes, and all readers see the same name.
func TestQuotedNamesOfForms(t *testing.T) {
	s, _, _ := serve(t, handler.Options{})
	for disposition, status := range map[string]int{
		`name="file"; filename="a.safetensors"`: 200, `name=file; filename=a.safetensors`: 200, `name=file;filename=a.safetensors`: 200, `filename="a.safetensors"; name="file"`: 200,
		`name="it's"; filename="it's a (1) + 'b' & c.safetensors"`: 200, `name="a[b]"; filename="x/a.safetensors"`: 200, `name="file"; filename=""`: 200,

		`name="file"; filename='a.safetensors'`: 400, `name='file'; filename="a.safetensors"`: 400, `name="file"; filename="'a.safetensors'"`: 400, `name="'file'"; filename="a.safetensors"`: 400,
		`name="file"; filename='a.safetensors`: 400, `name="file"; filename=a.safetensors'`: 400, `name="file"; filename="a.safetensors'"`: 400, `name="file"; filename='a;b'`: 400,
		`name="file"; filename=<a.safetensors>`: 400, `name="<file>"; filename="a.safetensors"`: 400, "name=\"file\"; filename=`a.safetensors`": 400, `name="file"; filename=(a.safetensors)`: 400,
		`name="file"; filename="a.safetensors"x`: 400, `name="file"; filename="a"".safetensors"`: 400, `name="file"; filename="a\.safetensors"`: 400, `name="file"; filename="a.safetensors\"`: 400,
		`name="file"; filename="a.safetensors`: 400, `name="file"; filename=`: 400, `name="file"; filename`: 400, `name="file"; filename = "a.safetensors"`: 400, `name="file"; filename=a.safetensors;`: 400,
		`name="file"; FILENAME="a.safetensors"`: 400, `NAME="file"; filename="a.safetensors"`: 400, `name="file"; filename="a"; filename="b"`: 400, `name="file"; name="g"; filename="a"`: 400, `filename="a"`: 400,
		`name=""; filename="a"`: 400, `name=" file"; filename="a"`: 400, `name="=?utf-8?q?f?="; filename="a"`: 400, `name="f\x"; filename="a"`: 400, "name=\"f\xff\"; filename=\"a\"": 400, `name="file"; filename=é`: 400,
		`name="file", filename="a"`: 400, `name="file" filename="a"`: 400, `name="file";; filename="a"`: 400, `name="file"; filename=a%2fb`: 400,
	} {
		body := "--BB\r\nContent-Disposition: form-data; " + disposition + "\r\n\r\n" + honest(5) + "\r\n--BB--\r\n"
		if res, text := ask(t, "POST", s.URL, "multipart/form-data; boundary=BB", strings.NewReader(body)); res.StatusCode != status {
			t.Errorf("%s: %d, %s", disposition, res.StatusCode, text)
		}
	}
	for _, kind := range []string{"form-datax", "Form-Data", "attachment", ""} {
		body := "--BB\r\nContent-Disposition: " + kind + "; name=\"file\"; filename=\"a.safetensors\"\r\n\r\n" + honest(5) + "\r\n--BB--\r\n"
		if res, text := ask(t, "POST", s.URL, "multipart/form-data; boundary=BB", strings.NewReader(body)); res.StatusCode != 400 {
			t.Errorf("%s: %d, %s", kind, res.StatusCode, text)
		}
	}
	for list, status := range map[string]int{
		`attachment; filename="a.safetensors"`: 200, `attachment; filename=a.safetensors`: 200, `attachment`: 200, `attachment; filename='a.safetensors'`: 400, `attachment; filename="a.safetensors"; filename*=utf-8''b.py`: 400,
		`attachment; filename="a\.py"`: 400, "attachment; filename=a.safetensors\nattachment; filename=b.py": 400, "": 400,
	} {
		r, err := http.NewRequestWithContext(t.Context(), "PUT", s.URL, strings.NewReader(honest(5)))
		if err != nil {
			t.Fatal(err)
		}
		r.Header["Content-Disposition"] = strings.Split(list, "\n")
		res, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		res.Body.Close()
		if res.StatusCode != status {
			t.Errorf("a body with %q: %d", list, res.StatusCode)
		}
	}
}

// A body is taken as it is.
func TestBodiesAreNotEncoded(t *testing.T) {
	s, _, _ := serve(t, handler.Options{})
	for encoding, status := range map[string]int{"binary": 200, "8bit": 200, "base64": 400, "quoted-printable": 400, "": 400} {
		r, err := http.NewRequestWithContext(t.Context(), "PUT", s.URL+"/a.safetensors", strings.NewReader(honest(5)))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Content-Transfer-Encoding", encoding)
		res, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		res.Body.Close()
		if res.StatusCode != status {
			t.Errorf("%q: %d", encoding, res.StatusCode)
		}
	}
}

// A mux redirects a path that is not clean, and a redirect is not a verdict about the upload.
func TestExact(t *testing.T) {
	_, h, _ := serve(t, handler.Options{})
	mux := http.NewServeMux()
	mux.Handle("/v1/check", h)
	for path, status := range map[string]int{"/v1/check": 403, "//v1/check": 404, "/v1//check": 404, "/v1/./check": 404, "/x/../v1/check": 404, "/v1/check/": 404, "/v1/check/.": 404, "/v1/check//": 404, "/v1/%2e/check": 404, "//": 404, "/": 404} {
		w := httptest.NewRecorder()
		handler.Exact(mux).ServeHTTP(w, httptest.NewRequest("PUT", "http://x"+path, strings.NewReader(evil)))
		if w.Code != status {
			t.Errorf("%s: %d", path, w.Code)
		}
	}
	w := httptest.NewRecorder()
	handler.Exact(nil).ServeHTTP(w, httptest.NewRequest("PUT", "/v1/check", strings.NewReader(evil)))
	if w.Code < 400 {
		t.Errorf("no handler: %d", w.Code)
	}
}
