package polyglot

import "testing"

// What tarfile.nti of Python 3.11.7 says of eight bytes.
var numbers = []struct {
	field string
	want  int64
	ok    bool
}{
	{"0o15263\x00", 6835, true},
	{"0O1\x00    ", 1, true},
	{"0o_7    ", 7, true},
	{"0_o7    ", 0, false},
	{"1_2\x00    ", 10, true},
	{"1__2\x00   ", 0, false},
	{"_12\x00    ", 0, false},
	{"12_\x00    ", 0, false},
	{"        ", 0, true},
	{"\x00       ", 0, true},
	{"+7\x00     ", 7, true},
	{"-7\x00     ", -7, true},
	{"- 7\x00    ", 0, false},
	{"+-7\x00    ", 0, false},
	{"0o\x00     ", 0, false},
	{"\x80\x00\x00\x00\x00\x00\x1a\xd6", 6870, true},
	{"\xff\xff\xff\xff\xff\xff\xff\xfe", -2, true},
	{"\x80\xff\xff\xff\xff\xff\xff\xff", 72057594037927935, true},
	{"\x1f7\x1c\x00    ", 7, true},
	{"7 7\x00    ", 0, false},
	{"00000078", 0, false},
	{"\xc0\x00\x00\x00\x00\x00\x00\x01", 0, false},
	{"0o-7\x00   ", 0, false},
	{"+0o7\x00   ", 7, true},
	{"-0o_17\x00 ", -15, true},
	{"\x857\x00     ", 0, false},
	{"221\x0b\x09\x000\x09", 145, true},
	{"7_2577_5", 240637, true},
	{" \x1c534\x00\x0b0", 348, true},
	{"\xff_ 21-21", -45282071304916431, true},
	{"\xff\x09z5867_", -69389950252599457, true},
	{"5\x0b\x00+ 364", 5, true},
	{"2\x00\xff\x09 42+", 2, true},
	{"\x80\x80\x0045577", 36029021249943351, true},
	{"\x09\x090o1705", 965, true},
	{"\x00__++7z\xff", 0, true},
	{"\x8016\x0bO21\x0b", 13851696060051723, true},
	{"\x8072 45\x00 ", 15536237615317024, true},
	{"2\x00-12z38", 2, true},
	{"42311566", 9016182, true},
	{"\xffO321_0-", -49764780208082899, true},
	{"\xff_3-1563", -45261202058299853, true},
	{"\xff2\x1c32 \xff5", -57952838992462027, true},
	{" 375\x00O48", 253, true},
	{"\x1c5\x00-7017", 5, true},
	{"4\x00064\x0b_+", 4, true},
	{"\x1c0o1_503", 835, true},
	{"305\x00\x09\x0b5o", 197, true},
	{"\x1c\x0b\x00\xff\xff_ -", 0, true},
	{"2\x00\x00+\x0b+\x80 ", 2, true},
	{"\x8071502\x09\x80", 15535228230699392, true},
	{"\x090o3\x1c_\x0bo", 0, false},
	{"74 3\x0070o", 0, false},
	{"5O\x1c24\x09\x096", 0, false},
	{"440z06O6", 0, false},
	{"-_2213\x0b1", 0, false},
	{"100o3z40", 0, false},
	{"61_5\x0963O", 0, false},
	{"80O63\x00oO", 0, false},
	{"\x1c3z11526", 0, false},
	{"5\x1c2+4o_1", 0, false},
	{"417o\x093\x0b0", 0, false},
	{"\x1c72\x0b64o\x00", 0, false},
	{"341z5146", 0, false},
	{"7z252708", 0, false},
	{"\x1c z832\x1c\x1c", 0, false},
}

func TestNumbersAreReadLikeTarfile(t *testing.T) {
	for _, c := range numbers {
		if got, ok := tarNumber([]byte(c.field)); ok != c.ok || ok && got != c.want {
			t.Errorf("%q: %d, %v; tarfile: %d, %v", c.field, got, ok, c.want, c.ok)
		}
	}
}
