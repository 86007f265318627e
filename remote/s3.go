package remote

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"net/url"
	"path"
	"strings"

	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/aws/aws-sdk-go-v2/aws"
)

// S3 has the address of buckets and the keys for them.
type S3 struct {
	// Endpoint is the address of an S3-compatible service that takes the bucket in the path;
	// by default, s3:// is at Amazon. gs:// is always at Google.
	Endpoint string
	// Region is the region of the bucket; default us-east-1.
	Region string
	// Keys sign requests to s3:// and GSKeys those to gs://, which are an HMAC key; without them,
	// only public objects can be read. A configured source that gives no keys is an error.
	Keys, GSKeys aws.CredentialsProvider
	// Load returns what is not set above, when a bucket is opened; may be nil.
	Load func(context.Context) (S3, error)
}

const google = "https://storage.googleapis.com"

func s3Files(c *client, rest string) (*tree, string, error) {
	o := c.o.S3
	if o.Load != nil {
		loaded, err := o.Load(c.ctx)
		if err != nil {
			return nil, "", err
		}
		o.Endpoint, o.Region, o.Keys = cmp.Or(o.Endpoint, loaded.Endpoint), cmp.Or(o.Region, loaded.Region), cmp.Or(o.Keys, loaded.Keys)
	}
	k := key{region: cmp.Or(o.Region, "us-east-1"), keys: o.Keys}
	bucket, _, _ := strings.Cut(rest, "/")
	base := o.Endpoint
	if base == "" && !strings.Contains(bucket, ".") { // the certificate of Amazon is valid for one label
		return bucketFiles(c, "https://"+bucket+".s3."+k.region+".amazonaws.com", "", rest, k)
	}
	return bucketFiles(c, cmp.Or(base, "https://s3."+k.region+".amazonaws.com"), bucket, rest, k)
}

func gsFiles(c *client, rest string) (*tree, string, error) {
	bucket, _, _ := strings.Cut(rest, "/")
	return bucketFiles(c, google, bucket, rest, key{region: "auto", keys: c.o.S3.GSKeys})
}

// validBucket reports whether s can be the name of a bucket. Such a name cannot lead to another host.
func validBucket(s string) bool {
	return len(s) >= 3 && len(s) <= 222 && strings.Trim(s, "abcdefghijklmnopqrstuvwxyz0123456789-._") == "" && !strings.Contains(s, "..") && s[0] != '-' && s[0] != '.'
}

// bucketFiles returns the object with a key, or the objects below it. inPath is the bucket if
// the host does not name it.
func bucketFiles(c *client, base, inPath, rest string, k key) (*tree, string, error) {
	bucket, name, _ := strings.Cut(rest, "/")
	at, err := url.Parse(base)
	if err != nil || !validBucket(bucket) {
		return nil, "", fmt.Errorf("%w: give an object or a prefix as s3://bucket/key", ErrForbidden)
	}
	if at.Path = strings.TrimSuffix(at.Path, "/"); inPath != "" {
		if at, err = locate(at, "", inPath); err != nil {
			return nil, "", err
		}
	}
	c.sign = func(req *http.Request) error {
		if req.URL.Host == at.Host && req.URL.Scheme == at.Scheme {
			return k.sign(req)
		}
		return nil
	}
	s := bucketAt{c: c, at: at, name: bucket}
	if folder := strings.TrimSuffix(name, "/"); folder != name || name == "" {
		return s.listBelow(folder)
	}
	if err := checkName(name); err != nil {
		return nil, "", err
	}
	dir, base := path.Split(name)
	t := newTree(c)
	err = s.list(t, dir, "/")
	if r, ok := errors.AsType[*refusal](err); ok && r.status == http.StatusForbidden {
		u, err := s.object(name)
		if err != nil {
			return nil, "", err
		}
		return c.singleFile(u, true) // the key may allow reading but not listing
	}
	if err != nil {
		return nil, "", err
	}
	if _, ok := t.files[base]; ok {
		return t, base, nil
	}
	return s.listBelow(name)
}

// A bucketAt is a bucket and its address.
type bucketAt struct {
	c    *client
	at   *url.URL
	name string
}

// object returns the address of a key.
func (s *bucketAt) object(key string) (*url.URL, error) {
	return locate(s.at, "", strings.Split(key, "/")...)
}

// listBelow returns all objects below a folder.
func (s *bucketAt) listBelow(folder string) (*tree, string, error) {
	t := newTree(s.c)
	if folder != "" {
		if err := checkName(folder); err != nil {
			return nil, "", err
		}
		folder += "/"
	}
	if err := s.list(t, folder, ""); err != nil {
		return nil, "", err
	}
	if len(t.files) == 0 {
		return nil, "", fmt.Errorf("the bucket %s has no objects at %s: %w", s.name, wire.Quote(folder), fs.ErrNotExist)
	}
	return t, ".", nil
}

// list adds the objects with a prefix, under their names after it. With a delimiter, names
// that contain it are left out.
func (s *bucketAt) list(t *tree, prefix, delimiter string) error {
	next, last := "", ""
	for {
		q := url.Values{"list-type": {"2"}, "prefix": {prefix}}
		if delimiter != "" {
			q.Set("delimiter", delimiter)
		}
		if next != "" {
			q.Set("continuation-token", next)
		}
		u := *s.at
		u.RawQuery = strings.ReplaceAll(q.Encode(), "+", "%20")
		var page *listing
		err := s.c.get(&u, nil, func(resp *http.Response) error {
			if r := resp.Header.Get("X-Amz-Bucket-Region"); resp.StatusCode == http.StatusMovedPermanently && r != "" {
				return fmt.Errorf("the bucket %s is in the region %q: set AWS_REGION", s.name, r)
			}
			if resp.StatusCode != http.StatusOK {
				return refused("the listing of the bucket "+s.name, resp)
			}
			text, err := s.c.text(resp)
			if err != nil {
				return err
			}
			page, err = readListing(text)
			return err
		})
		if err != nil {
			return err
		}
		for _, o := range page.objects {
			name, ok := strings.CutPrefix(o.key, prefix)
			if !ok {
				return fmt.Errorf("the bucket %s lists objects without the requested prefix", s.name)
			}
			if (name == "" || strings.HasSuffix(name, "/")) && o.size == 0 {
				continue // a placeholder for a folder, made by a console
			}
			u, err := s.object(o.key)
			if err != nil {
				return err
			}
			if err := t.add(name, entry{size: o.size, url: u, md5: true}); err != nil {
				return err
			}
		}
		switch {
		case !page.more:
			return nil
		case page.next == "" || page.next == next || len(page.objects)+page.folders == 0 || page.last() != "" && page.last() == last:
			return wire.ErrMismatch.Errorf("a page of the listing of the bucket %s adds nothing and says that more follow", s.name)
		}
		next, last = page.next, page.last()
		s.c.releaseAnswers()
	}
}
