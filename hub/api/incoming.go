package api

import (
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"time"

	"github.com/anamnesis-go/anamnesis/hub/hooks"
	"github.com/anamnesis-go/anamnesis/hub/store"
)

// An Incoming says who may tell that a source has changed.
type Incoming = hooks.In

// routeIncoming adds POST /v1/incoming/NAME. A message only says that something has changed. Nothing
// else in it is trusted: the hub asks the source what is there now.
func (s *Server) routeIncoming() error {
	in := map[string]Incoming{}
	for _, one := range s.o.Incoming {
		if _, twice := in[one.Name]; twice {
			return errors.New("api: two messages of one name")
		}
		in[one.Name] = one
	}
	s.mux.HandleFunc("POST /v1/incoming/{name}", func(w http.ResponseWriter, r *http.Request) {
		w, r = s.begin(w, r)
		defer s.counts.end("POST /v1/incoming/{name}", w)
		one, ok := in[r.PathValue("name")]
		err := error(unsigned)
		if ok {
			err = s.take(w, r, one)
		}
		if err != nil {
			http.NewResponseController(w).SetReadDeadline(time.Now().Add(time.Second))
			s.refuse(w, r, Token{Tenant: one.Tenant}, err)
			return
		}
		writeJSON(w, http.StatusAccepted, "application/json", map[string]any{"looked": "soon"})
	})
	return nil
}

// unsigned is the answer to a message without a valid secret or signature, and to one with an
// unknown name: a sender cannot find out which names exist.
var unsigned = &problem{status: http.StatusUnauthorized, detail: "the message has no valid secret or signature"}

// repeated is the answer to a message that came before.
var repeated = &problem{status: http.StatusConflict, detail: "the message came before"}

func (s *Server) take(w http.ResponseWriter, r *http.Request, one Incoming) error {
	switch one.Kind { // a secret is looked at before a byte of the body is read
	case "huggingface":
		if !same(r.Header.Values("X-Webhook-Secret"), string(one.Key.Secret)) {
			return unsigned
		}
	case "s3", "registry":
		if !same(r.Header.Values("Authorization"), "Bearer "+string(one.Key.Secret)) {
			return unsigned
		}
	}
	leave, err := s.reading.enter("incoming " + one.Name)
	if err != nil {
		return err
	}
	defer leave()
	body, err := s.small(w, r)
	if err != nil {
		return err
	}
	sum := sha256.Sum256([]byte(body))
	messages := []string{hex.EncodeToString(sum[:])}
	if one.Kind == "standard" {
		id, err := one.Key.Verify(r.Header, time.Now(), []byte(body))
		switch {
		case errors.Is(err, hooks.ErrOld):
			return &problem{status: http.StatusConflict, detail: "the message is too old, or from the future"}
		case err != nil:
			return unsigned
		}
		messages = []string{id}
	} else if messages, err = told(one.Kind, body, messages); err != nil {
		return err
	}
	fresh, err := s.o.Store.Received(r.Context(), one.Name, messages, store.Look{Tenant: one.Tenant, Source: one.Source})
	if err != nil {
		return err
	}
	if !fresh {
		return repeated
	}
	s.o.Log.Info("told that a source has changed", "hook", one.Name, "tenant", one.Tenant, "source", one.Source, "request", requestOf(r))
	return nil
}

// same compares the one value of a header with a secret, in a time that tells nothing.
func same(got []string, want string) bool {
	if len(got) != 1 {
		return false
	}
	a, b := sha256.Sum256([]byte(got[0])), sha256.Sum256([]byte(want))
	return subtle.ConstantTimeCompare(a[:], b[:]) == 1
}

// told checks that a message has the form of its kind, and returns its identifiers.
func told(kind, body string, messages []string) ([]string, error) {
	var in struct {
		Event json.RawMessage // of Hugging Face
		Repo  struct{ Type, Name string }

		Records []struct {
			S3 struct{ Bucket struct{ Name string } }
		}

		Events []struct{ ID, Action string } // of a registry
	}
	if err := json.Unmarshal([]byte(body), &in); err != nil {
		return nil, invalid("the message is no JSON of %s", kind)
	}
	switch {
	case kind == "huggingface" && in.Event != nil && in.Repo.Name != "":
		return messages, nil
	case kind == "s3" && len(in.Records) > 0 && in.Records[0].S3.Bucket.Name != "":
		return messages, nil
	case kind == "registry" && len(in.Events) > 0 && len(in.Events) <= 1000:
		messages = nil
		for _, e := range in.Events {
			if e.ID == "" || len(e.ID) > 256 || strings.ContainsRune(e.ID, 0) {
				return nil, invalid("an event of the registry has no id")
			}
			messages = append(messages, e.ID)
		}
		return messages, nil
	}
	return nil, invalid("the message is not what %s sends", kind)
}
