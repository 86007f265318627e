package remote_test

import (
	"encoding/xml"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/remote"
	"github.com/aws/aws-sdk-go-v2/credentials"
)

// The two examples of a GET in Amazon's documentation of the signature.
func TestTheSignatureIsAmazons(t *testing.T) {
	for _, c := range []struct {
		url, key, value, want string
	}{
		{"https://examplebucket.s3.amazonaws.com/test.txt", "Range", "bytes=0-9", "f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41"},
		{"https://examplebucket.s3.amazonaws.com/?max-keys=2&prefix=J", "", "", "34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7"},
	} {
		req, err := http.NewRequest(http.MethodGet, c.url, nil)
		if err != nil {
			t.Fatal(err)
		}
		if c.key != "" {
			req.Header.Set(c.key, c.value)
		}
		remote.Sign(req, "us-east-1", "AKIAIOSFODNN7EXAMPLE", "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY", time.Date(2013, 5, 24, 0, 0, 0, 0, time.UTC))
		if _, got, _ := strings.Cut(req.Header.Get("Authorization"), "Signature="); got != c.want {
			t.Errorf("%s: signature %s, want %s", c.url, got, c.want)
		}
	}
}

// A bucket answers as S3 does, from a folder: two keys a page.
func bucket(t *testing.T, dir string, list bool) *httptest.Server {
	var keys []string
	filepath.Walk(dir, func(path string, info os.FileInfo, err error) error {
		if err == nil && !info.IsDir() {
			name, _ := filepath.Rel(dir, path)
			keys = append(keys, filepath.ToSlash(name))
		}
		return err
	})
	slices.Sort(keys)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !strings.HasPrefix(r.Header.Get("Authorization"), "AWS4-HMAC-SHA256 Credential=me/") {
			http.Error(w, "", http.StatusForbidden)
			return
		}
		if r.URL.Path != "/models" {
			w.Header().Set("ETag", `"one"`)
			http.ServeFile(w, r, filepath.Join(dir, strings.TrimPrefix(r.URL.Path, "/models/")))
			return
		}
		if !list {
			http.Error(w, "", http.StatusForbidden)
			return
		}
		q := r.URL.Query()
		type object struct {
			Key  string
			Size int64
		}
		page := struct {
			XMLName               xml.Name `xml:"ListBucketResult"`
			Contents              []object
			IsTruncated           bool
			NextContinuationToken string
		}{}
		for _, k := range keys {
			rest, ok := strings.CutPrefix(k, q.Get("prefix"))
			if !ok || k <= q.Get("continuation-token") || q.Get("delimiter") != "" && strings.Contains(rest, q.Get("delimiter")) {
				continue
			}
			if len(page.Contents) == 2 {
				page.IsTruncated, page.NextContinuationToken = true, page.Contents[1].Key
				break
			}
			info, _ := os.Stat(filepath.Join(dir, k))
			page.Contents = append(page.Contents, object{k, info.Size()})
		}
		xml.NewEncoder(w).Encode(page)
	}))
	t.Cleanup(s.Close)
	return s
}

func TestModelsOfABucket(t *testing.T) {
	for _, c := range []struct {
		address string
		list    bool
		tensors int
	}{
		{"s3://models/sharded", true, 24},
		{"s3://models/sharded/", true, 24},
		{"s3://models/sharded/model.safetensors.index.json", true, 24},
		{"s3://models/tiny.gguf", true, 4},
		{"s3://models/tiny.gguf", false, 4}, // a key that may read and not list
		{"s3://models/llama-fp8", true, 35},
		{"s3://models/nothing", true, -1},
		{"s3://models", false, -1},
	} {
		s := bucket(t, demo, c.list)
		m, err := open(t, c.address, remote.Options{AllowPrivate: true, S3: remote.S3{Endpoint: s.URL, Keys: credentials.NewStaticCredentialsProvider("me", "secret", "")}})
		switch {
		case c.tensors < 0:
			if err == nil {
				t.Errorf("%s: no error", c.address)
			}
		case err != nil:
			t.Errorf("%s: %v", c.address, err)
		case m.Len() != c.tensors:
			t.Errorf("%s: %d tensors, want %d", c.address, m.Len(), c.tensors)
		}
	}
}

func TestAddressesOfBucketsThatAreRefused(t *testing.T) {
	for _, address := range []string{"s3://", "s3://a", "s3://UPPER/x", "s3://../x", "s3://a@b.c/x", "gs://evil.com:80/x", "s3://bucket?x/y"} {
		if _, err := open(t, address, remote.Options{}); !errors.Is(err, remote.ErrForbidden) {
			t.Errorf("%s: %v", address, err)
		}
	}
	moved := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("X-Amz-Bucket-Region", "eu-central-1")
		w.WriteHeader(http.StatusMovedPermanently)
	}))
	defer moved.Close()
	_, err := open(t, "s3://models/x", remote.Options{AllowPrivate: true, S3: remote.S3{Endpoint: moved.URL}})
	if want := `is in the region "eu-central-1"`; err == nil || !strings.Contains(fmt.Sprint(err), want) {
		t.Errorf("%v, want %q", err, want)
	}
}

// A listing without an end is stopped by the memory that its names take, not only by the
// number of requests.
func TestAListingWithoutEnd(t *testing.T) {
	n := 0
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, "<ListBucketResult><IsTruncated>true</IsTruncated><NextContinuationToken>", n, "</NextContinuationToken>")
		for range 100 {
			n++
			fmt.Fprintf(w, "<Contents><Key>all/%04000d</Key><Size>1</Size></Contents>", n)
		}
		fmt.Fprint(w, "</ListBucketResult>")
	}))
	defer s.Close()
	policy := limits.Policy{MaxTotalBytes: 48 << 20, MaxRequests: 100}
	_, err := openUnder(t, policy, "s3://models/all/", remote.Options{AllowPrivate: true, S3: remote.S3{Endpoint: s.URL}})
	if e, ok := errors.AsType[*limits.Error](err); !ok || e.Axis != limits.Total {
		t.Errorf("%v, want the limit of memory", err)
	}
}
