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

// registryHosts are those that well-known registries keep blobs at.
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

// Annotations that hold the name of a layer's file: those of ORAS and of the model
// specification of CNCF.
var nameAnnotations = []string{"org.opencontainers.image.title", "org.cncf.model.filepath"}

// A manifest is that of an artifact, or a list of manifests.
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

// name is the file's, as far as the manifest knows it.
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

// A registry is one repository of a registry.
type registry struct {
	c    *client
	base *url.URL // https://host/v2/name
	auth string   // the header that its challenge led to
}

// newRegistry checks the names that become part of an address.
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
		return nil, fmt.Errorf("%w: oci://host/repository[:tag|@digest] names an artifact", ErrForbidden)
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

// ociFiles lists the layers of an artifact by their names.
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
		return nil, "", fmt.Errorf("%s: an index of %d manifests: name one of them by @digest", rest, len(m.Manifests))
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

// splitReference takes the tag or digest from the end.
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

// ollamaFiles lays a model of ollama's registry out as its store does.
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

// blob adds a layer under a name.
func (r *registry) blob(t *tree, name string, l descriptor) error {
	if !isDigest(l.Digest) {
		return fmt.Errorf("%s: a layer whose digest is not an SHA-256", r.base)
	}
	return t.add(name, entry{size: l.Size, url: r.base.JoinPath("blobs", l.Digest)})
}

func isDigest(s string) bool {
	hexits, ok := strings.CutPrefix(s, "sha256:")
	return ok && len(hexits) == 64 && strings.Trim(hexits, "0123456789abcdef") == ""
}

// errUnauthorized asks for the challenge to be met.
var errUnauthorized = errors.New("unauthorized")

// manifest fetches one, after a login where that is asked for; one that is named by its
// digest is held against it.
func (r *registry) manifest(reference string) (text []byte, m manifest, err error) {
	if reference == "" || strings.ContainsAny(reference, "/?#%\\") || strings.Contains(reference, ":") && !isDigest(reference) {
		return nil, m, fmt.Errorf("%w: a tag, or a digest of SHA-256", ErrForbidden)
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
		return fmt.Errorf("%s: %s", shown(u), resp.Status)
	}
	if err = r.c.get(u, header, take); errors.Is(err, errUnauthorized) && r.auth == "" {
		if err = r.login(challenge); err == nil {
			err = r.c.get(u, header, take)
		}
	}
	if err != nil {
		return nil, m, fmt.Errorf("%s: %w", shown(u), err)
	}
	if sum := sha256.Sum256(text); strings.HasPrefix(reference, "sha256:") && reference != "sha256:"+hex.EncodeToString(sum[:]) {
		return nil, m, fmt.Errorf("%s: the manifest has another digest", shown(u))
	}
	if err := json.Unmarshal(text, &m); err != nil {
		return nil, m, fmt.Errorf("%s: %w", shown(u), err)
	}
	return text, m, nil
}
