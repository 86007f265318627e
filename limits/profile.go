package limits

// profiles are policies and nothing more: whatever one does can be written as fields.
var profiles = [...]struct {
	name   string
	policy Policy
}{
	{"server", Policy{}},
	{"strict", Policy{
		RefuseFormats:        []string{"dcp", "deepspeed", "pth"},
		RefuseFindings:       []string{"*"},
		RefuseUnknownMembers: true,
	}},
	{"edge", Policy{
		MaxSingleAlloc: 16 << 20,
		MaxTotalBytes:  64 << 20,
		MaxItems:       250_000,
		MaxWorkingSet:  32 << 20,
		MaxRequests:    500,
		MaxFetched:     1 << 30,
	}},
	// The items of edge are too few for a vocabulary of 150,000 tokens with its merges.
	{"upload", Policy{
		MaxSingleAlloc: 16 << 20,
		MaxTotalBytes:  64 << 20,
		MaxItems:       2_000_000,
		MaxWorkingSet:  32 << 20,
		MaxOpenFiles:   64,
		MaxRequests:    500,
		MaxFetched:     1 << 30,
	}},
	{"tabular", Policy{}}, // the classes that it allows are the gate's
	{"training", Policy{}},
}

// Profiles lists the names of the profiles, the default first: server for an upload
// handler; strict for a gate that protects others (it also refuses pickle files, unknown
// archive members and every finding); edge for a small machine (64 MiB in all); upload for
// one request to a host of many tenants (64 MiB for headers and bodies); tabular, which is
// server for those who load models of tables, whose classes a gate allows; training, which
// is server for those who load checkpoints of trainers.
func Profiles() []string {
	var names []string
	for _, p := range profiles {
		names = append(names, p.name)
	}
	return names
}

// Profile returns a named policy, every field filled in.
func Profile(name string) (Policy, bool) {
	for _, p := range profiles {
		if p.name == name {
			return p.policy.Filled(), true
		}
	}
	return Policy{}, false
}
