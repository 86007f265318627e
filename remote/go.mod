module github.com/anamnesis-go/anamnesis/remote

go 1.26.0

require github.com/anamnesis-go/anamnesis v0.0.0

require (
	github.com/alecthomas/kong v1.17.0 // indirect
	github.com/klauspost/compress v1.20.3 // indirect
	github.com/klauspost/cpuid/v2 v2.4.2 // indirect
	golang.org/x/sys v0.49.0 // indirect
)

replace github.com/anamnesis-go/anamnesis => ../
