package remote

import (
	"context"
	"fmt"
	"strings"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
)

// dockerRegistry is the host with the files of docker.io.
const dockerRegistry = "registry-1.docker.io"

// A registryName is the host and port of a registry.
type registryName string

func (n registryName) String() string      { return string(n) }
func (n registryName) RegistryStr() string { return string(n) }

// dockerLogin returns the credentials for exactly this host and port: from docker's or podman's
// file, or from the credential helper that the file names for the host or for all hosts. A
// helper is a program of the operator's. When the context ends, it is no longer waited for.
func dockerLogin(ctx context.Context, host string) (user, password string, err error) {
	switch host = strings.TrimSuffix(host, ":443"); host {
	case dockerRegistry, "docker.io":
		host = name.DefaultRegistry // its credentials are stored under another name than that of its files
	}
	type found struct {
		authn.AuthConfig
		err error
	}
	answer := make(chan found, 1)
	go func() {
		var f found
		auth, err := authn.Resolve(ctx, authn.DefaultKeychain, registryName(host))
		if err == nil {
			var config *authn.AuthConfig
			if config, err = authn.Authorization(ctx, auth); err == nil {
				f.AuthConfig = *config
			}
		}
		f.err = err
		answer <- f
	}()
	select {
	case <-ctx.Done():
		return "", "", fmt.Errorf("the credentials for the registry %s: %w", host, context.Cause(ctx))
	case f := <-answer:
		switch {
		case f.err != nil:
			return "", "", fmt.Errorf("the credentials for the registry %s: %w (fix docker's configuration, or set DOCKER_CONFIG to a folder without one to continue without a login)", host, f.err)
		case f.IdentityToken != "" || f.RegistryToken != "":
			return "", "", fmt.Errorf("the credentials for the registry %s are a token for other clients: store a name and a password by docker login", host)
		}
		return f.Username, f.Password, nil
	}
}
