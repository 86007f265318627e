package remote_test

import (
	"crypto/md5"
	"crypto/sha1"
	"crypto/sha256"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/anamnesis-go/anamnesis/remote"
)

// large is a safetensors file of n bytes of numbers: larger than what is fetched at once.
func large(n int, last byte) []byte {
	head := fmt.Sprintf(`{"a":{"dtype":"U8","shape":[%d],"data_offsets":[0,%d]}}`, n, n)
	head += strings.Repeat(" ", 8-len(head)%8)
	data := append([]byte{byte(len(head)), 0, 0, 0, 0, 0, 0, 0}, head...)
	data = append(data, make([]byte, n)...)
	data[len(data)-1] = last
	return data
}

// A published is one file at a source that states its digest, honestly or not.
type published struct {
	name, address string
	o             remote.Options
}

// publish serves data, whose digest is stated as that of stated, at a hub (large and small files),
// a registry, ollama's registry and a bucket.
func publish(t *testing.T, data, stated []byte) []published {
	sha256Of, blobOf := fmt.Sprintf("%x", sha256.Sum256(stated)), fmt.Sprintf("%x", sha1.Sum(append(fmt.Appendf(nil, "blob %d\x00", len(stated)), stated...)))
	lfs, git := newStore(t, map[string][]byte{"m.safetensors": data}), newStore(t, map[string][]byte{"m.safetensors": data})
	lfs.listing = fmt.Sprintf(`"siblings":[{"rfilename":"m.safetensors","size":%d,"blobId":%q,"lfs":{"sha256":%q,"size":%d,"pointerSize":134}}]`, len(data), strings.Repeat("0", 40), sha256Of, len(data))
	git.listing = fmt.Sprintf(`"siblings":[{"rfilename":"m.safetensors","size":%d,"blobId":%q,"lfs":null}]`, len(data), blobOf)
	registry := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case strings.Contains(r.URL.Path, "/manifests/"):
			media := "application/octet-stream"
			if strings.Contains(r.URL.Path, "/library/") {
				media = "application/vnd.ollama.image.model"
			}
			fmt.Fprintf(w, `{"schemaVersion":2,"layers":[{"mediaType":%q,"digest":"sha256:%s","size":%d,"annotations":{"org.opencontainers.image.title":"m.safetensors"}}]}`, media, sha256Of, len(data))
		case strings.HasSuffix(r.URL.Path, "/blobs/sha256:"+sha256Of):
			serve(w, r, data)
		default:
			http.NotFound(w, r)
		}
	}))
	t.Cleanup(registry.Close)
	bucket := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/models" {
			fmt.Fprintf(w, "<ListBucketResult><Contents><Key>m.safetensors</Key><Size>%d</Size></Contents></ListBucketResult>", len(data))
			return
		}
		w.Header().Set("ETag", fmt.Sprintf("%q", fmt.Sprintf("%x", md5.Sum(stated))))
		serve(w, r, data)
	}))
	t.Cleanup(bucket.Close)
	host := strings.TrimPrefix(registry.URL, "http://")
	return []published{
		{"a large file of a hub", "hf://me/model/m.safetensors", remote.Options{Hub: lfs.URL}},
		{"a small file of a hub", "hf://me/model/m.safetensors", remote.Options{Hub: git.URL}},
		{"a registry", "oci://" + host + "/team/model#m.safetensors", remote.Options{}},
		{"a whole artifact", "oci://" + host + "/team/model", remote.Options{}},
		{"ollama's registry", "ollama://" + host + "/library/model", remote.Options{}},
		{"an object", "s3://models/m.safetensors", remote.Options{S3: remote.S3{Endpoint: bucket.URL}}},
	}
}

// A file that is read to its end is compared with the digest in its address, manifest or listing,
// before any command calls it verified or writes its content.
func TestAWrongDigestIsFoundByAllWhoReadTheWholeFile(t *testing.T) {
	for size, n := range map[string]int{"small": 1000, "in several pieces": 3 << 20} {
		good, evil := large(n, 1), large(n, 2)
		target := filepath.Join(t.TempDir(), "out.npz")
		for _, command := range [][]string{
			{"verify"}, {"scan", "--digest"}, {"stats"}, {"convert", "--to", "npz", "-o", target}, {"verify", "--finite"}, {"verify", "--json"},
		} {
			for i, p := range publish(t, evil, good) {
				code, out, errs := run(t, p.o, append(command, p.address)...)
				if code != 3 || strings.Contains(out, "verified") && !strings.Contains(out, `"bodies":"not read"`) {
					t.Errorf("%s, %s: %v: exit %d, want 3: %s%s", size, p.name, command, code, out, errs)
				}
				if _, err := os.Stat(target); err == nil {
					t.Errorf("%s, %s: the output of a conversion stands", size, p.name)
					os.Remove(target)
				}
				honest := publish(t, good, good)[i]
				if code, out, errs := run(t, honest.o, append(command, honest.address)...); code != 0 {
					t.Errorf("%s, %s: %v: exit %d for the file that was stated: %s%s", size, p.name, command, code, out, errs)
				}
				os.Remove(target)
			}
		}
	}
}

// A command that reads only a header does not fetch the file for its digest, and does not call it
// verified.
func TestAVerifiedDigestWasCompared(t *testing.T) {
	data := large(3<<20, 1)
	for _, p := range publish(t, data, data)[:4] {
		code, out, errs := run(t, p.o, "inspect", "--json", "--limits", "server", p.address)
		if code != 0 || !strings.Contains(out, `"bodies":"not read"`) {
			t.Errorf("%s: inspect: exit %d: %s%s", p.name, code, out, errs)
		}
		code, out, errs = run(t, p.o, "verify", "--json", p.address)
		if code != 0 || !strings.Contains(out, `"bodies":"verified"`) {
			t.Errorf("%s: verify: exit %d: %s%s", p.name, code, out, errs)
		}
	}
}

// An ETag of parts or under a key is no digest of the object.
func TestAnETagOfPartsIsNotADigest(t *testing.T) {
	data := large(1000, 1)
	for name, header := range map[string]http.Header{
		"of parts":    {"Etag": {`"` + strings.Repeat("0", 32) + `-2"`}},
		"under a key": {"Etag": {`"` + strings.Repeat("0", 32) + `"`}, "X-Amz-Server-Side-Encryption": {"aws:kms"}},
		"weak":        {"Etag": {`W/"` + strings.Repeat("0", 32) + `"`}},
	} {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/models" {
				fmt.Fprintf(w, "<ListBucketResult><Contents><Key>m.safetensors</Key><Size>%d</Size></Contents></ListBucketResult>", len(data))
				return
			}
			for k, v := range header {
				w.Header()[k] = v
			}
			serve(w, r, data)
		}))
		if code, _, errs := run(t, remote.Options{S3: remote.S3{Endpoint: s.URL}}, "verify", "s3://models/m.safetensors"); code != 0 {
			t.Errorf("%s: exit %d: %s", name, code, errs)
		}
		s.Close()
	}
}

// A registry that states the digest of a manifest in a header is held to it.
func TestAManifestOfAnotherDigestThanTheAnswerStates(t *testing.T) {
	a := newRegistry(t, "team/llama", titled, "tiny.gguf")
	a.stated = "sha256:" + strings.Repeat("0", 64)
	if code, _, errs := run(t, a.options(), "scan", "oci://"+a.host()+"/team/llama"); code != 3 {
		t.Errorf("exit %d: %s", code, errs)
	}
}

// Nothing of an empty file is fetched, so its digest is looked at in the listing.
func TestAnEmptyFileWithTheDigestOfAnother(t *testing.T) {
	for sum, want := range map[string]int{"e69de29bb2d1d6434b8b29ae775ad8c2e48c5391": 5, strings.Repeat("0", 40): 3} {
		s := newStore(t, map[string][]byte{"custom.py": []byte("import os")})
		s.listing = fmt.Sprintf(`"siblings":[{"rfilename":"custom.py","size":0,"blobId":%q}]`, sum)
		if code, out, errs := run(t, remote.Options{Hub: s.URL}, "scan", "hf://me/model"); code != want {
			t.Errorf("%s: exit %d, want %d: %s%s", sum, code, want, out, errs)
		}
	}
}
