package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"text/template"
)

// chart renders the templates of the chart with values, by the functions of Helm that they use.
func chart(values map[string]any) (string, error) {
	t := template.New("").Option("missingkey=zero")
	t.Funcs(template.FuncMap{
		"include": func(name string, what any) (string, error) {
			var b bytes.Buffer
			err := t.ExecuteTemplate(&b, name, what)
			return b.String(), err
		},
		"nindent": func(n int, s string) string {
			return "\n" + strings.ReplaceAll(strings.Repeat(" ", n)+strings.TrimSpace(s), "\n", "\n"+strings.Repeat(" ", n))
		},
		"toYaml": func(v any) (string, error) { // JSON is YAML
			b, err := json.Marshal(v)
			return string(b), err
		},
		"default": func(or, v any) any {
			if v == nil || v == "" {
				return or
			}
			return v
		},
		"quote": func(v any) string { return fmt.Sprintf("%q", fmt.Sprint(v)) },
		"int":   func(v any) int { return v.(int) },
		"fail":  func(s string) (string, error) { return "", errors.New(s) },
	})
	files, err := filepath.Glob(filepath.Join("..", "..", "deploy", "chart", "templates", "*"))
	if err != nil {
		return "", err
	}
	for _, name := range files {
		text, err := os.ReadFile(name)
		if err != nil {
			return "", err
		}
		if _, err := t.New(filepath.Base(name)).Parse(string(text)); err != nil {
			return "", err
		}
	}
	var out strings.Builder
	for _, name := range files {
		if err := t.ExecuteTemplate(&out, filepath.Base(name), map[string]any{"Values": values, "Release": map[string]any{"Name": "hub"}, "Chart": map[string]any{"AppVersion": "1"}}); err != nil {
			return "", err
		}
		out.WriteString("\n---\n")
	}
	return out.String(), nil
}

// values are those of a fleet, with changes.
func values(changes map[string]any) map[string]any {
	out := map[string]any{
		"image": map[string]any{"repository": "amn-hub"}, "replicas": 3, "database": map[string]any{"secret": "db"}, "storage": map[string]any{"size": "1Gi", "access": "ReadWriteMany", "existing": ""},
		"sources": []any{"hf://acme/*"}, "watch": "15m", "policy": "server", "tokens": "t", "tls": "c", "receipt": "r", "hooks": "h", "env": []any{"e"}, "memory": "2GiB", "resources": map[string]any{},
		"sweep": map[string]any{"enabled": true, "pods": 10, "parallel": 10, "sources": []any{"hf://acme/*"}},
	}
	for k, v := range changes {
		out[k] = v
	}
	return out
}

// What the chart and the compose file start is what the program takes.
func TestWhatIsDeployedIsTaken(t *testing.T) {
	help := must(t, 0, "run", "--help")
	text, err := chart(values(nil))
	if err != nil {
		t.Fatal(err)
	}
	compose, err := os.ReadFile(filepath.Join("..", "..", "deploy", "compose.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	flags := regexp.MustCompile(`(?m)^ +- "?(--[a-z-]+)`).FindAllStringSubmatch(text+string(compose), -1)
	if len(flags) < 20 {
		t.Errorf("only %d flags", len(flags))
	}
	for _, f := range flags {
		if !regexp.MustCompile(f[1] + `[ =\n]`).MatchString(help) {
			t.Errorf("there is no flag %s", f[1])
		}
	}
	for _, want := range []string{"kind: Deployment", "kind: Service", "kind: PersistentVolumeClaim", "kind: Job", "completionMode: Indexed", "--part=$(JOB_COMPLETION_INDEX)/10", "readOnlyRootFilesystem: true", "runAsNonRoot: true"} {
		if !strings.Contains(text, want) {
			t.Errorf("there is no %s", want)
		}
	}
	for name, changes := range map[string]map[string]any{
		"more replicas than a file may have": {"database": map[string]any{"secret": ""}, "sweep": map[string]any{"enabled": false}},
		"a sweep into a file":                {"database": map[string]any{"secret": ""}, "replicas": 1},
		"replicas that do not see contents":  {"storage": map[string]any{"access": "ReadWriteOnce", "existing": ""}},
		"a sweep of nothing":                 {"sweep": map[string]any{"enabled": true, "pods": 1, "parallel": 1, "sources": []any{}}},
	} {
		if _, err := chart(values(changes)); err == nil {
			t.Errorf("%s: it renders", name)
		}
	}
	if text, err := chart(values(map[string]any{"replicas": 1, "database": map[string]any{"secret": ""}, "sweep": map[string]any{"enabled": false}})); err != nil || !strings.Contains(text, "value: /data/hub.db") || strings.Contains(text, "kind: Job") {
		t.Errorf("one machine: %v\n%s", err, text)
	}
	// Whoever ends a pod or a container waits longer than the program drains.
	for _, s := range []string{"terminationGracePeriodSeconds: 30", "stop_grace_period: 15s"} {
		if !strings.Contains(text+string(compose), s) {
			t.Errorf("there is no %s", s)
		}
	}
}
