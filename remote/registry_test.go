package remote_test

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/anamnesis-go/anamnesis/remote"
)

// An artifact is what a registry holds: manifests by tag and by digest, blobs by digest.
type artifact struct {
	*httptest.Server

	manifests map[string][]byte
	blobs     map[string][]byte
	elsewhere string // where blobs are redirected to
	stated    string // the digest that a header states

	mu    sync.Mutex
	asked []*http.Request
}

func digest(data []byte) string { return fmt.Sprintf("sha256:%x", sha256.Sum256(data)) }

type layer struct {
	MediaType   string            `json:"mediaType"`
	Digest      string            `json:"digest"`
	Size        int               `json:"size"`
	Annotations map[string]string `json:"annotations,omitempty"`
}

// newRegistry serves files under a repository, to those who bring the token that name
// and password get.
func newRegistry(t *testing.T, repository string, layers func(name string, l *layer), files ...string) *artifact {
	a := &artifact{manifests: map[string][]byte{}, blobs: map[string][]byte{}}
	m := struct {
		SchemaVersion int     `json:"schemaVersion"`
		MediaType     string  `json:"mediaType"`
		Config        layer   `json:"config"`
		Layers        []layer `json:"layers"`
	}{SchemaVersion: 2, MediaType: "application/vnd.oci.image.manifest.v1+json"}
	config := []byte("{}")
	a.blobs[digest(config)] = config
	m.Config = layer{MediaType: "application/vnd.oci.empty.v1+json", Digest: digest(config), Size: len(config)}
	for _, f := range files {
		data, err := os.ReadFile(filepath.Join(demo, f))
		if err != nil {
			t.Fatal(err)
		}
		l := layer{MediaType: "application/octet-stream", Digest: digest(data), Size: len(data)}
		layers(filepath.Base(f), &l)
		a.blobs[l.Digest] = data
		m.Layers = append(m.Layers, l)
	}
	text, _ := json.Marshal(m)
	a.manifests["latest"], a.manifests[digest(text)] = text, text
	a.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { a.answer(w, r, repository) }))
	t.Cleanup(a.Close)
	return a
}

func (a *artifact) answer(w http.ResponseWriter, r *http.Request, repository string) {
	a.mu.Lock()
	a.asked = append(a.asked, r)
	a.mu.Unlock()
	if r.URL.Path == "/token" {
		if name, password, _ := r.BasicAuth(); name != "me" || password != "secret" || r.URL.Query().Get("scope") != "repository:"+repository+":pull" {
			http.Error(w, "", http.StatusForbidden)
			return
		}
		fmt.Fprint(w, `{"token":"abc"}`)
		return
	}
	if r.Header.Get("Authorization") != "Bearer abc" {
		w.Header().Set("WWW-Authenticate", fmt.Sprintf(`Bearer realm="%s/token",service="here",scope="repository:%s:pull"`, a.URL, repository))
		http.Error(w, "", http.StatusUnauthorized)
		return
	}
	rest := strings.TrimPrefix(r.URL.Path, "/v2/"+repository+"/")
	if m, ok := a.manifests[strings.TrimPrefix(rest, "manifests/")]; ok {
		if a.stated != "" {
			w.Header().Set("Docker-Content-Digest", a.stated)
		}
		w.Write(m)
		return
	}
	blob, ok := a.blobs[strings.TrimPrefix(rest, "blobs/")]
	switch {
	case !ok:
		http.NotFound(w, r)
	case a.elsewhere != "":
		http.Redirect(w, r, a.elsewhere, http.StatusTemporaryRedirect)
	default:
		serve(w, r, blob)
	}
}

func (a *artifact) options() remote.Options {
	return remote.Options{AllowPrivate: true, Login: func(context.Context, string) (string, string, error) { return "me", "secret", nil }}
}

func (a *artifact) host() string { return strings.TrimPrefix(a.URL, "http://") }

func titled(name string, l *layer) {
	l.Annotations = map[string]string{"org.opencontainers.image.title": name}
}

func TestModelsOfARegistry(t *testing.T) {
	a := newRegistry(t, "team/llama", titled, "tiny.gguf")
	for _, name := range []string{"", ":latest", "@" + digest(a.manifests["latest"]), "#tiny.gguf"} {
		m, err := open(t, "oci://"+a.host()+"/team/llama"+name, a.options())
		if err != nil {
			t.Errorf("%q: %v", name, err)
			continue
		}
		if m.Len() != 4 {
			t.Errorf("%q: %d tensors", name, m.Len())
		}
	}
	sharded := newRegistry(t, "team/llama", titled, "sharded/model.safetensors.index.json", "sharded/model-00001-of-00002.safetensors", "sharded/model-00002-of-00002.safetensors")
	if m, err := open(t, "oci://"+sharded.host()+"/team/llama", sharded.options()); err != nil || m.Len() != 24 {
		t.Errorf("sharded: %v", err)
	}
	docker := newRegistry(t, "ai/llama", func(_ string, l *layer) { l.MediaType = "application/vnd.docker.ai.gguf.v3" }, "tiny.gguf")
	if m, err := open(t, "oci://"+docker.host()+"/ai/llama", docker.options()); err != nil || m.Len() != 4 {
		t.Errorf("a model of Docker's runner: %v", err)
	}
	store := newRegistry(t, "library/tiny", func(_ string, l *layer) { l.MediaType = "application/vnd.ollama.image.model" }, "tiny.gguf")
	if m, err := open(t, "ollama://"+store.host()+"/library/tiny", store.options()); err != nil || m.Len() != 4 {
		t.Errorf("a model of ollama's registry: %v", err)
	}
}

func TestRegistriesThatLie(t *testing.T) {
	for name, c := range map[string]struct {
		spoil func(a *artifact)
		at    string
		says  string
	}{
		"another manifest": {func(a *artifact) {
			for tag := range a.manifests {
				a.manifests[tag] = append(a.manifests[tag], ' ')
			}
		}, "@", "another digest"},
		"a digest that leads away": {func(a *artifact) {
			a.manifests["latest"] = []byte(`{"layers":[{"digest":"sha256:../../x","size":1}]}`)
		}, "", "not a SHA-256"},
		"a negative size": {func(a *artifact) {
			a.manifests["latest"] = []byte(`{"layers":[{"digest":"` + digest(nil) + `","size":-1,"annotations":{"org.opencontainers.image.title":"a.gguf"}}]}`)
		}, "", "a negative size"},
		"two manifests": {func(a *artifact) { a.manifests["latest"] = []byte(`{"manifests":[{},{}]}`) }, "", "an index of 2 manifests"},
		"a shorter file": {func(a *artifact) {
			for d, blob := range a.blobs {
				if len(blob) > 100 {
					a.blobs[d] = blob[:len(blob)-1]
				}
			}
		}, "", "changed"},
	} {
		t.Run(name, func(t *testing.T) {
			a := newRegistry(t, "team/llama", titled, "tiny.gguf")
			at := c.at
			if at == "@" {
				at += digest(a.manifests["latest"])
			}
			c.spoil(a)
			if _, err := open(t, "oci://"+a.host()+"/team/llama"+at, a.options()); err == nil || !strings.Contains(err.Error(), c.says) {
				t.Errorf("%v, want %q", err, c.says)
			}
		})
	}
}

// Name and password are sent only to the registry's own token service, and a token only to its
// registry.
func TestSecretsOfARegistryStayThere(t *testing.T) {
	stranger := newRegistry(t, "x/y", titled, "tiny.gguf")
	a := newRegistry(t, "team/llama", titled, "tiny.gguf")
	a.elsewhere = strings.Replace(stranger.URL, "127.0.0.1", "localhost", 1) + "/blob"
	if _, err := open(t, "oci://"+a.host()+"/team/llama", a.options()); !errors.Is(err, remote.ErrForbidden) {
		t.Errorf("a redirect to a stranger: %v", err)
	}
	o := a.options()
	o.Redirects = []string{"localhost"}
	_, _ = open(t, "oci://"+a.host()+"/team/llama", o)
	if len(stranger.asked) == 0 {
		t.Fatal("the redirect was not followed")
	}
	for _, r := range stranger.asked {
		if r.Header.Get("Authorization") != "" {
			t.Error("another host got the token")
		}
	}
	phish := newRegistry(t, "x/y", titled, "tiny.gguf")
	phish.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("WWW-Authenticate", `Bearer realm="`+strings.Replace(stranger.URL, "127.0.0.1", "localhost", 1)+`/token"`)
		http.Error(w, "", http.StatusUnauthorized)
	})
	stranger.asked = nil
	if _, err := open(t, "oci://"+phish.host()+"/x/y", a.options()); err == nil {
		t.Error("a token was given without a password")
	}
	if len(stranger.asked) == 0 || stranger.asked[0].Header.Get("Authorization") != "" {
		t.Error("a stranger's service of tokens got the password")
	}
}

func TestNamesOfArtifactsThatAreRefused(t *testing.T) {
	for _, address := range []string{
		"oci://", "oci://host", "oci://host/", "oci://host/../x", "oci://host/a//b", "oci://user:pw@host/a", "oci://host/a?x", "oci://127.0.0.1/a",
		"oci://localhost/a", "oci://10.0.0.1:5000/a", "oci://host/a:t/u",
	} {
		if _, err := open(t, address, remote.Options{}); !errors.Is(err, remote.ErrForbidden) {
			t.Errorf("%s: %v", address, err)
		}
	}
}

// The password that docker login stored for one port of a host is not sent to another port, and
// that of a host without a port not to one with a port.
func TestAPasswordIsSentOnlyToItsPort(t *testing.T) {
	var got []string
	other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		got = append(got, r.Header.Get("Authorization"))
		fmt.Fprint(w, `{"token":"abc"}`)
	}))
	defer other.Close()
	for name, stored := range map[string]string{"own": "", "of the host": "127.0.0.1", "of the other": strings.TrimPrefix(other.URL, "http://")} {
		got = nil
		a := newRegistry(t, "team/llama", titled, "tiny.gguf")
		inner := a.Config.Handler
		a.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Header.Get("Authorization") == "" {
				w.Header().Set("WWW-Authenticate", `Bearer realm="`+other.URL+`/token"`)
				http.Error(w, "", http.StatusUnauthorized)
				return
			}
			if r.Header.Get("Authorization") != "Bearer abc" {
				t.Errorf("%s: the registry got %q", name, r.Header.Get("Authorization"))
			}
			inner.ServeHTTP(w, r)
		})
		dir := t.TempDir()
		if stored == "" {
			stored = a.host()
		}
		write(t, filepath.Join(dir, "config.json"), fmt.Appendf(nil, `{"auths":{%q:{"auth":"bWU6c2VjcmV0"}}}`, stored))
		t.Setenv("DOCKER_CONFIG", dir)
		o := remote.FromEnv()
		o.AllowPrivate = true
		if _, err := open(t, "oci://"+a.host()+"/team/llama", o); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if len(got) != 1 || got[0] != "" {
			t.Errorf("%s: the other port got %q", name, got)
		}
	}
}

// A client may take the data that a descriptor embeds in place of the blob.
func TestDataOfADescriptorIsItsContent(t *testing.T) {
	a := newRegistry(t, "team/llama", titled, "tiny.gguf")
	text := string(a.manifests["latest"])
	content, err := os.ReadFile(filepath.Join(demo, "tiny.gguf"))
	if err != nil {
		t.Fatal(err)
	}
	other := append([]byte(nil), content...)
	other[len(other)-1] ^= 1
	whole := base64.StdEncoding.EncodeToString(content)
	at := strings.LastIndex(text, `"digest":`) // of the layer
	for name, c := range map[string]struct {
		data string
		want string // "" for a model
	}{
		"the content":         {`"` + whole + `"`, ""},
		"null":                {`null`, ""},
		"other content":       {`"` + base64.StdEncoding.EncodeToString(other) + `"`, "embeds data of another digest"},
		"less":                {`"` + base64.StdEncoding.EncodeToString(content[:30]) + `"`, "and embeds 30"},
		"nothing":             {`""`, "and embeds 0"},
		"a line break":        {`"` + whole[:8] + `\n` + whole[8:] + `"`, "not base64"},
		"the other alphabet":  {`"` + base64.URLEncoding.EncodeToString([]byte{0xff, 0xef, 0xff}) + `"`, "not base64"},
		"bits behind the end": {`"AB=="`, "not base64"},
		"no text":             {`[1]`, "string"},
	} {
		a.manifests["latest"] = []byte(text[:at] + `"data":` + c.data + "," + text[at:])
		m, err := open(t, "oci://"+a.host()+"/team/llama", a.options())
		switch {
		case c.want == "" && (err != nil || m.Len() != 4):
			t.Errorf("%s: %v", name, err)
		case c.want != "" && err == nil:
			t.Errorf("%s is passed over", name)
		case c.want != "" && !strings.Contains(err.Error(), c.want):
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
	for _, manifest := range []string{
		text[:at] + `"DATA":"AAAA",` + text[at:],
		`{"layers":[{"digest":"sha512:` + strings.Repeat("0", 128) + `","size":3,"data":"AAAA"}]}`,
		`{"manifests":[{"digest":"` + digest([]byte(text)) + `","size":3,"data":"AAAA"}]}`,
	} {
		a.manifests["latest"], a.manifests[digest([]byte(text))] = []byte(manifest), []byte(text)
		if _, err := open(t, "oci://"+a.host()+"/team/llama", a.options()); err == nil {
			t.Errorf("%.60s is taken", manifest)
		}
	}
}

// Parts of an artifact that a client fetches besides its layers are judged like them, or refused.
func TestOtherPartsOfAnArtifactAreJudged(t *testing.T) {
	evil := []byte("\x80\x02cposix\nsystem\nX\x02\x00\x00\x00id\x85R.")
	described := func(mediaType, more string, content []byte) string {
		return fmt.Sprintf(`{"mediaType":%q,"digest":%q,"size":%d%s}`, mediaType, digest(content), len(content), more)
	}
	const any, config = "application/octet-stream", "application/vnd.cncf.model.config.v1+json"
	title := func(name string) string { return `,"annotations":{"org.opencontainers.image.title":"` + name + `"}` }
	other := []byte(`{"schemaVersion":2,"layers":[` + described(any, title("evil.pkl"), evil) + `]}`)
	model, err := os.ReadFile(filepath.Join(demo, "tiny.gguf"))
	if err != nil {
		t.Fatal(err)
	}
	good := described(any, title("tiny.gguf"), model)
	whole := func(members string) string { return `{"schemaVersion":2,` + members + `}` }
	plain := whole(`"layers":[` + good + `]`)
	list := func(more string) string {
		return whole(`"manifests":[` + described("application/vnd.oci.image.manifest.v1+json", more, []byte(plain)) + `]`)
	}
	const ociType = "application/vnd.oci.image.manifest.v1+json"
	note := []byte("# A model\n")
	spec := []byte(`{"descriptor":{"createdAt":"2025-01-01T00:00:00Z","name":"tiny","family":"llama"},"config":{"architecture":"transformer","format":"gguf","paramSize":"1b","precision":"f16"},"modelfs":{"type":"layers","diffIds":["` + digest(model) + `"]}}`)
	image := []byte(`{"architecture":"amd64","os":"linux","config":{"Env":["PATH=/usr/bin:/bin"],"Labels":{"a":"b"}},"rootfs":{"type":"layers","diff_ids":["` + digest(model) + `"]},"history":[{"created":"2025-01-01T00:00:00Z","created_by":"COPY tiny.gguf /"}]}`)
	refers := whole(`"subject":` + described(ociType, "", other) + `,"layers":[` + described(any, title("notes.md"), note) + `]`)
	for name, c := range map[string]struct {
		manifest string
		code     int    // of scan
		says     string // by open
	}{
		"a configuration":                     {whole(`"config":` + described(config, "", []byte("{}")) + `,"layers":[` + good + `]`), 0, ""},
		"none":                                {whole(`"config":null,"subject":null,"layers":[` + good + `]`), 0, ""},
		"one without a name that is code":     {whole(`"config":` + described(config, "", evil) + `,"layers":[` + good + `]`), 7, "-"},
		"one of an image that is code":        {whole(`"config":` + described("application/vnd.oci.image.config.v1+json", "", evil) + `,"layers":[` + good + `]`), 7, "-"},
		"one that embeds code":                {whole(`"config":` + described(config, `,"data":"`+base64.StdEncoding.EncodeToString(evil)+`"`, evil) + `,"layers":[` + good + `]`), 7, "-"},
		"that of a model specification":       {whole(`"config":` + described(config, "", spec) + `,"layers":[` + good + `]`), 0, ""},
		"that of an image":                    {whole(`"config":` + described("application/vnd.oci.image.config.v1+json", "", image) + `,"layers":[` + good + `]`), 0, ""},
		"one that the registry does not have": {whole(`"config":` + described(config, "", []byte("{ }")) + `,"layers":[` + good + `]`), 2, ""},
		"a named one that is code":            {whole(`"config":` + described(config, title("evil.pkl"), evil) + `,"layers":[` + good + `]`), 7, "-"},
		"a named one that is harmless":        {whole(`"config":` + described(config, title("note.json"), []byte("{}")) + `,"layers":[` + good + `]`), 0, ""},
		"one of another hash":                 {whole(`"config":{"digest":"sha512:00","size":2},"layers":[` + good + `]`), 5, "without a SHA-256"},
		"one without a size":                  {whole(`"config":{"digest":"` + digest(nil) + `"},"layers":[` + good + `]`), 5, "without a SHA-256"},
		"one with other data":                 {whole(`"config":` + described(config, `,"data":"AAAA"`, []byte("{}")) + `,"layers":[` + good + `]`), 3, "embeds 3"},
		"one that is a manifest":              {whole(`"config":` + described("application/vnd.oci.image.manifest.v1+json", "", other) + `,"layers":[` + good + `]`), 5, "type of a manifest"},
		"one in another case":                 {whole(`"Config":` + described(config, "", []byte("{}")) + `,"layers":[` + good + `]`), 3, "some clients confuse"},
		"a layer that is a manifest":          {whole(`"layers":[` + good + "," + described("application/vnd.oci.image.index.v1+json", "", other) + `]`), 5, "type of a manifest"},
		"a layer that is an old one":          {whole(`"layers":[` + good + "," + described("application/vnd.oci.artifact.manifest.v1+json", "", other) + `]`), 5, "type of a manifest"},
		"a subject that is code":              {whole(`"subject":` + described(ociType, "", other) + `,"layers":[` + good + `]`), 7, "-"},
		"a subject that is a model":           {whole(`"subject":` + described(ociType, "", []byte(plain)) + `,"layers":[` + described(any, title("notes.md"), note) + `]`), 0, ""},
		"a subject of a subject":              {whole(`"subject":` + described(ociType, "", []byte(refers)) + `,"layers":[` + good + `]`), 7, "-"},
		"a subject with files of a name":      {whole(`"subject":` + described(ociType, "", []byte(plain)) + `,"layers":[` + described(any, title("tiny.gguf"), note) + `]`), 3, "listed twice"},
		"a subject that is not there":         {whole(`"subject":` + described(ociType, "", []byte("none")) + `,"layers":[` + good + `]`), 2, "404"},
		"a subject of another size":           {whole(`"subject":{"digest":"` + digest([]byte(plain)) + `","size":1},"layers":[` + good + `]`), 3, "for a manifest of"},
		"a subject without a size":            {whole(`"subject":{"digest":"` + digest([]byte(plain)) + `"},"layers":[` + good + `]`), 5, "a subject without"},
		"a subject with a name":               {whole(`"subject":` + described(ociType, title("x"), []byte(plain)) + `,"layers":[` + good + `]`), 5, "with a name"},
		"a subject that is a number":          {whole(`"subject":1,"layers":[` + good + `]`), 3, "a number where"},
		"a list with a subject":               {strings.Replace(list(""), `"manifests"`, `"subject":`+described(ociType, "", other)+`,"manifests"`, 1), 7, "-"},
		"a layer of other hosts":              {whole(`"layers":[` + described(any, `,"urls":["http://127.0.0.1/x"]`, model) + `]`), 7, "another address"},
		"a layer of no other host":            {whole(`"layers":[` + described(any, `,"urls":[]`+title("tiny.gguf"), model) + `]`), 0, ""},
		"a type of artifacts":                 {whole(`"artifactType":"application/vnd.cncf.model.manifest.v1+json","layers":[` + good + `]`), 0, ""},
		"a list":                              {list(""), 0, ""},
		"a list with a name":                  {list(title("config.json")), 5, "a manifest that is the file"},
		"a list with a configuration":         {strings.Replace(list(""), `"manifests"`, `"config":`+described(config, "", []byte("{}"))+`,"manifests"`, 1), 3, "with a configuration"},
		"a list that states other sizes":      {strings.Replace(list(""), `"size":`, `"size":1`, 1), 3, "for a manifest of"},
	} {
		a := newRegistry(t, "team/llama", titled, "tiny.gguf")
		for _, blob := range [][]byte{evil, []byte("{}"), other, note, spec, image} {
			a.blobs[digest(blob)] = blob
		}
		a.manifests = map[string][]byte{"latest": []byte(c.manifest), digest([]byte(plain)): []byte(plain), digest(other): other, digest([]byte(refers)): []byte(refers)}
		address := "oci://" + a.host() + "/team/llama"
		if code, out, errs := run(t, a.options(), "scan", address); code != c.code {
			t.Errorf("%s: exit %d, want %d: %s%s", name, code, c.code, out, errs)
		}
		if c.says == "-" {
			continue
		}
		if _, err := open(t, address, a.options()); (err == nil) != (c.says == "") || err != nil && !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v, want %q", name, err, c.says)
		}
	}
}

// The configuration of a model of ollama is a blob like its layers.
func TestTheConfigurationOfAModelOfOllama(t *testing.T) {
	for content, code := range map[string]int{`{"model_format":"gguf"}`: 0, "\x80\x02cposix\nsystem\nX\x02\x00\x00\x00id\x85R.": 7} {
		a := newRegistry(t, "library/tiny", func(_ string, l *layer) { l.MediaType = "application/vnd.ollama.image.model" }, "tiny.gguf")
		a.blobs[digest([]byte(content))] = []byte(content)
		a.manifests["latest"] = []byte(strings.Replace(strings.Replace(string(a.manifests["latest"]), digest([]byte("{}")), digest([]byte(content)), 1), `"size":2`, fmt.Sprintf(`"size":%d`, len(content)), 1))
		if got, out, errs := run(t, a.options(), "scan", "ollama://"+a.host()+"/library/tiny"); got != code {
			t.Errorf("exit %d, want %d: %s%s", got, code, out, errs)
		}
	}
}
