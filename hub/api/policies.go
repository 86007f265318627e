package api

import (
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/anamnesis-go/anamnesis/gate"
	"github.com/anamnesis-go/anamnesis/hub/store"
	"github.com/anamnesis-go/anamnesis/internal/strictjson"
	"github.com/anamnesis-go/anamnesis/internal/wire"
)

// routePolicies adds the routes about policies and exceptions.
//
//	GET  /v1/policies              versions and promotions
//	POST /v1/policies              a policy, which becomes a version
//	POST /v1/promotions            {"version":3,"mode":"report","reason":"..."}
//	POST /v1/rollbacks             {"reason":"..."}
//	GET  /v1/exceptions            exceptions and appeals
//	POST /v1/appeals               {"repo":"...","rule":"...","sha256":"...","reason":"..."}
//	POST /v1/exceptions            the same with "expires"
//	POST /v1/exceptions/ID         {"state":"granted","expires":"2026-12-31","answer":"..."}
func (s *Server) routePolicies() {
	s.route("GET /v1/policies", Promote, s.getPolicies)
	s.route("POST /v1/policies", Promote, s.postPolicy)
	s.route("POST /v1/promotions", Promote, s.postPromotion)
	s.route("POST /v1/rollbacks", Promote, s.postRollback)
	s.route("GET /v1/exceptions", Read, s.getExceptions)
	s.route("POST /v1/appeals", Submit, s.postAppeal)
	s.route("POST /v1/exceptions", Except, s.postException)
	s.route("POST /v1/exceptions/{id}", Except, s.decide)
}

// maxSmall bounds the body of a request that is no manifest and no content.
const maxSmall = 1 << 20

// small reads the body of a request.
func (s *Server) small(w http.ResponseWriter, r *http.Request) (string, error) {
	b := s.o.Budget.ChildContext(r.Context(), s.o.Gate.Policy.Limits)
	defer b.Close()
	size := r.ContentLength
	switch {
	case size < 0:
		return "", &problem{status: http.StatusLengthRequired, detail: "the request has no Content-Length"}
	case size > maxSmall:
		return "", &problem{status: http.StatusRequestEntityTooLarge, detail: fmt.Sprintf("such a request has at most %d bytes", maxSmall)}
	}
	return strictjson.Read(b, s.paced(w, http.MaxBytesReader(w, r.Body, maxSmall)), 0, size)
}

// fields reads an object of texts and numbers, whose members are all known.
func (s *Server) fields(w http.ResponseWriter, r *http.Request, names ...string) (map[string]string, error) {
	text, err := s.small(w, r)
	if err != nil {
		return nil, err
	}
	b := s.o.Budget.ChildContext(r.Context(), s.o.Gate.Policy.Limits)
	defer b.Close()
	out := map[string]string{}
	err = strictjson.Decode(b, strictjson.Text{Format: "request", Body: text, Whole: true}, func(d *strictjson.Decoder) error {
		_, err := d.Fields(names, func(i int) (err error) {
			if names[i] == "version" {
				var n uint64
				n, err = d.Uint(1 << 62)
				out[names[i]] = strconv.FormatUint(n, 10)
				return err
			}
			out[names[i]], err = d.String()
			if err == nil && (len(out[names[i]]) > 4096 || !utf8.ValidString(out[names[i]])) {
				return invalid("%s is too long, or not UTF-8", names[i])
			}
			return err
		})
		return err
	})
	return out, err
}

// whose returns the tenant that a request is about: that of its token, or for operators another
// one, "*" for what is for all.
func (t Token) whose(asked string) (string, error) {
	switch {
	case asked == "" || asked == t.Tenant:
		return t.Tenant, nil
	case !t.may(Operate):
		return "", unknown
	case asked == "*":
		return "", nil
	}
	return asked, nil
}

func (s *Server) getPolicies(w http.ResponseWriter, r *http.Request, t Token) error {
	of := t.seenBy()
	versions, err := s.o.Store.PolicyVersions(r.Context(), of)
	if err != nil {
		return err
	}
	promotions, err := s.o.Store.Promotions(r.Context(), of)
	if err != nil {
		return err
	}
	out := map[string]any{"schema": "amn.policies/1", "versions": versions, "promotions": promotions}
	by, err := s.by(t.Tenant)
	if err == nil {
		out["in_force"] = map[string]any{"tenant": t.Tenant, "version": by.Version, "policy": by.Policy, "mode": by.Mode}
	} else {
		out["in_force"] = map[string]any{"tenant": t.Tenant, "error": err.Error()}
	}
	writeJSON(w, http.StatusOK, "application/json", out)
	return nil
}

// postPolicy keeps a policy that this program can read, and puts nothing in force.
func (s *Server) postPolicy(w http.ResponseWriter, r *http.Request, t Token) error {
	owner, err := t.whose(r.URL.Query().Get("tenant"))
	if err != nil {
		return err
	}
	text, err := s.small(w, r)
	if err != nil {
		return err
	}
	v, err := Version(text)
	if err != nil {
		return invalid("%v", err)
	}
	v.Owner, v.Note, v.Caller = owner, wire.Text(r.URL.Query().Get("note"), 256), t.name()
	if v, err = s.o.Store.PutPolicy(r.Context(), v); err != nil {
		return err
	}
	writeJSON(w, http.StatusCreated, "application/json", v)
	return nil
}

// Version reads a policy, in the form in which it is kept: every member of it is stated.
func Version(text string) (v store.PolicyVersion, err error) {
	p, err := gate.ParsePolicy([]byte(text))
	if err != nil {
		return v, err
	}
	if v.Body, err = p.MarshalJSON(); err != nil {
		return v, err
	}
	v.Digest, err = p.Digest()
	return v, err
}

// promoted puts back what is judged by another policy, and answers.
func (s *Server) promoted(w http.ResponseWriter, r *http.Request, p store.Promotion, err error) error {
	if errors.Is(err, store.ErrNoVersion) {
		return &problem{status: http.StatusNotFound, detail: "there is no such version of the tenant's, or nothing to go back to"}
	}
	if err != nil {
		return err
	}
	s.o.Log.Info("policy", "tenant", p.Tenant, "version", p.Version, "mode", p.Mode, "caller", p.Caller, "request", requestOf(r))
	if err := s.fresh(r); err != nil {
		return err
	}
	writeJSON(w, http.StatusCreated, "application/json", p)
	return nil
}

// fresh has this process take what is in force now; the others ask for it by themselves.
func (s *Server) fresh(r *http.Request) error {
	if s.o.Policies == nil {
		return nil
	}
	if _, err := s.o.Policies.Fresh(r.Context()); err != nil {
		return err
	}
	_, err := s.o.Policies.Rejudge(r.Context(), false)
	return err
}

func (s *Server) postPromotion(w http.ResponseWriter, r *http.Request, t Token) error {
	in, err := s.fields(w, r, "tenant", "version", "mode", "reason")
	if err != nil {
		return err
	}
	p := store.Promotion{Mode: in["mode"], Reason: in["reason"], Caller: t.name()}
	if p.Tenant, err = t.whose(in["tenant"]); err != nil {
		return err
	}
	if p.Version, err = strconv.ParseInt(in["version"], 10, 64); err != nil || p.Mode != store.Enforce && p.Mode != store.Report || p.Reason == "" {
		return invalid("a promotion has a version, a mode (%s or %s) and a reason", store.Enforce, store.Report)
	}
	p, err = s.o.Store.Promote(r.Context(), p)
	return s.promoted(w, r, p, err)
}

func (s *Server) postRollback(w http.ResponseWriter, r *http.Request, t Token) error {
	in, err := s.fields(w, r, "tenant", "reason")
	if err != nil {
		return err
	}
	tenant, err := t.whose(in["tenant"])
	if err != nil {
		return err
	}
	if in["reason"] == "" {
		return invalid("a rollback has a reason")
	}
	p, err := s.o.Store.Rollback(r.Context(), tenant, t.name(), in["reason"])
	return s.promoted(w, r, p, err)
}

func (s *Server) getExceptions(w http.ResponseWriter, r *http.Request, t Token) error {
	of := t.seenBy()
	list, err := s.o.Store.Exceptions(r.Context(), of)
	if err != nil {
		return err
	}
	writeJSON(w, http.StatusOK, "application/json", map[string]any{"schema": "amn.exceptions/1", "exceptions": list})
	return nil
}

// postAppeal asks for an exception. It is in force when somebody has granted it.
func (s *Server) postAppeal(w http.ResponseWriter, r *http.Request, t Token) error {
	in, err := s.fields(w, r, "repo", "rule", "sha256", "reason")
	if err != nil {
		return err
	}
	x, err := s.except(r, t, in, store.Asked)
	if err == nil {
		writeJSON(w, http.StatusCreated, "application/json", x)
	}
	return err
}

func (s *Server) postException(w http.ResponseWriter, r *http.Request, t Token) error {
	in, err := s.fields(w, r, "repo", "rule", "sha256", "reason", "expires")
	if err != nil {
		return err
	}
	x, err := s.except(r, t, in, store.Granted)
	if err == nil {
		writeJSON(w, http.StatusCreated, "application/json", x)
	}
	return err
}

func (s *Server) except(r *http.Request, t Token, in map[string]string, state string) (x store.Exception, err error) {
	x = store.Exception{Tenant: t.Tenant, Repo: in["repo"], Rule: in["rule"], SHA256: in["sha256"], Reason: in["reason"], Expires: in["expires"], State: state, Caller: t.name()}
	if err := s.checkException(x); err != nil {
		return x, err
	}
	if x, err = s.o.Store.Except(r.Context(), x); err == nil && state == store.Granted {
		err = s.fresh(r)
	}
	return x, err
}

// maxException is how long an exception lasts at most.
const maxException = 366 * 24 * time.Hour

func (s *Server) checkException(x store.Exception) error {
	switch {
	case !gate.IsRule(x.Rule):
		return invalid("there is no rule %q: an exception is about one rule by its name", x.Rule)
	case !digestName.MatchString(x.SHA256):
		return invalid("sha256 is no SHA-256 in lower-case hex: an exception is about one content")
	case x.Repo != "" && !repoName.MatchString(x.Repo):
		return invalid("%q is no name of a repository", x.Repo)
	case strings.TrimSpace(x.Reason) == "":
		return invalid("an exception has a reason")
	case x.State == store.Asked:
		return nil
	}
	return s.checkDay(x.Expires)
}

// checkDay returns what is wrong with the last day of an exception.
func (s *Server) checkDay(day string) error {
	by, err := s.by("")
	if err != nil {
		return err
	}
	today, err := time.Parse(time.DateOnly, by.Gate.Today)
	if err != nil {
		return err
	}
	last, err := time.Parse(time.DateOnly, day)
	if err != nil || last.Before(today) || last.Sub(today) > maxException {
		return invalid("expires is the last day, such as %s: today or later, at most a year from now", today.AddDate(0, 3, 0).Format(time.DateOnly))
	}
	return nil
}

// decide grants or denies an appeal, or revokes an exception.
func (s *Server) decide(w http.ResponseWriter, r *http.Request, t Token) error {
	in, err := s.fields(w, r, "state", "expires", "answer")
	if err != nil {
		return err
	}
	x, err := s.decided(r, t, r.PathValue("id"), in)
	if err == nil {
		writeJSON(w, http.StatusCreated, "application/json", map[string]any{"id": x.ID, "state": x.State})
	}
	return err
}

func (s *Server) decided(r *http.Request, t Token, id string, in map[string]string) (x store.Exception, err error) {
	number, err := strconv.ParseInt(id, 10, 64)
	if err != nil {
		return x, unknown
	}
	x = store.Exception{ID: number, State: in["state"], Expires: in["expires"], Answer: in["answer"], Decided: t.name()}
	switch x.State {
	case store.Granted:
		if err := s.checkDay(x.Expires); err != nil {
			return x, err
		}
	case store.Denied, store.Revoked:
	default:
		return x, invalid("an exception is %s, %s or %s", store.Granted, store.Denied, store.Revoked)
	}
	ok, err := s.o.Store.Decide(r.Context(), t.seenBy(), x)
	if err != nil {
		return x, err
	}
	if !ok {
		return x, unknown
	}
	if x.State != store.Denied {
		err = s.fresh(r)
	}
	return x, err
}

func itoa(n int64) string { return strconv.FormatInt(n, 10) }
