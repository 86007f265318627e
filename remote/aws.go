package remote

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/credentials/ec2rolecreds"
	"github.com/aws/smithy-go/logging"
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

// errNoKeys means that requests are sent without a signature, which public objects need not.
var errNoKeys = errors.New("no keys")

// metadataKeys are those of the metadata service, which Amazon's tools ask when nothing is
// configured. Where it does not answer at once, this is no machine of Amazon's, and there are
// no keys.
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
	k, err := m.from.Retrieve(short)
	if ctx.Err() != nil { // the operation has ended, which says nothing about the machine
		return aws.Credentials{}, context.Cause(ctx)
	}
	if err != nil {
		m.none.Store(true)
		return aws.Credentials{}, errNoKeys
	}
	return k, nil
}
