package remote

import (
	"cmp"
	"encoding/base64"
	"encoding/json"
	"maps"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// FromEnv returns options from the environment and from files, as other tools of the hub, of
// buckets and of registries read them. They are never printed.
//
//	HF_ENDPOINT, HF_TOKEN, HF_TOKEN_PATH, HF_HOME
//	AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_SESSION_TOKEN, AWS_REGION, AWS_ENDPOINT_URL_S3
//	GS_ACCESS_KEY_ID, GS_SECRET_ACCESS_KEY: an HMAC key
//	DOCKER_CONFIG: the folder of config.json
//	HTTPS_PROXY, NO_PROXY
func FromEnv() Options {
	o := Options{
		Hub: os.Getenv("HF_ENDPOINT"), Token: hubToken(),
		S3: S3{
			Endpoint:  cmp.Or(os.Getenv("AWS_ENDPOINT_URL_S3"), os.Getenv("AWS_ENDPOINT_URL")),
			Region:    cmp.Or(os.Getenv("AWS_REGION"), os.Getenv("AWS_DEFAULT_REGION")),
			AccessKey: os.Getenv("AWS_ACCESS_KEY_ID"), SecretKey: os.Getenv("AWS_SECRET_ACCESS_KEY"), Token: os.Getenv("AWS_SESSION_TOKEN"),
			GSAccessKey: os.Getenv("GS_ACCESS_KEY_ID"), GSSecretKey: os.Getenv("GS_SECRET_ACCESS_KEY"),
		},
		Login: dockerLogin,
	}
	if value := cmp.Or(os.Getenv("HTTPS_PROXY"), os.Getenv("https_proxy")); value != "" {
		o.Proxy = proxyOf(value)
		o.NoProxy = strings.FieldsFunc(cmp.Or(os.Getenv("NO_PROXY"), os.Getenv("no_proxy")), func(r rune) bool { return r == ',' || r == ' ' })
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

// dockerLogin returns the credentials that docker login has stored for exactly this host and port.
// Credential helpers are not started.
func dockerLogin(host string) (name, password string, ok bool) {
	var config struct {
		Auths map[string]struct {
			Auth string `json:"auth"`
		} `json:"auths"`
	}
	if json.Unmarshal(readSmall(filepath.Join(cmp.Or(os.Getenv("DOCKER_CONFIG"), home(".docker")), "config.json")), &config) != nil {
		return "", "", false
	}
	for _, key := range slices.Sorted(maps.Keys(config.Auths)) {
		at, _, _ := strings.Cut(strings.TrimPrefix(key, "https://"), "/")
		if withPort(at) != withPort(host) && !(isDocker(at) && isDocker(host)) {
			continue
		}
		if text, err := base64.StdEncoding.DecodeString(config.Auths[key].Auth); err == nil {
			if name, password, ok := strings.Cut(string(text), ":"); ok {
				return name, password, true
			}
		}
	}
	return "", "", false
}

// isDocker reports whether a host is one of the names of Docker's own registry, whose credentials
// are stored under another name than that of its files.
func isDocker(host string) bool {
	return host == "docker.io" || host == "index.docker.io" || host == dockerRegistry
}

// dockerRegistry has the files of docker.io.
const dockerRegistry = "registry-1.docker.io"

// withPort returns a host with its port, which is that of https if it has none.
func withPort(host string) string {
	if _, _, err := net.SplitHostPort(host); err == nil {
		return host
	}
	return net.JoinHostPort(strings.Trim(host, "[]"), "443")
}
