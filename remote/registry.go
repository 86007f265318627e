package remote

import (
	"cmp"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"path"
	"strings"

	"github.com/anamnesis-go/anamnesis/internal/strictjson"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/parser/ollama"
)

// registryHosts are the hosts that store the blobs of well-known registries.
var registryHosts = []string{
	".r2.cloudflarestorage.com",                                                            // ollama, Docker
	".docker.com", ".docker.io", "docker-images-prod.s3.dualstack.us-east-1.amazonaws.com", // Docker
	"pkg-containers.githubusercontent.com", // GitHub
	"storage.googleapis.com",               // Google
	".quay.io", ".blob.core.windows.net",   // Quay, Azure
}

// Media types of manifests.
const (
	ociManifest    = "application/vnd.oci.image.manifest.v1+json"
	ociIndex       = "application/vnd.oci.image.index.v1+json"
	dockerManifest = "application/vnd.docker.distribution.manifest.v2+json"
	dockerList     = "application/vnd.docker.distribution.manifest.list.v2+json"
)

// nameAnnotations are the annotations with the name of a layer's file, of ORAS and of CNCF's
// model specification.
var nameAnnotations = []string{"org.opencontainers.image.title", "org.cncf.model.filepath"}

// A manifest describes an artifact, or lists manifests.
type manifest struct {
	mediaType string
	layers    []descriptor
	manifests []descriptor
	config    *descriptor // nil if there is none
	subject   *descriptor // the manifest that this one refers to, nil if there is none
	list      bool        // it lists manifests
}

type descriptor struct {
	mediaType string
	digest    string
	size      int64
	names     []string // what the annotations call its file
	data      *string  // what it embeds of its content, in base64; nil for nothing
}

// read reads a manifest. One that has layers and also lists manifests is refused: whether a client
// takes it for a manifest or for a list depends on the type that it trusts (CVE-2021-41190).
func (m *manifest) read(d *strictjson.Decoder) error {
	layered := false
	list := func(into *[]descriptor) func() error {
		return func() error {
			layered = layered || into == &m.layers
			m.list = m.list || into == &m.manifests
			return d.Array(func(int) error {
				l, err := readDescriptor(d)
				*into = append(*into, l) // charged by the size of the answer
				return err
			})
		}
	}
	err := members(d, map[string]func() error{
		"mediaType": into(d, &m.mediaType), "layers": list(&m.layers), "manifests": list(&m.manifests),
		"schemaVersion": func() error {
			v, err := d.Uint(1 << 16)
			if err == nil && v != 2 {
				err = d.Fail("", wire.ErrUnsupported.Errorf("version %d of manifests", v))
			}
			return err
		},
		"artifactType": into(d, new(string)),
		"config": func() error {
			if k, err := d.Kind(); err != nil || k == strictjson.Null {
				return err
			}
			l, err := readDescriptor(d)
			m.config = &l
			return err
		},
		"subject": func() error {
			if k, err := d.Kind(); err != nil || k == strictjson.Null {
				return err
			}
			l, err := readDescriptor(d)
			m.subject = &l
			return err
		},
		// Members of other kinds of manifests, which other clients may read.
		"blobs": unread(d, "blobs"), "fsLayers": unread(d, "fsLayers"),
	})
	switch {
	case err != nil:
		return err
	case m.list && m.config != nil:
		return d.Fail("", wire.ErrMismatch.Errorf("a list of manifests with a configuration"))
	case layered == m.list:
		return d.Fail("", wire.ErrMismatch.Errorf("a manifest has layers or lists manifests, and this has both or neither"))
	case m.mediaType != "" && m.list != (m.mediaType == ociIndex || m.mediaType == dockerList):
		return d.Fail("", wire.ErrMismatch.Errorf("the manifest states the type %s and has the members of another", wire.Quote(m.mediaType)))
	}
	return m.check(d)
}

// check refuses descriptors from which clients fetch more than a blob: ORAS follows a layer or a
// configuration that states the type of a manifest, and writes a manifest of a list that has a
// name. It also checks the configuration, which clients store beside the layers.
func (m *manifest) check(d *strictjson.Decoder) error {
	blobs := m.layers
	if m.config != nil {
		blobs = append(blobs[:len(blobs):len(blobs)], *m.config)
	}
	for i := range blobs {
		if isManifest(blobs[i].mediaType) {
			return d.Fail("", wire.ErrUnsupported.Errorf("a blob with the type of a manifest, %s", wire.Quote(blobs[i].mediaType)))
		}
	}
	for i := range m.manifests {
		if len(m.manifests[i].names) > 0 {
			return d.Fail("", wire.ErrUnsupported.Errorf("a manifest that is the file %s", wire.Quote(m.manifests[i].names[0])))
		}
	}
	if s := m.subject; s != nil && (!isDigest(s.digest) || s.size < 0 || len(s.names) > 0) {
		return d.Fail("", wire.ErrUnsupported.Errorf("a subject without a SHA-256 or a size, or with a name"))
	}
	if c := m.config; c != nil && (c.digest != "" || len(c.names) > 0) && (!isDigest(c.digest) || c.size < 0) {
		return d.Fail("", wire.ErrUnsupported.Errorf("a configuration without a SHA-256 or a size"))
	}
	return nil
}

// isManifest reports whether clients take a blob of a media type for a manifest or a list of them.
func isManifest(mediaType string) bool {
	mediaType = strings.ToLower(mediaType)
	return strings.Contains(mediaType, ".manifest.") || strings.Contains(mediaType, ".image.index.")
}

// unread returns a function that refuses a member, unless it is null.
func unread(d *strictjson.Decoder, name string) func() error {
	return func() error {
		if k, err := d.Kind(); err != nil || k == strictjson.Null {
			return err
		}
		return d.Fail("", wire.ErrUnsupported.Errorf("a manifest with %s", name))
	}
}

func readDescriptor(d *strictjson.Decoder) (descriptor, error) {
	l := descriptor{size: -1}
	named := map[string]func() error{}
	for _, a := range nameAnnotations {
		named[a] = func() error {
			n, err := d.String()
			if n != "" {
				l.names = append(l.names, n)
			}
			return err
		}
	}
	err := members(d, map[string]func() error{
		"mediaType": into(d, &l.mediaType), "digest": into(d, &l.digest), "size": count(d, &l.size),
		// Addresses at other hosts, from which docker's client fetches a layer.
		"urls": func() error {
			if k, err := d.Kind(); err != nil || k == strictjson.Null {
				return err
			}
			return d.Array(func(int) error {
				return d.Fail("", wire.ErrForbidden.Errorf("a layer that is to be fetched from another address"))
			})
		},
		"data": func() error {
			k, err := d.Kind()
			if err != nil || k == strictjson.Null {
				return err
			}
			text, err := d.String()
			l.data = &text
			return err
		},
		"annotations": func() error {
			if k, err := d.Kind(); err != nil || k == strictjson.Null {
				return err
			}
			return members(d, named)
		},
	})
	if err == nil && len(l.names) > 1 && l.names[0] != l.names[1] {
		err = d.Fail("", wire.ErrMismatch.Errorf("a layer is named %s and %s", wire.Quote(l.names[0]), wire.Quote(l.names[1])))
	}
	if err == nil && l.data != nil {
		if err = l.checkData(); err != nil {
			err = d.Fail("", err)
		}
	}
	return l, err
}

// checkData compares the content that a descriptor embeds with its digest and size: clients
// may take it in place of the blob. It must be base64 that no decoder reads differently.
//
// Format: OCI image-spec 1.1, descriptor.md, "data".
func (l *descriptor) checkData() error {
	if !isDigest(l.digest) {
		return wire.ErrUnsupported.Errorf("a descriptor with data whose digest is not a SHA-256")
	}
	sum := sha256.New()
	n, err := io.Copy(sum, base64.NewDecoder(base64.StdEncoding.Strict(), strings.NewReader(*l.data)))
	switch {
	case err != nil, strings.ContainsAny(*l.data, "\r\n"):
		return wire.ErrSyntax.Errorf("the data of a descriptor is not base64")
	case l.size >= 0 && n != l.size:
		return wire.ErrMismatch.Errorf("a descriptor states %d bytes and embeds %d", l.size, n)
	case "sha256:"+hex.EncodeToString(sum.Sum(nil)) != l.digest:
		return wire.ErrChecksum.Errorf("a descriptor embeds data of another digest")
	}
	return nil
}

// name returns the name of the layer's file.
func (l *descriptor) name() string {
	switch {
	case len(l.names) > 0:
		return l.names[0]
	case strings.HasPrefix(l.mediaType, "application/vnd.docker.ai.gguf"):
		return "model.gguf"
	}
	return strings.Replace(l.digest, ":", "-", 1)
}

// A registry is a repository of a registry.
type registry struct {
	c    *client
	base *url.URL // https://host/v2/name
	auth string   // the Authorization header, after a challenge
}

// newRegistry returns the repository of a host and a name, which it checks.
func newRegistry(c *client, host, name string) (*registry, error) {
	scheme := "https"
	if c.o.AllowPrivate && isLoopback(host) {
		scheme = "http" // as every client of registries does
	}
	const of = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._/"
	if host == "docker.io" {
		host = dockerRegistry
	}
	u, err := url.Parse(scheme + "://" + host)
	if err != nil || u.Host != host || name == "" || strings.Trim(name, of) != "" || path.Clean("/"+name) != "/"+name {
		return nil, fmt.Errorf("%w: give an artifact as oci://host/repository[:tag|@digest]", ErrForbidden)
	}
	base, err := locate(&url.URL{Scheme: scheme, Host: host}, "", append([]string{"v2"}, strings.Split(name, "/")...)...)
	if err != nil {
		return nil, err
	}
	r := &registry{c: c, base: base}
	c.hosts = append(c.hosts, registryHosts...)
	c.sign = func(req *http.Request) error {
		if req.URL.Host == host && r.auth != "" {
			req.Header.Set("Authorization", r.auth)
		}
		return nil
	}
	return r, c.check(u)
}

// ociFiles returns the layers of an artifact as files.
func ociFiles(c *client, rest string) (*tree, string, error) {
	rest, inside, _ := strings.Cut(rest, "#")
	host, name, _ := strings.Cut(rest, "/")
	name, reference := splitReference(name)
	r, err := newRegistry(c, host, name)
	if err != nil {
		return nil, "", err
	}
	_, m, err := r.manifest(reference)
	if err != nil {
		return nil, "", err
	}
	t := newTree(c)
	for subjects := 0; ; subjects++ {
		subject := m.subject
		if len(m.manifests) == 1 {
			if m, err = r.listed(m.manifests[0]); err != nil {
				return nil, "", err
			}
			if m.subject != nil && subject != nil {
				return nil, "", wire.ErrUnsupported.Errorf("%s: an index and its manifest that both have a subject", rest)
			}
			subject = cmp.Or(subject, m.subject)
		}
		if m.list {
			return nil, "", fmt.Errorf("%s: an index of %d manifests: choose one with @digest", rest, len(m.manifests))
		}
		if err := r.files(t, &m); err != nil {
			return nil, "", err
		}
		if subject == nil {
			break
		}
		if subjects == maxSubjects {
			return nil, "", wire.ErrUnsupported.Errorf("%s: a chain of more than %d subjects", rest, maxSubjects)
		}
		// oras pull --include-subject writes the files of a subject beside those of what refers to it.
		if m, err = r.listed(*subject); err != nil {
			return nil, "", err
		}
	}
	if inside == "" {
		inside = "."
	}
	return t, inside, nil
}

// maxSubjects bounds a chain of artifacts each of which refers to the next one. An adapter refers to
// its model, and a signature to either.
const maxSubjects = 8

// files adds the files of a manifest to the tree.
func (r *registry) files(t *tree, m *manifest) error {
	for _, l := range m.layers {
		if err := r.blob(t, l.name(), l); err != nil {
			return err
		}
	}
	if c := m.config; c != nil && c.digest != "" { // clients write it: oras pull, skopeo copy
		return r.blob(t, c.name(), *c)
	}
	return nil
}

// listed fetches a manifest that a list describes, and checks that it fits the description.
func (r *registry) listed(l descriptor) (m manifest, err error) {
	text, m, err := r.manifest(l.digest)
	switch {
	case err != nil:
		return m, err
	case l.size >= 0 && l.size != int64(len(text)):
		return m, wire.ErrMismatch.Errorf("%s: a list states %d bytes for a manifest of %d", r.base, l.size, len(text))
	case l.mediaType != "" && m.mediaType != "" && l.mediaType != m.mediaType:
		return m, wire.ErrMismatch.Errorf("%s: a list states the type %s for a manifest that states %s", r.base, wire.Quote(l.mediaType), wire.Quote(m.mediaType))
	}
	return m, nil
}

// splitReference splits off the tag or the digest.
func splitReference(name string) (repository, reference string) {
	if repository, digest, ok := strings.Cut(name, "@"); ok {
		repository, _, _ = strings.Cut(repository, ":")
		return repository, digest
	}
	repository, tag, ok := strings.Cut(name, ":")
	if !ok {
		tag = "latest"
	}
	return repository, tag
}

// ollamaFiles returns a model of ollama's registry in the layout of ollama's store.
func ollamaFiles(c *client, rest string) (*tree, string, error) {
	n, err := ollama.ParseName(rest)
	if err != nil {
		return nil, "", err
	}
	r, err := newRegistry(c, n.Host, n.Namespace+"/"+n.Model)
	if err != nil {
		return nil, "", err
	}
	text, m, err := r.manifest(n.Tag)
	if err != nil {
		return nil, "", err
	}
	t := newTree(c)
	if err := t.add(n.Path(), entry{size: int64(len(text)), text: text}); err != nil {
		return nil, "", err
	}
	if m.list {
		return nil, "", fmt.Errorf("%s: an index of %d manifests and no model", rest, len(m.manifests))
	}
	if m.subject != nil {
		return nil, "", wire.ErrUnsupported.Errorf("%s: a model of ollama with a subject", rest)
	}
	blobs := m.layers
	if m.config != nil && m.config.digest != "" { // without one ollama runs a model with its defaults
		blobs = append(blobs, *m.config)
	}
	for _, l := range blobs {
		if err := r.blob(t, "blobs/"+strings.Replace(l.digest, ":", "-", 1), l); err != nil {
			return nil, "", err
		}
	}
	return t, n.Path(), nil
}

// blob adds a layer to the tree.
func (r *registry) blob(t *tree, name string, l descriptor) error {
	if !isDigest(l.digest) {
		return fmt.Errorf("%s: the digest of a layer is not a SHA-256", r.base)
	}
	u, err := locate(r.base, ":", "blobs", l.digest)
	if err != nil {
		return err
	}
	return t.add(name, entry{size: l.size, url: u, stated: &digest{sha256Sum, strings.TrimPrefix(l.digest, "sha256:")}})
}

func isDigest(s string) bool {
	hexits, ok := strings.CutPrefix(s, "sha256:")
	return ok && isHex(hexits, sha256Sum.hexits())
}

// errUnauthorized means that the registry asks for a login.
var errUnauthorized = errors.New("unauthorized")

// isTag reports whether s is a tag: letters, digits, and _.- not at the beginning.
func isTag(s string) bool {
	const of = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.-"
	return s != "" && len(s) <= 128 && strings.Trim(s, of) == "" && s[0] != '.' && s[0] != '-'
}

// manifest fetches a manifest, after a login if the registry asks for one. It is checked against
// the digest that reference is or that the registry states.
func (r *registry) manifest(reference string) (text []byte, m manifest, err error) {
	if !isTag(reference) && !isDigest(reference) {
		return nil, m, fmt.Errorf("%w: the reference must be a tag or a SHA-256 digest", ErrForbidden)
	}
	u, err := locate(r.base, ":", "manifests", reference)
	if err != nil {
		return nil, m, err
	}
	header := http.Header{"Accept": {strings.Join([]string{ociManifest, dockerManifest, ociIndex, dockerList}, ", ")}}
	challenge, kind, stated := "", "", ""
	take := func(resp *http.Response) (err error) {
		switch resp.StatusCode {
		case http.StatusOK:
			kind, _, _ = mime.ParseMediaType(resp.Header.Get("Content-Type"))
			stated = resp.Header.Get("Docker-Content-Digest")
			text, err = r.c.text(resp)
			return err
		case http.StatusUnauthorized:
			challenge = resp.Header.Get("WWW-Authenticate")
			return errUnauthorized
		}
		return refused(urlText(u), resp)
	}
	if err = r.c.get(u, header, take); errors.Is(err, errUnauthorized) && r.auth == "" && challenge != "" {
		if err = r.login(challenge); err == nil {
			err = r.c.get(u, header, take)
		}
	}
	if errors.Is(err, errUnauthorized) {
		err = &refusal{urlText(u), http.StatusUnauthorized}
	}
	if err != nil {
		return nil, m, err
	}
	sum := sha256.Sum256(text)
	is := "sha256:" + hex.EncodeToString(sum[:])
	if isDigest(reference) && reference != is || isDigest(stated) && stated != is {
		return nil, m, wire.ErrChecksum.Errorf("%s: the manifest has another digest", urlText(u))
	}
	if err := r.c.document("manifest", text, m.read); err != nil {
		return nil, m, fmt.Errorf("%s: %w", urlText(u), err)
	}
	if list := kind == ociIndex || kind == dockerList; (list || kind == ociManifest || kind == dockerManifest) && list != m.list {
		return nil, m, wire.ErrMismatch.Errorf("%s: the answer states the type %s and has the members of another", urlText(u), wire.Quote(kind))
	}
	return text, m, nil
}
