package remote

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"slices"
	"strings"
	"time"
)

// A key signs requests with AWS Signature Version 4:
// https://docs.aws.amazon.com/AmazonS3/latest/API/sig-v4-header-based-auth.html
type key struct {
	region                string
	access, secret, token string
	now                   func() time.Time // nil for time.Now
}

// emptySHA256 is the digest of an empty body.
const emptySHA256 = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"

// sign adds the date and the signature to a request; nothing if the key is empty.
func (k *key) sign(req *http.Request) {
	if k.access == "" || k.secret == "" {
		return
	}
	now := time.Now
	if k.now != nil {
		now = k.now
	}
	at := now().UTC()
	date := at.Format("20060102")
	req.Header.Set("X-Amz-Date", at.Format("20060102T150405Z"))
	req.Header.Set("X-Amz-Content-Sha256", emptySHA256)
	if k.token != "" {
		req.Header.Set("X-Amz-Security-Token", k.token)
	}
	headers := map[string]string{"host": req.URL.Host}
	for name := range req.Header {
		if lower := strings.ToLower(name); lower == "range" || strings.HasPrefix(lower, "x-amz-") {
			headers[lower] = strings.TrimSpace(req.Header.Get(name))
		}
	}
	var names, lines []string
	for name := range headers {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		lines = append(lines, name+":"+headers[name]+"\n")
	}
	path := req.URL.EscapedPath()
	if path == "" {
		path = "/"
	}
	signed := strings.Join(names, ";")
	canonical := strings.Join([]string{req.Method, path, req.URL.RawQuery, strings.Join(lines, ""), signed, emptySHA256}, "\n")
	scope := date + "/" + k.region + "/s3/aws4_request"
	digest := sha256.Sum256([]byte(canonical))
	text := strings.Join([]string{"AWS4-HMAC-SHA256", at.Format("20060102T150405Z"), scope, hex.EncodeToString(digest[:])}, "\n")
	mac := []byte("AWS4" + k.secret)
	for _, part := range []string{date, k.region, "s3", "aws4_request", text} {
		h := hmac.New(sha256.New, mac)
		h.Write([]byte(part))
		mac = h.Sum(nil)
	}
	req.Header.Set("Authorization", "AWS4-HMAC-SHA256 Credential="+k.access+"/"+scope+",SignedHeaders="+signed+",Signature="+hex.EncodeToString(mac))
}
