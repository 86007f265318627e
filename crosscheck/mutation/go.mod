module github.com/anamnesis-go/anamnesis/crosscheck/mutation

go 1.26.0
