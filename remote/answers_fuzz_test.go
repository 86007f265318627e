package remote

import (
	"encoding/json"
	"encoding/xml"
	"fmt"
	"strings"
	"testing"

	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
)

// answered reads an answer, and reports whether it is accepted. A refusal has a class.
func answered(t *testing.T, read func(c *client) error) bool {
	t.Helper()
	b := limits.Policy{MaxTotalBytes: 16 << 20, MaxSteps: 1 << 20}.Budget(t.Context())
	defer b.Close()
	err := read(newClient(b, Options{}))
	if c := wire.ClassOf(err); c == wire.Internal {
		t.Fatal(err)
	}
	return err == nil
}

// FuzzHubAnswer reads any text as the hub's description of a repository: where it is accepted,
// encoding/json finds the same commit and the same files.
func FuzzHubAnswer(f *testing.F) {
	commit := strings.Repeat("a1", 20)
	for _, s := range []string{
		`{"sha":"` + commit + `","siblings":[{"rfilename":"config.json","size":2,"blobId":"` + commit + `"}]}`,
		`{"siblings":[{"rfilename":"m","size":7,"lfs":{"sha256":"` + strings.Repeat("b2", 32) + `","size":7}}],"sha":"` + commit + `","more":[1,{"a":null}]}`,
		`{"sha":"x","SHA":"y","siblings":[]}`, `{"sha":"x","sha":"y"}`, `{"siblings":[{"rfilename":"a","Rfilename":"b","size":1}]}`, `{"siblings":[{"size":-1}]}`, `{"siblings":null}`, `[]`, `{}`, ``,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		var r repo
		if !answered(t, func(c *client) error { return c.document("hub", text, r.read) }) {
			return
		}
		var second struct {
			SHA      string `json:"sha"`
			Siblings []struct {
				Name string `json:"rfilename"`
				Size *int64 `json:"size"`
				Blob string `json:"blobId"`
				LFS  *struct {
					SHA256 string `json:"sha256"`
					Size   int64  `json:"size"`
				} `json:"lfs"`
			} `json:"siblings"`
		}
		if err := json.Unmarshal(text, &second); err != nil {
			t.Fatalf("%s is accepted: %v", text, err)
		}
		ours, theirs := fmt.Sprintf("%q", r.commit), fmt.Sprintf("%q", second.SHA)
		for _, s := range r.files {
			ours += fmt.Sprintf("\n%q %d %q %v %q %d", s.name, s.size, s.blob, s.large, s.sha256, s.length)
		}
		for _, s := range second.Siblings {
			if s.Size == nil {
				t.Fatalf("%s: a file without a size is accepted", text)
			}
			large, sum, length := s.LFS != nil, "", int64(0)
			if large {
				sum, length = s.LFS.SHA256, s.LFS.Size
			}
			theirs += fmt.Sprintf("\n%q %d %q %v %q %d", s.Name, *s.Size, s.Blob, large, sum, length)
		}
		if ours != theirs {
			t.Fatalf("%s is read as\n%s\nand by encoding/json as\n%s", text, ours, theirs)
		}
	})
}

// FuzzManifestAnswer reads any text as a manifest of a registry: where it is accepted,
// encoding/json finds the same layers and manifests, and the text is of one of both.
func FuzzManifestAnswer(f *testing.F) {
	digest := "sha256:" + strings.Repeat("c3", 32)
	layer := `{"mediaType":"application/octet-stream","digest":"` + digest + `","size":5,"annotations":{"org.opencontainers.image.title":"m.gguf"}}`
	for _, s := range []string{
		`{"schemaVersion":2,"mediaType":"` + ociManifest + `","layers":[` + layer + `],"config":{"digest":"` + digest + `","size":2}}`,
		`{"schemaVersion":2,"mediaType":"` + ociIndex + `","manifests":[{"digest":"` + digest + `","size":5}]}`,
		`{"layers":[` + layer + `],"manifests":[]}`, `{"layers":[` + layer + `,` + layer + `]}`, `{"layers":[{"digest":"` + digest + `","size":1,"urls":["https://example.com"]}]}`,
		`{"layers":[{"data":"aGVsbG8=","digest":"` + digest + `","size":5}]}`, `{"Layers":[]}`, `{"layers":[],"blobs":[]}`, `{}`, ``,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		var m manifest
		if !answered(t, func(c *client) error { return c.document("registry", text, m.read) }) {
			return
		}
		type part struct {
			MediaType string   `json:"mediaType"`
			Digest    string   `json:"digest"`
			Size      *int64   `json:"size"`
			URLs      []string `json:"urls"`
		}
		var second struct {
			MediaType string `json:"mediaType"`
			Layers    []part `json:"layers"`
			Manifests []part `json:"manifests"`
			Config    *part  `json:"config"`
		}
		if err := json.Unmarshal(text, &second); err != nil {
			t.Fatalf("%s is accepted: %v", text, err)
		}
		if m.list != (second.Layers == nil) || m.list != (second.Manifests != nil) || second.Config != nil && m.list || m.mediaType != second.MediaType {
			t.Fatalf("%s: a list is %v", text, m.list)
		}
		same := func(ours []descriptor, theirs []part) {
			if len(ours) != len(theirs) {
				t.Fatalf("%s: %d parts, and %d by encoding/json", text, len(ours), len(theirs))
			}
			for i, p := range theirs {
				size := int64(-1)
				if p.Size != nil {
					size = *p.Size
				}
				if o := ours[i]; o.mediaType != p.MediaType || o.digest != p.Digest || o.size != size || len(p.URLs) > 0 {
					t.Fatalf("%s: part %d is %+v, and by encoding/json %+v", text, i, o, p)
				}
			}
		}
		same(m.layers, second.Layers)
		same(m.manifests, second.Manifests)
	})
}

// FuzzBucketAnswer reads any text as a page of a bucket's listing: where it is accepted,
// encoding/xml finds the same objects.
func FuzzBucketAnswer(f *testing.F) {
	for _, s := range []string{
		`<ListBucketResult><Contents><Key>a/b</Key><Size>5</Size></Contents><IsTruncated>false</IsTruncated></ListBucketResult>`,
		`<?xml version="1.0"?><ListBucketResult><IsTruncated>true</IsTruncated><NextContinuationToken>t</NextContinuationToken><Contents><Key>a&amp;b</Key><Size>0</Size></Contents></ListBucketResult>`,
		`<ListBucketResult><Contents><Key>a</Key><Key>b</Key><Size>1</Size></Contents></ListBucketResult>`, `<ListBucketResult><Contents><Key>a<!-- --></Key><Size>1</Size></Contents></ListBucketResult>`,
		`<ListBucketResult><contents/></ListBucketResult>`, `<ListBucketResult/>`, `<Error/>`, `<!DOCTYPE a><ListBucketResult/>`, ``,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		page, err := readListing(text)
		if err != nil {
			if c := wire.ClassOf(err); c == wire.OK || c == wire.Internal || page != nil {
				t.Fatalf("class %v: %v", c, err)
			}
			return
		}
		var second struct {
			XMLName  xml.Name `xml:"ListBucketResult"`
			Contents []struct {
				Key  string
				Size int64
			}
			More bool   `xml:"IsTruncated"`
			Next string `xml:"NextContinuationToken"`
		}
		if err := xml.Unmarshal(text, &second); err != nil {
			t.Fatalf("%s is accepted: %v", text, err)
		}
		ours, theirs := fmt.Sprintf("%v %q", page.more, page.next), fmt.Sprintf("%v %q", second.More, second.Next)
		for _, o := range page.objects {
			ours += fmt.Sprintf("\n%q %d", o.key, o.size)
		}
		for _, o := range second.Contents {
			theirs += fmt.Sprintf("\n%q %d", o.Key, o.Size)
		}
		if ours != theirs {
			t.Fatalf("%s is read as\n%s\nand by encoding/xml as\n%s", text, ours, theirs)
		}
	})
}
