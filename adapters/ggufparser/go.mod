module github.com/anamnesis-go/anamnesis/adapters/ggufparser

go 1.26.0

require (
	github.com/anamnesis-go/anamnesis v0.0.0
	github.com/anamnesis-go/anamnesis/remote v0.0.0
	github.com/gpustack/gguf-parser-go v0.28.1
)

require (
	github.com/henvic/httpretty v0.1.4 // indirect
	github.com/json-iterator/go v1.1.12 // indirect
	github.com/klauspost/compress v1.20.3 // indirect
	github.com/modern-go/concurrent v0.0.0-20180306012644-bacd9c7ef1dd // indirect
	github.com/modern-go/reflect2 v1.0.2 // indirect
	github.com/smallnest/ringbuffer v0.0.0-20241116012123-461381446e3d // indirect
	golang.org/x/crypto v0.29.0 // indirect
	golang.org/x/exp v0.0.0-20241108190413-2d47ceb2692f // indirect
	golang.org/x/mod v0.22.0 // indirect
	golang.org/x/sync v0.9.0 // indirect
	golang.org/x/sys v0.49.0 // indirect
	golang.org/x/tools v0.27.0 // indirect
	gonum.org/v1/gonum v0.15.1 // indirect
)

replace (
	github.com/anamnesis-go/anamnesis => ../..
	github.com/anamnesis-go/anamnesis/remote => ../../remote
)
