package remote_test

import (
	"context"
	"encoding/base64"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/remote"
)

func TestKeysComeFromWhereOtherToolsKeepThem(t *testing.T) {
	dir := t.TempDir()
	auth := func(s string) string { return base64.StdEncoding.EncodeToString([]byte(s)) }
	write(t, filepath.Join(dir, "config.json"), []byte(`{"auths": {"https://index.docker.io/v1/": {"auth": "`+auth("me:one")+`"},
		"ghcr.io": {"auth": "`+auth("you:two:three")+`"}, "evildocker.io": {"auth": "`+auth("x:y")+`"}, "own.example:5000": {"auth": "`+auth("a:b")+`"}}}`))
	write(t, filepath.Join(dir, "token"), []byte("hf_secret\n"))
	t.Setenv("HOME", dir)
	t.Setenv("DOCKER_CONFIG", dir)
	t.Setenv("HF_HOME", dir)
	t.Setenv("HF_TOKEN", "")
	t.Setenv("HF_TOKEN_PATH", "")
	o := remote.FromEnv()
	if o.Token != "hf_secret" {
		t.Errorf("token %q", o.Token)
	}
	for host, want := range map[string]string{"registry-1.docker.io": "me one", "ghcr.io": "you two:three", "ghcr.io:443": "you two:three", "ghcr.io:444": "", "own.example:5000": "a b", "own.example": "", "other.example": "", "docker.io.example": ""} {
		name, password, err := o.Login(t.Context(), host)
		if got := strings.TrimSpace(name + " " + password); got != want || err != nil {
			t.Errorf("%s: %q, %v, want %q", host, got, err, want)
		}
	}
}

// A store that cannot be read is an error, and not treated as a missing password.
func TestABrokenStoreOfPasswordsIsAnError(t *testing.T) {
	for what, config := range map[string]string{
		"no JSON":          `{"auths": `,
		"no base64":        `{"auths": {"r.example": {"auth": "?"}}}`,
		"a missing helper": `{"credHelpers": {"r.example": "of-nobody"}}`,
		"a token":          `{"auths": {"r.example": {"auth": "", "identitytoken": "x"}}}`,
	} {
		dir := t.TempDir()
		write(t, filepath.Join(dir, "config.json"), []byte(config))
		t.Setenv("HOME", dir)
		t.Setenv("DOCKER_CONFIG", dir)
		if name, password, err := remote.FromEnv().Login(t.Context(), "r.example"); err == nil || name+password != "" {
			t.Errorf("%s: %q %q %v", what, name, password, err)
		}
	}
}

// A credential helper is called with the host and port of the challenge, and no other.
func TestCredentialHelpers(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "config.json"), []byte(`{"credHelpers": {"123.dkr.ecr.eu-west-1.amazonaws.com": "test", "gcr.io": "test", "r.example:5000": "test", "slow.example": "slow", "none.example": "none"}}`))
	helper := func(name, script string) {
		path := filepath.Join(dir, "docker-credential-"+name)
		write(t, path, []byte("#!/bin/sh\n"+script))
		if err := os.Chmod(path, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	helper("test", `read host; printf '{"ServerURL":"%s","Username":"AWS","Secret":"for %s"}' "$host" "$host"`)
	helper("none", `read host; echo "credentials not found in native keychain"; exit 1`)
	helper("slow", `exec sleep 100`)
	t.Setenv("PATH", dir+string(filepath.ListSeparator)+os.Getenv("PATH"))
	t.Setenv("HOME", dir)
	t.Setenv("DOCKER_CONFIG", dir)
	login := remote.FromEnv().Login
	for host, want := range map[string]string{
		"123.dkr.ecr.eu-west-1.amazonaws.com": "AWS for 123.dkr.ecr.eu-west-1.amazonaws.com", "gcr.io": "AWS for gcr.io", "gcr.io:443": "AWS for gcr.io",
		"r.example:5000": "AWS for r.example:5000", "r.example": "", "r.example:5001": "", "none.example": "",
	} {
		name, password, err := login(t.Context(), host)
		if got := strings.TrimSpace(name + " " + password); got != want || err != nil {
			t.Errorf("%s: %q, %v, want %q", host, got, err, want)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, _, err := login(ctx, "slow.example"); !errors.Is(err, context.Canceled) {
		t.Errorf("a helper that does not answer: %v", err)
	}
}

// An answer of many empty objects is charged for what it decodes to.
func TestAListingIsChargedForWhatItDecodesTo(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Write([]byte(`{"sha":"` + sha + `","siblings":[` + strings.Repeat("{},", 1<<20) + `{}]}`))
	}))
	defer s.Close()
	b := limits.Policy{MaxTotalBytes: 64 << 20}.Budget(context.Background())
	defer b.Close()
	_, err := remote.Open(b, "hf://me/model", remote.Options{AllowPrivate: true, Hub: s.URL})
	if e, ok := errors.AsType[*limits.Error](err); !ok || e.Axis != limits.Total {
		t.Error(err)
	}
}
