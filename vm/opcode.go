package vm

// An opcode is one row of the table: the name of the byte, its function, and whether
// PyTorch's restricted loader knows it (version: see [torchVersion]).
type opcode struct {
	name        string
	exec        func(*machine) error
	weightsOnly bool
}

const (
	known = true  // to PyTorch's restricted loader
	other = false // everybody else's
)

// opcodes are those of protocols 0 to 5, as CPython's Lib/pickletools.py (3.14) defines
// them. A byte without a row is invalid.
var opcodes = [256]opcode{
	// Literals.
	'N':  {"NONE", (*machine).opNone, known},
	0x88: {"NEWTRUE", (*machine).opTrue, known},
	0x89: {"NEWFALSE", (*machine).opFalse, known},
	'I':  {"INT", (*machine).opInt, other},
	'L':  {"LONG", (*machine).opLong, other},
	'J':  {"BININT", (*machine).opBinInt, known},
	'K':  {"BININT1", (*machine).opBinInt1, known},
	'M':  {"BININT2", (*machine).opBinInt2, known},
	0x8a: {"LONG1", (*machine).opLong1, known},
	0x8b: {"LONG4", (*machine).opLong4, other},
	'F':  {"FLOAT", (*machine).opFloat, other},
	'G':  {"BINFLOAT", (*machine).opBinFloat, known},
	'S':  {"STRING", (*machine).opString, other},
	'T':  {"BINSTRING", (*machine).opBinString, other},
	'U':  {"SHORT_BINSTRING", (*machine).opShortBinString, known},
	'V':  {"UNICODE", (*machine).opUnicode, other},
	'X':  {"BINUNICODE", (*machine).opBinUnicode, known},
	0x8c: {"SHORT_BINUNICODE", (*machine).opShortBinUnicode, other},
	0x8d: {"BINUNICODE8", (*machine).opBinUnicode8, other},
	'B':  {"BINBYTES", (*machine).opBinBytes, other},
	'C':  {"SHORT_BINBYTES", (*machine).opShortBinBytes, other},
	0x8e: {"BINBYTES8", (*machine).opBinBytes8, other},
	0x96: {"BYTEARRAY8", (*machine).opByteArray8, other},

	// Containers.
	'(':  {"MARK", (*machine).opMark, known},
	')':  {"EMPTY_TUPLE", (*machine).opEmptyTuple, known},
	't':  {"TUPLE", (*machine).opTuple, known},
	0x85: {"TUPLE1", (*machine).opTuple1, known},
	0x86: {"TUPLE2", (*machine).opTuple2, known},
	0x87: {"TUPLE3", (*machine).opTuple3, known},
	']':  {"EMPTY_LIST", (*machine).opEmptyList, known},
	'l':  {"LIST", (*machine).opList, other},
	'a':  {"APPEND", (*machine).opAppend, known},
	'e':  {"APPENDS", (*machine).opAppends, known},
	'}':  {"EMPTY_DICT", (*machine).opEmptyDict, known},
	'd':  {"DICT", (*machine).opDict, other},
	's':  {"SETITEM", (*machine).opSetItem, known},
	'u':  {"SETITEMS", (*machine).opSetItems, known},
	0x8f: {"EMPTY_SET", (*machine).opEmptySet, known},
	0x90: {"ADDITEMS", (*machine).opAddItems, other},
	0x91: {"FROZENSET", (*machine).opFrozenSet, other},

	// The stack and the memo.
	'0':  {"POP", (*machine).opPop, other},
	'1':  {"POP_MARK", (*machine).opPopMark, other},
	'2':  {"DUP", (*machine).opDup, other},
	'g':  {"GET", (*machine).opGet, other},
	'h':  {"BINGET", (*machine).opBinGet, known},
	'j':  {"LONG_BINGET", (*machine).opLongBinGet, known},
	'p':  {"PUT", (*machine).opPut, other},
	'q':  {"BINPUT", (*machine).opBinPut, known},
	'r':  {"LONG_BINPUT", (*machine).opLongBinPut, known},
	0x94: {"MEMOIZE", (*machine).opMemoize, other},

	// References to things outside the file.
	'c':  {"GLOBAL", (*machine).opGlobal, known},
	0x93: {"STACK_GLOBAL", (*machine).opStackGlobal, other},
	0x82: {"EXT1", (*machine).opExt1, other},
	0x83: {"EXT2", (*machine).opExt2, other},
	0x84: {"EXT4", (*machine).opExt4, other},
	'R':  {"REDUCE", (*machine).opReduce, known},
	'b':  {"BUILD", (*machine).opBuild, known},
	'i':  {"INST", (*machine).opInst, other},
	'o':  {"OBJ", (*machine).opObj, other},
	0x81: {"NEWOBJ", (*machine).opNewObj, known},
	0x92: {"NEWOBJ_EX", (*machine).opNewObjEx, other},
	'P':  {"PERSID", (*machine).opPersID, other},
	'Q':  {"BINPERSID", (*machine).opBinPersID, known},
	0x97: {"NEXT_BUFFER", (*machine).opBuffer, other},
	0x98: {"READONLY_BUFFER", (*machine).opBuffer, other},

	// The stream.
	0x80: {"PROTO", (*machine).opProto, known},
	0x95: {"FRAME", (*machine).opFrame, other},
	'.':  {"STOP", (*machine).opStop, known},
}
