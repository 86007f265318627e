package flatbuffers

// A Kind is what a field of a table holds.
type Kind uint8

// The kinds.
const (
	Scalar     Kind = iota // a number of Width bytes, in the table itself
	Text                   // an offset to a text
	Scalars                // an offset to numbers of Width bytes
	Table                  // an offset to a table
	Tables                 // an offset to offsets to tables
	Union                  // an offset to a table whose kind the field before says
	Deprecated             // what no reader looks at
)

// A Field is a field of a table.
type Field struct {
	Name  string
	Kind  Kind
	Width int // of a number
	Of    int // the table or the union, by its place in the schema
}

// size returns what a field takes in its table.
func (f *Field) size() int {
	switch f.Kind {
	case Scalar:
		return f.Width
	case Deprecated:
		return 1
	}
	return offsetLen
}

// A Shape is a kind of table: its fields in the order of their places.
type Shape struct {
	Name   string
	Fields []Field
}

// A Schema is all kinds of tables. Of a union, it has the kind of table of each type, -1 for
// none.
type Schema struct {
	Tables []Shape
	Unions map[int][]int
}
