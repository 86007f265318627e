package convert

// OnNote calls f after each line of a journal, until the result is called.
func OnNote(f func()) func() {
	noted = f
	return func() { noted = func() {} }
}
