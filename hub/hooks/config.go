package hooks

import (
	"crypto/ed25519"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strings"

	"github.com/anamnesis-go/anamnesis/internal/strictjson"
	"github.com/anamnesis-go/anamnesis/limits"
)

// An Out is told of events: at an address, or in a file with one JSON text on each line.
type Out struct {
	Name   string
	URL    string
	File   string
	Events []string // kinds; none for all
	Tenant string   // "" for all
	Key    Key
}

// Kinds are those of events.
var Kinds = []string{"judged", "quarantine", "release", "parked", "gone", "retried", "policy", "exception", "erased"}

// An In says who may tell that a source has changed.
type In struct {
	Name   string
	Kind   string // huggingface, s3, registry or standard
	Tenant string
	Source string // what is looked at then
	Key    Key
}

// InKinds are the kinds of messages that are taken.
var InKinds = []string{"huggingface", "s3", "registry", "standard"}

var plainName = regexp.MustCompile(`^[a-z0-9][a-z0-9-]{0,63}$`)

// Parse reads a file of hooks: {"out":[...],"in":[...]}. Secrets are in files or in the
// environment, and never in it.
func Parse(b *limits.Budget, text []byte, getenv func(string) string) (out []Out, in []In, err error) {
	err = strictjson.Decode(b, strictjson.Text{Format: "hooks", Body: string(text), Whole: true}, func(d *strictjson.Decoder) error {
		_, err := d.Fields([]string{"out", "in"}, func(i int) error {
			return d.Array(func(n int) error {
				at := [...]string{"out", "in"}[i]
				fields := map[string]string{}
				var events []string
				names := []string{"name", "url", "file", "kind", "tenant", "source", "secret_file", "secret_env", "private_key_file", "public_key_file", "events"}
				if _, err := d.Fields(names, func(i int) (err error) {
					if names[i] == "events" {
						return d.Array(func(int) error {
							s, err := d.String()
							events = append(events, s)
							return err
						})
					}
					fields[names[i]], err = d.String()
					return err
				}); err != nil {
					return err
				}
				key, err := readKey(fields, getenv)
				if err == nil && i == 0 {
					o := Out{fields["name"], fields["url"], fields["file"], events, fields["tenant"], key}
					err = o.check(fields)
					out = append(out, o)
				} else if err == nil {
					o := In{fields["name"], fields["kind"], fields["tenant"], fields["source"], key}
					err = o.check(fields, events)
					in = append(in, o)
				}
				if err != nil {
					return fmt.Errorf("%s hook %d: %w", at, n+1, err)
				}
				return nil
			})
		})
		return err
	})
	if err != nil {
		return nil, nil, err
	}
	var names []string
	for _, o := range out {
		names = append(names, "out "+o.Name)
	}
	for _, i := range in {
		names = append(names, "in "+i.Name)
	}
	slices.Sort(names)
	if all := len(names); len(slices.Compact(names)) != all {
		return nil, nil, errors.New("two hooks have one name")
	}
	return out, in, nil
}

func (o *Out) check(fields map[string]string) error {
	for _, k := range o.Events {
		if !slices.Contains(Kinds, k) {
			return fmt.Errorf("there are no events of the kind %q, only %s", k, strings.Join(Kinds, ", "))
		}
	}
	switch {
	case !plainName.MatchString(o.Name):
		return errors.New("a hook has a name of small letters, digits and hyphens")
	case fields["kind"] != "" || fields["source"] != "" || fields["public_key_file"] != "":
		return errors.New("kind, source and public_key_file are of hooks that come in")
	case (o.URL == "") == (o.File == ""):
		return errors.New("a hook has a url or a file")
	case o.File != "":
		return nil
	}
	u, err := url.Parse(o.URL)
	if err != nil || u.Host == "" || u.User != nil || u.Scheme != "https" && !(u.Scheme == "http" && (u.Hostname() == "localhost" || u.Hostname() == "127.0.0.1" || u.Hostname() == "::1")) {
		return errors.New("a url is https://HOST/..., or http:// of this machine, and has no password")
	}
	return o.Key.Check()
}

func (i *In) check(fields map[string]string, events []string) error {
	switch {
	case !plainName.MatchString(i.Name):
		return errors.New("a hook has a name of small letters, digits and hyphens")
	case fields["url"] != "" || fields["file"] != "" || events != nil || fields["private_key_file"] != "":
		return errors.New("url, file, events and private_key_file are of hooks that go out")
	case !slices.Contains(InKinds, i.Kind):
		return fmt.Errorf("there is no kind %q, only %s", i.Kind, strings.Join(InKinds, ", "))
	case i.Tenant == "" || i.Source == "":
		return errors.New("it has no tenant, or no source")
	case i.Kind != "standard" && i.Key.Secret == nil:
		return errors.New("messages of this kind have a secret: secret_file or secret_env")
	}
	return i.Key.Check()
}

func readKey(fields map[string]string, getenv func(string) string) (k Key, err error) {
	switch name, file := fields["secret_env"], fields["secret_file"]; {
	case name != "" && file != "":
		return k, errors.New("it has two secrets")
	case name != "":
		k.Secret = []byte(getenv(name))
	case file != "":
		if k.Secret, err = os.ReadFile(file); err != nil {
			return k, err
		}
		k.Secret = []byte(strings.TrimRight(string(k.Secret), "\r\n"))
	}
	if k.Secret != nil && len(k.Secret) < minSecret {
		return k, fmt.Errorf("its secret is not there, or has less than %d bytes", minSecret)
	}
	if file := fields["private_key_file"]; file != "" {
		key, err := pemKey(file, x509.ParsePKCS8PrivateKey)
		if err != nil {
			return k, err
		}
		k.Private, _ = key.(ed25519.PrivateKey)
		if k.Private == nil {
			return k, fmt.Errorf("%s has no Ed25519 key", file)
		}
	}
	if file := fields["public_key_file"]; file != "" {
		key, err := pemKey(file, x509.ParsePKIXPublicKey)
		if err != nil {
			return k, err
		}
		k.Public, _ = key.(ed25519.PublicKey)
		if k.Public == nil {
			return k, fmt.Errorf("%s has no Ed25519 key", file)
		}
	}
	return k, nil
}

func pemKey(file string, parse func([]byte) (any, error)) (any, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	block, rest := pem.Decode(text)
	if block == nil || len(strings.TrimSpace(string(rest))) > 0 {
		return nil, fmt.Errorf("%s is no key in PEM", file)
	}
	return parse(block.Bytes)
}
