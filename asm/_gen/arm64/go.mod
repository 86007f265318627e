module github.com/anamnesis-go/anamnesis/asm/_gen/arm64

go 1.26.0
