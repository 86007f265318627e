// Masks judges folders, those with the same facts together, and writes what of the program ran for
// them. It is built with -cover by the test of the table of rules.
//
//	masks DIR FOLDER...
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime/coverage"
	"strconv"

	"github.com/anamnesis-go/anamnesis/gate"
	"github.com/anamnesis-go/anamnesis/hub/rules"
	"github.com/anamnesis-go/anamnesis/hub/source"
	"github.com/anamnesis-go/anamnesis/hub/worker"
	"github.com/anamnesis-go/anamnesis/limits"
)

func main() {
	if err := run(os.Args[1], os.Args[2:]); err != nil {
		fmt.Fprintln(os.Stderr, "masks:", err)
		os.Exit(1)
	}
}

func run(dir string, folders []string) error {
	ctx := context.Background()
	g, err := (&gate.Gate{Version: "masks", Digest: true}).WithDigest()
	if err != nil {
		return err
	}
	b := limits.Policy{MaxTotalBytes: 4 << 30, Timeout: limits.NoTimeout}.Budget(ctx)
	defer b.Close()
	facts := func(at string) (string, error) {
		files, err := source.Open(ctx, at)
		if err != nil {
			return "", err
		}
		v, err := worker.InProcess(ctx, b, g, files)
		if err != nil {
			return "", err
		}
		defer v.Close()
		var text bytes.Buffer
		if err := v.WriteJSON(&text); err != nil {
			return "", err
		}
		list, err := rules.Facts(text.Bytes())
		if err != nil {
			return "", err
		}
		key, err := json.Marshal(list)
		return string(key), err
	}
	groups := map[string][]string{}
	for _, at := range folders {
		key, err := facts(at)
		if err != nil {
			return fmt.Errorf("%s: %w", at, err)
		}
		groups[key] = append(groups[key], at)
	}
	n := 0
	for key, list := range groups {
		n++
		to := filepath.Join(dir, strconv.Itoa(n))
		if err := errors.Join(os.Mkdir(to, 0o755), os.WriteFile(filepath.Join(to, "facts.json"), []byte(key), 0o644), os.WriteFile(filepath.Join(to, "folders"), fmt.Appendf(nil, "%q", list), 0o644), coverage.ClearCounters()); err != nil {
			return err
		}
		for _, at := range list {
			if _, err := facts(at); err != nil {
				return err
			}
		}
		if err := errors.Join(coverage.WriteCountersDir(to), coverage.WriteMetaDir(to)); err != nil {
			return err
		}
	}
	return nil
}
