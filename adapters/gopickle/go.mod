module github.com/anamnesis-go/anamnesis/adapters/gopickle

go 1.26.0

require (
	github.com/anamnesis-go/anamnesis v0.0.0
	github.com/nlpodyssey/gopickle v0.3.0
)

require (
	github.com/klauspost/compress v1.20.3 // indirect
	golang.org/x/text v0.14.0 // indirect
)

replace github.com/anamnesis-go/anamnesis => ../..
