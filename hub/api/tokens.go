package api

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/anamnesis-go/anamnesis/internal/strictjson"
	"github.com/anamnesis-go/anamnesis/limits"
)

// A Role is something that a token allows.
type Role string

// The roles.
const (
	Read    Role = "read"    // verdicts of its tenant
	Submit  Role = "submit"  // revisions of its tenant
	Except  Role = "except"  // exceptions with a reason
	Promote Role = "promote" // policies
	Operate Role = "operate" // everything about all tenants
)

var roles = []Role{Read, Submit, Except, Promote, Operate}

// A Token is known by its digest, so that the file of tokens holds no credential.
type Token struct {
	SHA256 string `json:"sha256"` // of the token, in hex
	Tenant string `json:"tenant"`
	Roles  []Role `json:"roles"`
}

// maxTokens bounds a file of tokens.
const maxTokens = 100_000

// ParseTokens reads a list of tokens, which is an array of objects.
func ParseTokens(b *limits.Budget, text []byte) (map[string]Token, error) {
	out := map[string]Token{}
	err := strictjson.Decode(b, strictjson.Text{Format: "tokens", Body: string(text), Whole: true}, func(d *strictjson.Decoder) error {
		return d.Array(func(i int) error {
			t, err := readToken(d)
			if err != nil {
				return err
			}
			if err := t.Check(); err != nil {
				return fmt.Errorf("token %d: %w", i+1, err)
			}
			if _, ok := out[t.SHA256]; ok {
				return fmt.Errorf("token %d is there twice", i+1)
			}
			out[t.SHA256] = t
			if len(out) > maxTokens {
				return fmt.Errorf("more than %d tokens", maxTokens)
			}
			return nil
		})
	})
	if err == nil && len(out) == 0 {
		err = errors.New("there is no token in it")
	}
	return out, err
}

func readToken(d *strictjson.Decoder) (t Token, err error) {
	_, err = d.Fields([]string{"sha256", "tenant", "roles"}, func(i int) (err error) {
		switch i {
		case 0:
			t.SHA256, err = d.String()
		case 1:
			t.Tenant, err = d.String()
		default:
			err = d.Array(func(int) error {
				r, err := d.String()
				t.Roles = append(t.Roles, Role(r))
				return err
			})
		}
		return err
	})
	return t, err
}

// Check returns what is wrong with an entry.
func (t Token) Check() error {
	b, err := hex.DecodeString(t.SHA256)
	switch {
	case err != nil || len(b) != sha256.Size || hex.EncodeToString(b) != t.SHA256:
		return errors.New("sha256 is no SHA-256 in lower-case hex")
	case t.Tenant == "" || !utf8.ValidString(t.Tenant):
		return errors.New("it has no tenant, or one that is not UTF-8")
	case len(t.Roles) == 0:
		return fmt.Errorf("it allows nothing: its roles are of %v", roles)
	}
	for _, r := range t.Roles {
		if !slices.Contains(roles, r) {
			return fmt.Errorf("there is no role %q, only %v", r, roles)
		}
	}
	return nil
}

var errNoToken = errors.New("the request has no token that is known here: send Authorization: Bearer TOKEN")

// caller returns the token of a request. Its digest is looked up, so that the time that a
// comparison takes tells nothing.
func (s *Server) caller(r *http.Request) (Token, error) {
	tokens := s.tokens.Load()
	if tokens == nil {
		return Token{Tenant: s.o.Tenant, Roles: roles}, nil
	}
	headers := r.Header.Values("Authorization")
	if len(headers) != 1 {
		return Token{}, errNoToken
	}
	text, ok := strings.CutPrefix(headers[0], "Bearer ")
	if !ok || text == "" {
		return Token{}, errNoToken
	}
	return s.known(text)
}

// known returns the entry of a token.
func (s *Server) known(text string) (Token, error) {
	tokens := s.tokens.Load()
	sum := sha256.Sum256([]byte(text))
	t, ok := (*tokens)[hex.EncodeToString(sum[:])]
	if !ok {
		return Token{}, errNoToken
	}
	return t, nil
}

// may reports whether a token has a role.
func (t Token) may(r Role) bool {
	return slices.Contains(t.Roles, r) || slices.Contains(t.Roles, Operate)
}

// name is who a token is in events and logs: the beginning of its digest, which is no credential.
func (t Token) name() string {
	if t.SHA256 == "" {
		return "local"
	}
	return "token " + t.SHA256[:12]
}
