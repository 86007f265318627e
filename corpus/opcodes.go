package corpus

// A layout says how an opcode's operand is encoded. The names of opcodes, their bytes and
// their layouts are those of CPython's pickletools module, protocols 0 to 5.
type layout uint8

const (
	bare     layout = iota
	line            // text up to a newline, unchanged
	quoted          // Python string literal up to a newline
	escaped         // raw-unicode-escape up to a newline
	decimal         // integer in text up to a newline
	long            // integer in text, L, newline
	real            // floating point in text up to a newline
	pair            // two lines: module, name
	double          // 8 bytes, big endian
	u1              // unsigned integers, little endian
	u2              //
	u4              //
	u8              //
	i4              // signed
	data1           // bytes after a length of 1, 4 or 8 bytes
	data4           //
	data8           //
	integer1        // two's complement after a length of 1 or 4 bytes
	integer4        //
)

type opcode struct {
	code byte
	layout
}

var opcodes = map[string]opcode{
	"MARK": {'(', bare}, "STOP": {'.', bare}, "POP": {'0', bare}, "POP_MARK": {'1', bare}, "DUP": {'2', bare},
	"FLOAT": {'F', real}, "INT": {'I', decimal}, "BININT": {'J', i4}, "BININT1": {'K', u1}, "LONG": {'L', long},
	"BININT2": {'M', u2}, "NONE": {'N', bare}, "PERSID": {'P', line}, "BINPERSID": {'Q', bare}, "REDUCE": {'R', bare},
	"STRING": {'S', quoted}, "BINSTRING": {'T', data4}, "SHORT_BINSTRING": {'U', data1}, "UNICODE": {'V', escaped},
	"BINUNICODE": {'X', data4}, "APPEND": {'a', bare}, "BUILD": {'b', bare}, "GLOBAL": {'c', pair}, "DICT": {'d', bare},
	"EMPTY_DICT": {'}', bare}, "APPENDS": {'e', bare}, "GET": {'g', decimal}, "BINGET": {'h', u1}, "INST": {'i', pair},
	"LONG_BINGET": {'j', u4}, "LIST": {'l', bare}, "EMPTY_LIST": {']', bare}, "OBJ": {'o', bare}, "PUT": {'p', decimal},
	"BINPUT": {'q', u1}, "LONG_BINPUT": {'r', u4}, "SETITEM": {'s', bare}, "TUPLE": {'t', bare}, "EMPTY_TUPLE": {')', bare},
	"SETITEMS": {'u', bare}, "BINFLOAT": {'G', double},
	// protocol 2
	"PROTO": {0x80, u1}, "NEWOBJ": {0x81, bare}, "EXT1": {0x82, u1}, "EXT2": {0x83, u2}, "EXT4": {0x84, i4},
	"TUPLE1": {0x85, bare}, "TUPLE2": {0x86, bare}, "TUPLE3": {0x87, bare}, "NEWTRUE": {0x88, bare},
	"NEWFALSE": {0x89, bare}, "LONG1": {0x8a, integer1}, "LONG4": {0x8b, integer4},
	// protocol 3
	"BINBYTES": {'B', data4}, "SHORT_BINBYTES": {'C', data1},
	// protocol 4
	"SHORT_BINUNICODE": {0x8c, data1}, "BINUNICODE8": {0x8d, data8}, "BINBYTES8": {0x8e, data8}, "EMPTY_SET": {0x8f, bare},
	"ADDITEMS": {0x90, bare}, "FROZENSET": {0x91, bare}, "NEWOBJ_EX": {0x92, bare}, "STACK_GLOBAL": {0x93, bare},
	"MEMOIZE": {0x94, bare}, "FRAME": {0x95, u8},
	// protocol 5
	"BYTEARRAY8": {0x96, data8}, "NEXT_BUFFER": {0x97, bare}, "READONLY_BUFFER": {0x98, bare},
}
