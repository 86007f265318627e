package remote

import (
	"cmp"
	"os"
	"path/filepath"
	"strings"

	"github.com/aws/aws-sdk-go-v2/credentials"
)

// FromEnv returns options from the environment and from files, which it reads like the usual tools
// of hubs, buckets and registries. Secrets are never printed.
//
//	HF_ENDPOINT, HF_TOKEN, HF_TOKEN_PATH, HF_HOME
//	AWS_ACCESS_KEY_ID, AWS_PROFILE and all else that Amazon's tools read, when a bucket is opened
//	GS_ACCESS_KEY_ID, GS_SECRET_ACCESS_KEY: an HMAC key
//	DOCKER_CONFIG, REGISTRY_AUTH_FILE: what docker login and podman login have stored, and
//	  the credential helpers that are named there, when a registry asks
//	HTTPS_PROXY, NO_PROXY
func FromEnv() Options {
	o := Options{
		Hub: os.Getenv("HF_ENDPOINT"), Token: hubToken(),
		S3:    S3{Load: fromAWS},
		Login: dockerLogin,
	}
	if access, secret := os.Getenv("GS_ACCESS_KEY_ID"), os.Getenv("GS_SECRET_ACCESS_KEY"); access != "" && secret != "" {
		o.S3.GSKeys = credentials.NewStaticCredentialsProvider(access, secret, "")
	}
	if value := cmp.Or(os.Getenv("HTTPS_PROXY"), os.Getenv("https_proxy")); value != "" {
		o.Proxy = proxyOf(value)
		o.NoProxy = cmp.Or(os.Getenv("NO_PROXY"), os.Getenv("no_proxy"))
	}
	return o
}

// readSmall returns the content of a small file, nil if it cannot be read.
func readSmall(path string) []byte {
	if info, err := os.Stat(path); err != nil || !info.Mode().IsRegular() || info.Size() > 1<<20 {
		return nil
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return nil
	}
	return text
}

func home(parts ...string) string {
	dir, err := os.UserHomeDir()
	if err != nil {
		return ""
	}
	return filepath.Join(append([]string{dir}, parts...)...)
}

// hubToken returns the token that the tools of the hub keep.
func hubToken() string {
	if t := os.Getenv("HF_TOKEN"); t != "" {
		return t
	}
	file := cmp.Or(os.Getenv("HF_TOKEN_PATH"), filepath.Join(cmp.Or(os.Getenv("HF_HOME"), filepath.Join(cmp.Or(os.Getenv("XDG_CACHE_HOME"), home(".cache")), "huggingface")), "token"))
	return strings.TrimSpace(string(readSmall(file)))
}
