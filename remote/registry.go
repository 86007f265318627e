package remote

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"path"
	"strings"

	"github.com/anamnesis-go/anamnesis/parser/ollama"
)

// registryHosts are the hosts at which well-known registries keep blobs.
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
	MediaType string       `json:"mediaType"`
	Layers    []descriptor `json:"layers"`
	Manifests []descriptor `json:"manifests"`
}

type descriptor struct {
	MediaType   string            `json:"mediaType"`
	Digest      string            `json:"digest"`
	Size        int64             `json:"size"`
	Annotations map[string]string `json:"annotations"`
}

// name returns the name of the layer's file.
func (d *descriptor) name() string {
	for _, a := range nameAnnotations {
		if n := d.Annotations[a]; n != "" {
			return n
		}
	}
	if strings.HasPrefix(d.MediaType, "application/vnd.docker.ai.gguf") {
		return "model.gguf"
	}
	return strings.Replace(d.Digest, ":", "-", 1)
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
		host = "registry-1.docker.io"
	}
	u, err := url.Parse(scheme + "://" + host)
	if err != nil || u.Host != host || name == "" || strings.Trim(name, of) != "" || path.Clean("/"+name) != "/"+name {
		return nil, fmt.Errorf("%w: give an artifact as oci://host/repository[:tag|@digest]", ErrForbidden)
	}
	r := &registry{c: c, base: &url.URL{Scheme: scheme, Host: host, Path: "/v2/" + name}}
	c.hosts = append(c.hosts, registryHosts...)
	c.sign = func(req *http.Request) {
		if req.URL.Host == host && r.auth != "" {
			req.Header.Set("Authorization", r.auth)
		}
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
	if err == nil && len(m.Manifests) == 1 && len(m.Layers) == 0 {
		_, m, err = r.manifest(m.Manifests[0].Digest)
	}
	if err != nil {
		return nil, "", err
	}
	if len(m.Manifests) > 0 {
		return nil, "", fmt.Errorf("%s: an index of %d manifests: choose one with @digest", rest, len(m.Manifests))
	}
	t := newTree(c)
	for _, l := range m.Layers {
		if err := r.blob(t, l.name(), l); err != nil {
			return nil, "", err
		}
	}
	if inside == "" {
		inside = "."
	}
	return t, inside, nil
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
	for _, l := range m.Layers {
		if err := r.blob(t, "blobs/"+strings.Replace(l.Digest, ":", "-", 1), l); err != nil {
			return nil, "", err
		}
	}
	return t, n.Path(), nil
}

// blob adds a layer to the tree.
func (r *registry) blob(t *tree, name string, l descriptor) error {
	if !isDigest(l.Digest) {
		return fmt.Errorf("%s: the digest of a layer is not a SHA-256", r.base)
	}
	return t.add(name, entry{size: l.Size, url: r.base.JoinPath("blobs", l.Digest)})
}

func isDigest(s string) bool {
	hexits, ok := strings.CutPrefix(s, "sha256:")
	return ok && len(hexits) == 64 && strings.Trim(hexits, "0123456789abcdef") == ""
}

// errUnauthorized means that the registry asks for a login.
var errUnauthorized = errors.New("unauthorized")

// manifest fetches a manifest, after a login if the registry asks for one. If reference is a
// digest, the manifest is checked against it.
func (r *registry) manifest(reference string) (text []byte, m manifest, err error) {
	if reference == "" || strings.ContainsAny(reference, "/?#%\\") || strings.Contains(reference, ":") && !isDigest(reference) {
		return nil, m, fmt.Errorf("%w: the reference must be a tag or a SHA-256 digest", ErrForbidden)
	}
	u := r.base.JoinPath("manifests", reference)
	header := http.Header{"Accept": {strings.Join([]string{ociManifest, dockerManifest, ociIndex, dockerList}, ", ")}}
	challenge := ""
	take := func(resp *http.Response) (err error) {
		switch resp.StatusCode {
		case http.StatusOK:
			text, err = r.c.text(resp)
			return err
		case http.StatusUnauthorized:
			challenge = resp.Header.Get("WWW-Authenticate")
			return errUnauthorized
		}
		return fmt.Errorf("%s: %s", urlText(u), resp.Status)
	}
	if err = r.c.get(u, header, take); errors.Is(err, errUnauthorized) && r.auth == "" {
		if err = r.login(challenge); err == nil {
			err = r.c.get(u, header, take)
		}
	}
	if err != nil {
		return nil, m, fmt.Errorf("%s: %w", urlText(u), err)
	}
	if sum := sha256.Sum256(text); strings.HasPrefix(reference, "sha256:") && reference != "sha256:"+hex.EncodeToString(sum[:]) {
		return nil, m, fmt.Errorf("%s: the manifest has another digest", urlText(u))
	}
	if err := json.Unmarshal(text, &m); err != nil {
		return nil, m, fmt.Errorf("%s: %w", urlText(u), err)
	}
	return text, m, nil
}
