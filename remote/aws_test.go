package remote_test

import (
	"crypto/sha1"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/anamnesis-go/anamnesis/remote"
)

// A keyed is a bucket that notes who signed.
type keyed struct {
	*httptest.Server
	mu   sync.Mutex
	keys []string
}

func newKeyed(t *testing.T) *keyed {
	k := &keyed{}
	k.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, key, _ := strings.Cut(r.Header.Get("Authorization"), "Credential=")
		key, _, _ = strings.Cut(key, "/")
		k.mu.Lock()
		k.keys = append(k.keys, strings.TrimSpace(key+" "+r.Header.Get("X-Amz-Security-Token")))
		k.mu.Unlock()
		fmt.Fprint(w, "<ListBucketResult></ListBucketResult>")
	}))
	t.Cleanup(k.Close)
	return k
}

// Keys come from every place in which Amazon's tools look for them, and a place that is
// configured and gives none ends in an error, never in a request without a signature.
func TestKeysForBucketsComeFromWhereAmazonsToolsTakeThem(t *testing.T) {
	later := time.Now().Add(time.Hour).UTC().Format(time.RFC3339)
	answer := func(text string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, text) }
	}
	serve := func(t *testing.T, h http.Handler) string {
		s := httptest.NewServer(h)
		t.Cleanup(s.Close)
		return s.URL
	}
	const gone, roles = "http://127.0.0.1:1", "/latest/meta-data/iam/security-credentials/"
	status := func(code int) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(code) }
	}
	silent := func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }
	metadata := func(but map[string]http.HandlerFunc) func(t *testing.T, dir string) {
		return func(t *testing.T, _ string) {
			has := map[string]http.HandlerFunc{
				"/latest/api/token": func(w http.ResponseWriter, _ *http.Request) {
					w.Header().Set("X-Aws-Ec2-Metadata-Token-Ttl-Seconds", "600")
					fmt.Fprint(w, "token")
				},
				roles:          answer("role"),
				roles + "role": answer(`{"Code": "Success", "AccessKeyId": "metadata", "SecretAccessKey": "s", "Token": "session", "Expiration": "` + later + `"}`),
			}
			maps.Copy(has, but)
			t.Setenv("AWS_EC2_METADATA_SERVICE_ENDPOINT", serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				name := r.URL.Path
				if name+"/" == roles {
					name = roles
				}
				if h := has[name]; h != nil {
					h(w, r)
				} else {
					w.WriteHeader(http.StatusNotFound)
				}
			})))
		}
	}
	for name, c := range map[string]struct {
		set  func(t *testing.T, dir string)
		want string // who signs; "" for nobody, "-" for an error before a request
	}{
		"nothing": {func(*testing.T, string) {}, ""},
		"the environment": {func(t *testing.T, _ string) {
			t.Setenv("AWS_ACCESS_KEY_ID", "env")
			t.Setenv("AWS_SECRET_ACCESS_KEY", "s")
			t.Setenv("AWS_SESSION_TOKEN", "session")
		}, "env session"},
		"a profile": {func(t *testing.T, dir string) {
			write(t, filepath.Join(dir, "credentials"), []byte("[default]\naws_access_key_id = other\naws_secret_access_key = s\n[work]\naws_access_key_id = work\naws_secret_access_key = s\n"))
			t.Setenv("AWS_PROFILE", "work")
		}, "work"},
		"a profile that is missing": {func(t *testing.T, dir string) {
			write(t, filepath.Join(dir, "credentials"), []byte("[default]\naws_access_key_id = other\naws_secret_access_key = s\n"))
			t.Setenv("AWS_PROFILE", "work")
		}, "-"},
		"a program": {func(t *testing.T, dir string) {
			program := filepath.Join(dir, "program")
			write(t, program, []byte("#!/bin/sh\necho '{\"Version\": 1, \"AccessKeyId\": \"program\", \"SecretAccessKey\": \"s\"}'\n"))
			if err := os.Chmod(program, 0o755); err != nil {
				t.Fatal(err)
			}
			write(t, filepath.Join(dir, "config"), []byte("[default]\ncredential_process = "+program+"\n"))
		}, "program"},
		"a program with empty keys": {func(t *testing.T, dir string) {
			program := filepath.Join(dir, "program")
			write(t, program, []byte("#!/bin/sh\necho '{\"Version\": 1, \"AccessKeyId\": \"\", \"SecretAccessKey\": \"\"}'\n"))
			if err := os.Chmod(program, 0o755); err != nil {
				t.Fatal(err)
			}
			write(t, filepath.Join(dir, "config"), []byte("[default]\ncredential_process = "+program+"\n"))
		}, "-"},
		"the agent of a container with empty keys": {func(t *testing.T, _ string) {
			t.Setenv("AWS_CONTAINER_CREDENTIALS_FULL_URI", serve(t, answer(`{"AccessKeyId": "", "SecretAccessKey": "", "Token": "", "Expiration": "`+later+`"}`)))
		}, "-"},
		"a program that fails": {func(t *testing.T, dir string) {
			write(t, filepath.Join(dir, "config"), []byte("[default]\ncredential_process = false\n"))
		}, "-"},
		"single sign-on": {func(t *testing.T, dir string) {
			write(t, filepath.Join(dir, "config"), []byte("[default]\nsso_start_url = https://start.example\nsso_region = eu-west-1\nsso_account_id = 1\nsso_role_name = r\n"))
			sso(t, dir, "https://start.example", `{"accessToken": "t", "expiresAt": "`+later+`"}`)
			t.Setenv("AWS_ENDPOINT_URL_SSO", serve(t, answer(`{"roleCredentials": {"accessKeyId": "sso", "secretAccessKey": "s", "sessionToken": "session", "expiration": 32503680000000}}`)))
		}, "sso session"},
		"single sign-on that has expired": {func(t *testing.T, dir string) {
			write(t, filepath.Join(dir, "config"), []byte("[default]\nsso_start_url = https://start.example\nsso_region = eu-west-1\nsso_account_id = 1\nsso_role_name = r\n"))
			sso(t, dir, "https://start.example", `{"accessToken": "t", "expiresAt": "2020-01-01T00:00:00Z"}`)
		}, "-"},
		"a web identity": {func(t *testing.T, dir string) {
			write(t, filepath.Join(dir, "token"), []byte("jwt"))
			t.Setenv("AWS_WEB_IDENTITY_TOKEN_FILE", filepath.Join(dir, "token"))
			t.Setenv("AWS_ROLE_ARN", "arn:aws:iam::1:role/r")
			t.Setenv("AWS_ENDPOINT_URL_STS", serve(t, answer(`<AssumeRoleWithWebIdentityResponse xmlns="https://sts.amazonaws.com/doc/2011-06-15/"><AssumeRoleWithWebIdentityResult><Credentials><AccessKeyId>web</AccessKeyId><SecretAccessKey>s</SecretAccessKey><SessionToken>session</SessionToken><Expiration>`+later+`</Expiration></Credentials></AssumeRoleWithWebIdentityResult></AssumeRoleWithWebIdentityResponse>`)))
		}, "web session"},
		"the agent of a container": {func(t *testing.T, _ string) {
			t.Setenv("AWS_CONTAINER_CREDENTIALS_FULL_URI", serve(t, answer(`{"AccessKeyId": "container", "SecretAccessKey": "s", "Token": "session", "Expiration": "`+later+`"}`)))
		}, "container session"},
		"the metadata service":                              {metadata(nil), "metadata session"},
		"the metadata service of a machine without a role":  {metadata(map[string]http.HandlerFunc{roles: status(404)}), ""},
		"the metadata service fails at the token":           {metadata(map[string]http.HandlerFunc{"/latest/api/token": status(500)}), "-"},
		"the metadata service refuses the token":            {metadata(map[string]http.HandlerFunc{"/latest/api/token": status(400)}), "-"},
		"the metadata service fails at the roles":           {metadata(map[string]http.HandlerFunc{roles: status(500)}), "-"},
		"the metadata service does not allow it":            {metadata(map[string]http.HandlerFunc{roles: status(403)}), "-"},
		"the metadata service has no keys of the role":      {metadata(map[string]http.HandlerFunc{roles + "role": status(404)}), "-"},
		"the metadata service says nothing after the token": {metadata(map[string]http.HandlerFunc{roles: silent}), "-"},
		"the metadata service says nothing after the roles": {metadata(map[string]http.HandlerFunc{roles + "role": silent}), "-"},
		"the metadata service says nothing":                 {metadata(map[string]http.HandlerFunc{"/latest/api/token": silent, roles: silent}), ""},
		"the metadata service has a role with an error":     {metadata(map[string]http.HandlerFunc{roles + "role": answer(`{"Code": "AssumeRoleUnauthorizedAccess", "Message": "no"}`)}), "-"},
		"the metadata service has a role that is no JSON":   {metadata(map[string]http.HandlerFunc{roles + "role": answer(`<html>`)}), "-"},
		"the metadata service has an empty list of roles":   {metadata(map[string]http.HandlerFunc{roles: answer("")}), "-"},
		"the metadata service has a role with empty keys":   {metadata(map[string]http.HandlerFunc{roles + "role": answer(`{"Code": "Success"}`)}), "-"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			for _, e := range os.Environ() {
				if name, _, _ := strings.Cut(e, "="); strings.HasPrefix(name, "AWS_") {
					t.Setenv(name, "")
				}
			}
			k := newKeyed(t)
			for name, value := range map[string]string{
				"HOME": dir, "AWS_CONFIG_FILE": filepath.Join(dir, "config"), "AWS_SHARED_CREDENTIALS_FILE": filepath.Join(dir, "credentials"),
				"AWS_EC2_METADATA_SERVICE_ENDPOINT": gone, "AWS_REGION": "eu-west-1", "AWS_ENDPOINT_URL_S3": k.URL, "AWS_MAX_ATTEMPTS": "1",
			} {
				t.Setenv(name, value)
			}
			c.set(t, dir)
			o := remote.FromEnv()
			o.AllowPrivate = true
			_, err := open(t, "s3://models/all/", o)
			switch {
			case c.want == "-":
				if err == nil || len(k.keys) != 0 || !strings.Contains(err.Error(), "for s3") {
					t.Errorf("%v, after the requests %q", err, k.keys)
				}
			case len(k.keys) != 1 || k.keys[0] != c.want:
				t.Errorf("signed by %q, not %q: %v", k.keys, c.want, err)
			}
		})
	}
}

// The address of a service comes from a profile too.
func TestAProfileNamesTheAddressOfItsBuckets(t *testing.T) {
	dir, k := t.TempDir(), newKeyed(t)
	write(t, filepath.Join(dir, "config"), []byte("[default]\nregion = eu-west-1\nservices = mine\naws_access_key_id = me\naws_secret_access_key = s\n[services mine]\ns3 =\n  endpoint_url = "+k.URL+"\n"))
	for _, name := range []string{"AWS_PROFILE", "AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL", "AWS_ACCESS_KEY_ID", "AWS_REGION"} {
		t.Setenv(name, "")
	}
	t.Setenv("HOME", dir)
	t.Setenv("AWS_CONFIG_FILE", filepath.Join(dir, "config"))
	t.Setenv("AWS_SHARED_CREDENTIALS_FILE", filepath.Join(dir, "credentials"))
	o := remote.FromEnv()
	o.AllowPrivate = true
	if _, err := open(t, "s3://models/all/", o); len(k.keys) != 1 || k.keys[0] != "me" {
		t.Errorf("signed by %q: %v", k.keys, err)
	}
}

// sso stores a token as aws sso login does: under the SHA-1 of the address where it begins.
func sso(t *testing.T, dir, start, token string) {
	t.Helper()
	cache := filepath.Join(dir, ".aws", "sso", "cache")
	if err := os.MkdirAll(cache, 0o700); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(cache, fmt.Sprintf("%x.json", sha1.Sum([]byte(start)))), []byte(token))
}
