package remote

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptrace"
	"strings"
	"sync/atomic"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/credentials/ec2rolecreds"
	"github.com/aws/smithy-go/logging"
	smithyhttp "github.com/aws/smithy-go/transport/http"
)

// fromAWS returns region, endpoint and keys as Amazon's own tools find them: in the
// environment, in the files config and credentials (profiles, single sign-on, a role, a
// program), from a web identity, from the agent of a container, or from the metadata
// service of a virtual machine. It reads files; keys are fetched when a request is signed.
func fromAWS(ctx context.Context) (S3, error) {
	c, err := config.LoadDefaultConfig(ctx, config.WithLogger(logging.Nop{}))
	if err != nil {
		return S3{}, fmt.Errorf("the configuration for s3: %w", err)
	}
	s := S3{Endpoint: aws.ToString(c.BaseEndpoint), Region: c.Region, Keys: c.Credentials}
	if aws.IsCredentialsProvider(c.Credentials, (*ec2rolecreds.Provider)(nil)) {
		s.Keys = &metadataKeys{from: c.Credentials}
	}
	for _, source := range c.ConfigSources {
		of, ok := source.(interface {
			GetServiceBaseEndpoint(ctx context.Context, service string) (string, bool, error)
		})
		if !ok {
			continue
		}
		if at, found, err := of.GetServiceBaseEndpoint(ctx, "S3"); err != nil {
			return S3{}, fmt.Errorf("the configuration for s3: %w", err)
		} else if found {
			s.Endpoint = at
			break
		}
	}
	return s, nil
}

// errNoKeys means that requests are sent without a signature, which is enough for public objects.
var errNoKeys = errors.New("no keys")

// metadataKeys are the keys of the metadata service, which Amazon's tools ask when nothing is
// configured. There are no keys if the service does not answer within metadataTime, which means that
// this is not a machine of Amazon's, or if it answers that the machine has no role. Any other answer
// without keys is an error: without a signature, a bucket may answer with other files.
type metadataKeys struct {
	from aws.CredentialsProvider
	none atomic.Bool
}

const metadataTime = time.Second

func (m *metadataKeys) Retrieve(ctx context.Context) (aws.Credentials, error) {
	if m.none.Load() {
		return aws.Credentials{}, errNoKeys
	}
	short, cancel := context.WithTimeout(ctx, metadataTime)
	defer cancel()
	var said atomic.Bool
	k, err := m.from.Retrieve(httptrace.WithClientTrace(short, &httptrace.ClientTrace{GotFirstResponseByte: func() { said.Store(true) }}))
	if ctx.Err() != nil { // the operation has ended, which says nothing about the machine
		return aws.Credentials{}, context.Cause(ctx)
	}
	switch {
	case err == nil:
		return k, nil
	case !said.Load(), hasNoRole(err):
		m.none.Store(true)
		return aws.Credentials{}, errNoKeys
	}
	return aws.Credentials{}, fmt.Errorf("the metadata service of this machine (AWS_EC2_METADATA_DISABLED=true does not ask it): %w", err)
}

// hasNoRole reports whether the service answered that it has no list of roles.
func hasNoRole(err error) bool {
	r, ok := errors.AsType[*smithyhttp.ResponseError](err)
	return ok && r.HTTPStatusCode() == http.StatusNotFound && r.Response.Request != nil &&
		strings.HasSuffix(strings.TrimSuffix(r.Response.Request.URL.Path, "/"), "/iam/security-credentials")
}
