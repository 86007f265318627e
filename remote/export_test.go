package remote

// Public is the rule of addresses, for tests.
var Public = public
