package main

import (
	"bytes"
	"embed"
	"os"
	"path/filepath"
)

//go:embed npm
var npm embed.FS

// writePackage writes the files of the package for npm.
func writePackage(folder, version string) error {
	wasm, err := compile()
	if err != nil {
		return err
	}
	runtime, err := goRuntime()
	if err != nil {
		return err
	}
	files := map[string][]byte{
		"anamnesis.wasm": wasm,
		// The runtime takes what it calls globalThis from its caller, so that it reaches nothing else.
		"runtime.js": []byte("export const load = (globalThis) => {\n" + runtime + "};\n"),
	}
	for _, name := range []string{"index.js", "index.d.ts", "package.json", "README.md"} {
		if files[name], err = npm.ReadFile("npm/" + name); err != nil {
			return err
		}
	}
	files["package.json"] = bytes.Replace(files["package.json"], []byte(`"version": "0.0.0"`), []byte(`"version": "`+version+`"`), 1)
	if err := os.MkdirAll(folder, 0o777); err != nil {
		return err
	}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(folder, name), text, 0o666); err != nil {
			return err
		}
	}
	return nil
}
