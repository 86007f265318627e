package remote

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"
)

// A key signs requests with AWS Signature Version 4.
type key struct {
	region string
	keys   aws.CredentialsProvider // nil for none
	now    func() time.Time        // nil for time.Now
}

// emptySHA256 is the digest of an empty body.
const emptySHA256 = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"

// signer signs the path of a request unchanged: locate has escaped it.
var signer = v4.NewSigner(func(o *v4.SignerOptions) { o.DisableURIPathEscaping = true })

// sign adds the date and the signature to a request. Without keys it does nothing.
func (k *key) sign(req *http.Request) error {
	if k.keys == nil {
		return nil
	}
	keys, err := k.keys.Retrieve(req.Context())
	if errors.Is(err, errNoKeys) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("the keys for s3: %w", err)
	}
	if !keys.HasKeys() { // the signer would send the request as it is
		return fmt.Errorf("the keys for s3: %s gives empty ones", cmp.Or(keys.Source, "the configuration"))
	}
	at := time.Now()
	if k.now != nil {
		at = k.now()
	}
	req.Header.Set("X-Amz-Content-Sha256", emptySHA256)
	return signer.SignHTTP(req.Context(), keys, req, emptySHA256, "s3", k.region, at.UTC())
}
