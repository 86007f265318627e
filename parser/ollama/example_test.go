package ollama_test

import (
	"fmt"

	"github.com/anamnesis-go/anamnesis/parser/ollama"
)

func ExampleParseName() {
	for _, name := range []string{"ollama:llama3.2", "ollama:hf.co/someone/model:Q4_K_M", "ollama:../../etc/passwd"} {
		n, err := ollama.ParseName(name)
		if err != nil {
			fmt.Println(err)
			continue
		}
		fmt.Println(n.Path())
	}
	// Output:
	// manifests/registry.ollama.ai/library/llama3.2/latest
	// manifests/hf.co/someone/model/Q4_K_M
	// ollama: name "ollama:../../etc/passwd": cannot be asked for: more than host, namespace and model
}
