package remote_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/anamnesis-go/anamnesis/cli"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
	"github.com/anamnesis-go/anamnesis/remote"
)

// run runs the program with arguments; it may reach private addresses.
func run(t *testing.T, o remote.Options, args ...string) (code int, out, errs string) {
	t.Helper()
	o.AllowPrivate = true
	var stdout, stderr bytes.Buffer
	code = cli.Main(t.Context(), args, cli.Stdio{
		Out: &stdout, Err: &stderr,
		Remote: func(_ context.Context, b *limits.Budget, address string) (tensor.Model, error) {
			return remote.Open(b, address, o)
		},
		RemoteFiles: func(_ context.Context, b *limits.Budget, address string) (fs.FS, string, error) {
			return remote.Files(b, address, o)
		},
	})
	return code, stdout.String(), stderr.String()
}

// A store is a hub that has files under exactly their names, as a URL names them once it is
// unescaped, and that lists the given names.
type store struct {
	*httptest.Server

	files   map[string][]byte
	listing string // of siblings; "" for all files with their sizes

	mu    sync.Mutex
	asked []string
}

func newStore(t *testing.T, files map[string][]byte) *store {
	s := &store{files: files}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		s.asked = append(s.asked, r.URL.EscapedPath())
		s.mu.Unlock()
		if strings.HasPrefix(r.URL.Path, "/api/models/me/model/revision/") {
			list := s.listing
			if list == "" {
				for name, data := range s.files {
					text, _ := json.Marshal(name)
					list += fmt.Sprintf(`{"rfilename":%s,"size":%d},`, text, len(data))
				}
				list = `"siblings":[` + strings.TrimSuffix(list, ",") + `]`
			}
			fmt.Fprintf(w, `{"sha":%q,%s}`, sha, list)
			return
		}
		data, ok := s.files[strings.TrimPrefix(r.URL.Path, "/me/model/resolve/"+sha+"/")]
		if !ok {
			http.NotFound(w, r)
			return
		}
		serve(w, r, data)
	}))
	t.Cleanup(s.Close)
	return s
}

// The name is the one that the index gives, with its percent sign: huggingface_hub asks for
// model%252D00001.bin, and so do we. The file that an unescaped name would lead to is harmless.
func TestANameWithAnEscapeIsTheFileThatClientsLoad(t *testing.T) {
	evil, good := []byte("cposix\nsystem\n(S'true'\ntR."), []byte("(S'aaaaaaaaaaaaaaaaaaaa't.")
	if len(good) != len(evil) {
		t.Fatalf("%d and %d bytes", len(good), len(evil))
	}
	for _, name := range []string{"model%2D00001.bin", "model%2d00001.bin", "%6dodel-00001.bin", "model-00001%2Ebin"} {
		s := newStore(t, map[string][]byte{
			name: evil, "model-00001.bin": good,
			"pytorch_model.bin.index.json": fmt.Appendf(nil, `{"metadata":{},"weight_map":{"a":%q}}`, name),
		})
		if code, out, errs := run(t, remote.Options{Hub: s.URL}, "scan", "hf://me/model"); code != 7 {
			t.Errorf("%s: exit %d, want 7\n%s%s", name, code, out, errs)
		}
		want := "/me/model/resolve/" + sha + "/" + strings.ReplaceAll(name, "%", "%25")
		if !slices.Contains(s.asked, want) {
			t.Errorf("%s was not requested: %q", want, s.asked)
		}
	}
}

// hostileNames are names that two clients, or two systems, take for different files.
var hostileNames = []string{
	"", ".", "..", "../x.bin", "a/../x.bin", "a/./x.bin", "a//x.bin", "/x.bin", "x.bin/", `..\x.bin`, `a\x.bin`, "a\x00.bin", "a\n.bin", "a\x7f.bin",
	"a\u0085.bin", "C:x.bin", "c:/x.bin", strings.Repeat("a", 5000), strings.Repeat("a/", 70) + "x",
}

func TestNamesThatClientsTakeForOtherFilesAreRefused(t *testing.T) {
	for _, name := range hostileNames {
		text, _ := json.Marshal(name)
		s := newStore(t, map[string][]byte{"ok.txt": []byte("hello")})
		s.listing = fmt.Sprintf(`"siblings":[{"rfilename":"ok.txt","size":5},{"rfilename":%s,"size":5}]`, text)
		if code, _, errs := run(t, remote.Options{Hub: s.URL}, "scan", "hf://me/model"); code == 0 || len(s.asked) != 1 {
			t.Errorf("hub, %q: exit %d after %q: %s", name, code, s.asked, errs)
		}
		if name == "" {
			continue // a layer without a title is named by its digest
		}
		a := newRegistry(t, "team/llama", func(_ string, l *layer) { titled(name, l) }, "tiny.gguf")
		if code, _, errs := run(t, a.options(), "scan", "oci://"+a.host()+"/team/llama"); code == 0 {
			t.Errorf("registry, %q: exit 0: %s", name, errs)
		}
	}
}

// The files of an artifact and of a repository are written under their names: on a system that
// ignores case, or takes a name for another one, one of two is there, and not the one that was
// judged. Names that are only unusual are taken.
func TestNamesThatAreOneOnSomeSystemAreRefused(t *testing.T) {
	for _, c := range []struct {
		names []string
		want  bool
	}{
		{[]string{"config.json", "notes/a.md"}, true}, {[]string{"x%2Edata", "y%2Edata"}, true}, {[]string{"runs/12:30:05.md", "notes/what?.md"}, true}, {[]string{"r\u00e9sum\u00e9.md", "a&b.md"}, true},
		{[]string{"a.md", "A.MD"}, false}, {[]string{"x/a.md", "X/b.md"}, false}, {[]string{"\u00e9.md", "e\u0301.md"}, false}, {[]string{"con"}, false}, {[]string{"x/Nul.md"}, false},
		{[]string{".git./config"}, false}, {[]string{".git /config"}, false}, {[]string{".git::$INDEX_ALLOCATION/config"}, false}, {[]string{".git\u200c/config"}, false}, {[]string{".git/conf\u200cig"}, false},
		{[]string{"a.md::$DATA"}, false}, {[]string{"a.md:"}, false}, {[]string{"a.md."}, false}, {[]string{"a.md "}, false}, {[]string{"a\uff0emd"}, false},
	} {
		files, a := map[string][]byte{}, newRegistry(t, "team/llama", titled, "tiny.gguf")
		var layers []string
		for i, name := range c.names {
			text := fmt.Appendf(nil, "# Notes %d\n", i)
			if strings.HasSuffix(name, ".json") {
				text = []byte("{}")
			}
			title, _ := json.Marshal(name)
			files[name], a.blobs[digest(text)] = text, text
			layers = append(layers, fmt.Sprintf(`{"mediaType":"text/plain","digest":%q,"size":%d,"annotations":{"org.opencontainers.image.title":%s}}`, digest(text), len(text), title))
		}
		a.manifests["latest"] = []byte(`{"schemaVersion":2,"layers":[` + strings.Join(layers, ",") + `]}`)
		s := newStore(t, files)
		for address, o := range map[string]remote.Options{"hf://me/model": {Hub: s.URL}, "oci://" + a.host() + "/team/llama": a.options()} {
			o.AllowPrivate = true
			_, _, err := remote.Files(limits.Policy{}.Budget(t.Context()), address, o)
			if (err == nil) != c.want {
				t.Errorf("%s, %q: %v", address, c.names, err)
			}
		}
		if code, _, errs := run(t, remote.Options{Hub: s.URL}, "scan", "hf://me/model"); !c.want && (code == 0 || len(s.asked) != 2) {
			t.Errorf("%q: exit %d after %q: %s", c.names, code, s.asked, errs)
		}
	}
}

// A title of an ill-formed text is no name either.
func TestNamesWithInvalidUTF8AreRefused(t *testing.T) {
	for _, text := range []string{`"a\ud800.bin"`, "\"a\xff.bin\"", `"a\u0000.bin"`} {
		s := newStore(t, nil)
		s.listing = `"siblings":[{"rfilename":` + text + `,"size":5}]`
		if code, _, errs := run(t, remote.Options{Hub: s.URL}, "scan", "hf://me/model"); code == 0 || len(s.asked) != 1 {
			t.Errorf("%q: exit %d: %s", text, code, errs)
		}
	}
}

func TestAddressesWithDotSegmentsAreRefused(t *testing.T) {
	s := newStore(t, map[string][]byte{"a": nil})
	for _, address := range []string{
		"hf://o/r@..", "hf://o/r@.", "hf://o/r@", "hf://o/r@a\x00", `hf://o/r@a\b`, "hf://../r", "hf://o/..", "hf://o/a..b", "hf://o%2Fx/r", "hf://o/r@main/../x",
		s.URL + "/a/../b", s.URL + "/a/%2e%2e/b", s.URL + "/./b", s.URL + "//b", s.URL + "/a%2Fb", s.URL + "/a%5Cb", s.URL + "/a%00b", s.URL + "/%61", s.URL + "/a%ffb",
		s.URL + `/a\b`, "s3://bucket/../x", "s3://bucket/a/../x", "s3://bucket/a//x", "s3://bucket/./x", "oci://host/a:..", "oci://host/a:.b", "oci://host/a:b%2F",
	} {
		if code, _, errs := run(t, remote.Options{Hub: s.URL, S3: remote.S3{Endpoint: s.URL}}, "scan", address); code != 7 {
			t.Errorf("%q: exit %d, want 7: %s", address, code, errs)
		}
	}
	if len(s.asked) > 0 {
		t.Errorf("requested: %q", s.asked)
	}
}

// Clients differ in which of two members they take; those written in Go do not mind case.
func TestAnswersThatClientsReadDifferentlyAreRefused(t *testing.T) {
	file := `{"rfilename":"a.txt","size":1}`
	for name, listing := range map[string]string{
		"two lists":           `"siblings":[` + file + `],"siblings":[]`,
		"a list in capitals":  `"siblings":[` + file + `],"SIBLINGS":[]`,
		"only in capitals":    `"Siblings":[` + file + `]`,
		"two names":           `"siblings":[{"rfilename":"a.txt","rfilename":"b.txt","size":1}]`,
		"a name in capitals":  `"siblings":[{"rfilename":"a.txt","rFilename":"b.txt","size":1}]`,
		"a long s":            `"siblings":[{"rfilename":"a.txt","size":1,"\u017fize":2}]`,
		"two commits":         `"sha":"` + sha + `","siblings":[` + file + `]`,
		"no size":             `"siblings":[{"rfilename":"a.txt"}]`,
		"a size of text":      `"siblings":[{"rfilename":"a.txt","size":"1"}]`,
		"two sizes":           `"siblings":[{"rfilename":"a.txt","size":1,"lfs":{"sha256":"` + strings.Repeat("0", 64) + `","size":2}}]`,
		"a digest that is no": `"siblings":[{"rfilename":"a.txt","size":1,"blobId":"00"}]`,
		"no name":             `"siblings":[{"size":1}]`,
	} {
		s := newStore(t, map[string][]byte{"a.txt": []byte("x"), "b.txt": []byte("x")})
		s.listing = listing
		if code, _, errs := run(t, remote.Options{Hub: s.URL}, "scan", "hf://me/model"); code == 0 || len(s.asked) != 1 {
			t.Errorf("hub, %s: exit %d: %s", name, code, errs)
		}
	}
	a := newRegistry(t, "team/llama", titled, "tiny.gguf", "checkpoint.pt")
	text := string(a.manifests["latest"])
	at := strings.Index(text, `"layers":`)
	layers := text[at+len(`"layers":`) : len(text)-1]
	for name, manifest := range map[string]string{
		"as it is":              text,
		"layers in capitals":    text[:len(text)-1] + `,"LAYERS":[]}`,
		"layers twice":          text[:len(text)-1] + `,"layers":[]}`,
		"layers and a list":     text[:len(text)-1] + `,"manifests":[]}`,
		"an empty list":         text[:len(text)-1] + `,"blobs":[]}`,
		"nothing":               `{"schemaVersion":2}`,
		"of another type":       `{"mediaType":"application/vnd.oci.image.index.v1+json","layers":` + layers + `}`,
		"of version 1":          `{"schemaVersion":1,"layers":` + layers + `}`,
		"a title in capitals":   strings.Replace(text, `"org.opencontainers.image.title":"tiny.gguf"`, `"org.opencontainers.image.title":"tiny.gguf","org.opencontainers.image.Title":"x.txt"`, 1),
		"two titles":            strings.Replace(text, `"org.opencontainers.image.title":"tiny.gguf"`, `"org.opencontainers.image.title":"tiny.gguf","org.opencontainers.image.title":"x.txt"`, 1),
		"titles of two clients": strings.Replace(text, `"org.opencontainers.image.title":"tiny.gguf"`, `"org.opencontainers.image.title":"tiny.gguf","org.cncf.model.filepath":"x.txt"`, 1),
		"two digests":           strings.Replace(text, `"digest":`, `"Digest":"sha256:00","digest":`, 2),
		"more after its end":    text + "{}",
	} {
		a.manifests["latest"] = []byte(manifest)
		want := strings.HasPrefix(name, "as it")
		if code, _, errs := run(t, a.options(), "parse", "oci://"+a.host()+"/team/llama#tiny.gguf"); (code == 0) != want {
			t.Errorf("registry, %s: exit %d: %s", name, code, errs)
		}
	}
}

func TestListingsOfBucketsThatClientsReadDifferentlyAreRefused(t *testing.T) {
	const object = "<Contents><Key>all/a.txt</Key><Size>1</Size></Contents>"
	for name, c := range map[string]struct {
		page string
		want bool
	}{
		"as it is":                       {object, true},
		"with what is not read":          {"<Name>models</Name><Contents><Key>all/a.txt</Key><Size>1</Size><Owner><ID>x</ID><DisplayName>x</DisplayName></Owner></Contents>", true},
		"two keys":                       {"<Contents><Key>all/a.txt</Key><Key>all/b.txt</Key><Size>1</Size></Contents>", false},
		"two sizes":                      {"<Contents><Key>all/a.txt</Key><Size>1</Size><Size>2</Size></Contents>", false},
		"an element in a key":            {"<Contents><Key>all/a<x/>.txt</Key><Size>1</Size></Contents>", false},
		"another object in another case": {object + "<contents><Key>all/b.txt</Key><Size>1</Size></contents>", false},
		"a key in another case":          {"<Contents><Key>all/a.txt</Key><key>all/b.txt</key><Size>1</Size></Contents>", false},
		"truncated in another case":      {object + "<isTruncated>true</isTruncated>", false},
		"a comment in a key":             {"<Contents><Key>all/a<!-- x -->.txt</Key><Size>1</Size></Contents>", false},
		"a comment before all":           {"<!-- x -->" + object, true},
		"no size":                        {"<Contents><Key>all/a.txt</Key></Contents>", false},
		"no key":                         {"<Contents><Size>1</Size></Contents>", false},
		"truncated twice":                {object + "<IsTruncated>false</IsTruncated><IsTruncated>true</IsTruncated>", false},
		"truncated somehow":              {object + "<IsTruncated>TRUE</IsTruncated>", false},
		"encoded keys":                   {object + "<EncodingType>url</EncodingType>", false},
		"cut without a token":            {object + "<IsTruncated>true</IsTruncated>", false},
		"deep":                           {strings.Repeat("<a>", 100) + strings.Repeat("</a>", 100) + object, false},
		"not ended":                      {object + "<Contents>", false},
		"a percent sign":                 {"<Contents><Key>all/a%2Etxt</Key><Size>1</Size></Contents>", false}, // no such file
	} {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			switch r.URL.Path {
			case "/models":
				fmt.Fprint(w, "<ListBucketResult>"+c.page+"</ListBucketResult>")
			case "/models/all/a.txt":
				serve(w, r, []byte("x"))
			default:
				http.NotFound(w, r)
			}
		}))
		code, _, errs := run(t, remote.Options{S3: remote.S3{Endpoint: s.URL}}, "scan", "s3://models/all/")
		if ok := code == 0 || code == 5; ok != c.want {
			t.Errorf("%s: exit %d: %s", name, code, errs)
		}
		s.Close()
	}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, `<!DOCTYPE x [<!ENTITY e "all/a.txt">]><ListBucketResult><Contents><Key>&e;</Key><Size>1</Size></Contents></ListBucketResult>`)
	}))
	defer s.Close()
	if code, _, errs := run(t, remote.Options{S3: remote.S3{Endpoint: s.URL}}, "scan", "s3://models/all/"); code != 3 {
		t.Errorf("an entity: exit %d: %s", code, errs)
	}
}
