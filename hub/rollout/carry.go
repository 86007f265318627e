package rollout

import (
	"bytes"
	"encoding/json"
)

// carry replaces the digest of the rules and the version in the JSON of a verdict. Texts of files
// in it cannot be taken for the members: their quotation marks are escaped.
func carry(detail []byte, rules, version, newRules, newVersion string) []byte {
	member := func(name, value string) []byte {
		text, err := json.Marshal(value)
		if err != nil {
			return nil
		}
		return append([]byte(`"`+name+`":`), text...)
	}
	out := bytes.Replace(detail, member("rules_digest", rules), member("rules_digest", newRules), 1)
	if version == "" { // it has no such member
		return bytes.Replace(out, member("rules_digest", newRules), append(append(member("rules_digest", newRules), ','), member("version", newVersion)...), 1)
	}
	return bytes.Replace(out, member("version", version), member("version", newVersion), 1)
}
