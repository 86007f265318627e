package remote_test

import (
	"context"
	"encoding/base64"
	"errors"
	"net/http"
	"net/http/httptest"
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
		"ghcr.io": {"auth": "`+auth("you:two:three")+`"}, "evildocker.io": {"auth": "`+auth("x:y")+`"}, "bad.example": {"auth": "?"}}}`))
	write(t, filepath.Join(dir, "token"), []byte("hf_secret\n"))
	t.Setenv("DOCKER_CONFIG", dir)
	t.Setenv("HF_HOME", dir)
	t.Setenv("HF_TOKEN", "")
	t.Setenv("HF_TOKEN_PATH", "")
	t.Setenv("AWS_REGION", "eu-west-1")
	o := remote.FromEnv()
	if o.Token != "hf_secret" || o.S3.Region != "eu-west-1" {
		t.Errorf("token %q, region %q", o.Token, o.S3.Region)
	}
	for host, want := range map[string]string{"registry-1.docker.io": "me one", "ghcr.io": "you two:three", "bad.example": "", "other.example": "", "docker.io.example": ""} {
		name, password, ok := o.Login(host)
		if got := strings.TrimSpace(name + " " + password); got != want || ok != (want != "") {
			t.Errorf("%s: %q, want %q", host, got, want)
		}
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
