package pth

import (
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/anamnesis-go/anamnesis/internal/polyglot"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
	"github.com/anamnesis-go/anamnesis/parser/zip"
)

// The records of an archive that torch.save writes, without the common prefix.
const (
	recPickle    = "data.pkl"
	recVersion   = "version"
	recVersion6  = ".data/version" // records from version 6 on
	recOrder     = "byteorder"
	recFormat    = ".format_version"
	recAlignment = ".storage_alignment"
	recID        = ".data/serialization_id"
	recData      = "data/"

	// Of a program.
	recConstants     = "constants.pkl"
	recConstantsData = "constants/"
)

const (
	// maxVersion is kMaxSupportedFileFormatVersion in caffe2/serialize/versions.h of
	// torch 2.15; the lowest is 1.
	maxVersion = 10
	// maxFormat is the highest .format_version in torch's sources.
	maxFormat = 2
	// maxSmall is the largest record that is read as a number or a word.
	maxSmall = 16
	// idLen is the length of a serialization id: two numbers of 20 digits.
	idLen = 40
	// defaultAlignment is used by torch's reader if there is no record.
	defaultAlignment = 64
)

// An archive is a torch ZIP whose records are known by name.
type archive struct {
	*zip.Archive
	b      *limits.Budget
	prefix string
	main   string // the record of the pickle: data.pkl
	dir    string // what the names of its storages begin with
	pickle int    // the member of main
	small  [smallCount]int
	data   []int32       // members under data/
	keys   *wire.NameSet // their keys
	order  tensor.Order

	unexplained []int32 // members without a known purpose
	program     bool    // it may be TorchScript, of which nothing but tensors is read
	judged      bool    // and its code is judged
	code        []int32 // members of a program besides its tensors
}

// The small records, in the order in which they are checked.
const (
	smallVersion = iota
	smallVersion6
	smallOrder
	smallFormat
	smallAlignment
	smallCount
)

var smallRecords = [smallCount]string{recVersion, recVersion6, recOrder, recFormat, recAlignment}

// openArchive classifies the members of a and reads the small records.
func openArchive(b *limits.Budget, a *zip.Archive, found *tensor.Findings, program, judged bool) (*archive, error) {
	out := &archive{Archive: a, b: b, pickle: -1, main: recPickle, dir: recData, program: program, judged: judged}
	for i := range out.small {
		out.small[i] = -1
	}
	if err := out.recognize(); err != nil {
		return nil, err
	}
	keys, err := wire.NewNameSet(b, len(out.data), out.key)
	if err != nil {
		return nil, err
	}
	out.keys = keys
	if err := out.sort(found); err != nil {
		return nil, err
	}
	if err := out.readSmall(); err != nil {
		return nil, err
	}
	return out, out.checkAlignment(found)
}

// recognize finds the common prefix, and refuses archives of other kinds by name.
func (a *archive) recognize() error {
	if len(a.Members) == 0 {
		return fail("", wire.NoOffset, wire.ErrInternal.Errorf("an archive without members begins like one with some"))
	}
	first := a.Members[0].Name
	slash := strings.IndexByte(first, '/')
	if slash <= 0 {
		return a.fail(0, wire.ErrUnsupported.WithRule("pth.not-torch-archive").Errorf("ZIP archive that torch.save did not write: its members are not in a folder"))
	}
	a.prefix = first[:slash+1]
	pickle := false
	for i := range a.Members {
		rest, ok := strings.CutPrefix(a.Members[i].Name, a.prefix)
		if !ok {
			return a.fail(i, wire.ErrMismatch.WithRule("pth.member-outside").Errorf("member outside of the archive's folder %s", wire.Quote(a.prefix)))
		}
		folded := polyglot.Fold(rest)
		if other := otherArchive(folded); other != "" && !(a.program && isCode(rest)) {
			return a.fail(i, wire.ErrUnsupported.WithRule("pth.other-archive").Errorf("%s", other))
		}
		if folded != rest && isRecord(folded) {
			return a.fail(i, wire.ErrMismatch.WithRule("pth.case-twin").Errorf("torch reads it as the record %s: its reader ignores case", wire.Quote(folded)))
		}
		pickle = pickle || rest == recPickle
	}
	if !pickle {
		return a.fail(0, wire.ErrMissing.WithRule("pth.data-missing").Errorf("record data.pkl"))
	}
	for i := range a.Members {
		if a.Members[i].Method != zip.Store && !(a.program && isCode(a.Members[i].Name[len(a.prefix):])) {
			return a.fail(i, wire.ErrUnsupported.WithRule("pth.deflated").Errorf("deflated record: torch writes stored records, and its loader does not notice a broken stream"))
		}
	}
	return nil
}

// isRecord reports whether torch.save writes a record of this name.
func isRecord(rest string) bool {
	return rest == recPickle || rest == recID || strings.HasPrefix(rest, recData) || slices.Contains(smallRecords[:], rest)
}

// otherArchive returns the kind of archive that has a record of this name, given in lower
// case.
func otherArchive(rest string) string {
	switch {
	case rest == "constants.pkl", rest == "bytecode.pkl", strings.HasPrefix(rest, "code/"):
		return "TorchScript archive: it holds code"
	case rest == "archive_format", strings.HasPrefix(rest, "models/"), strings.HasPrefix(rest, "serialized_exported_program"):
		return "PT2 archive (torch.export): it holds a program"
	case rest == ".data/extern_modules", rest == ".data/python_version", strings.HasSuffix(rest, ".storage") && strings.HasPrefix(rest, ".data/"):
		return "torch.package archive: it holds code"
	default:
		return ""
	}
}

// sort classifies every member.
func (a *archive) sort(found *tensor.Findings) error {
	for i := range a.Members {
		rest := a.Members[i].Name[len(a.prefix):]
		if a.program && isCode(rest) {
			code, err := limits.Append(a.b, a.code, int32(i))
			if err != nil {
				return a.fail(i, err)
			}
			a.code = code
			continue
		}
		if key, ok := strings.CutPrefix(rest, a.dir); ok && key != "" {
			data, err := limits.Append(a.b, a.data, int32(i))
			if err != nil {
				return a.fail(i, err)
			}
			a.data = data
			if _, _, err := a.keys.Add(len(data) - 1); err != nil { // names are unique, so keys are
				return a.fail(i, err)
			}
			continue
		}
		if err := a.place(i, rest, found); err != nil {
			return err
		}
	}
	return nil
}

// place handles a member that is not a storage.
func (a *archive) place(i int, rest string, found *tensor.Findings) error {
	if rest == a.main {
		a.pickle = i
		return nil
	}
	for k, name := range smallRecords {
		if rest == name {
			a.small[k] = i
			if size := a.Members[i].Size; size == 0 || size > maxSmall {
				return a.fail(i, wire.ErrRange.WithRule("pth.record-size").Errorf("record of %d bytes", size))
			}
			return nil
		}
	}
	if rest == recID {
		return a.checkID(i)
	}
	return a.extraMember(i, found)
}

// checkID checks that the id has the digits that torch writes, since forty other bytes
// could be a pickle.
func (a *archive) checkID(i int) error {
	if size := a.Members[i].Size; size != idLen {
		return a.fail(i, wire.ErrRange.WithRule("pth.id-size").Errorf("serialization id of %d bytes, expected %d", size, idLen))
	}
	var id [idLen]byte
	r, _ := a.At(i)
	if err := wire.ReadFull(r, id[:], 0); err != nil {
		return a.fail(i, err)
	}
	if strings.Trim(string(id[:]), "0123456789") != "" {
		return a.fail(i, wire.ErrSyntax.WithRule("pth.id-syntax").Errorf("serialization id that is not a number"))
	}
	return nil
}

// maxExtra is the largest member accepted that torch.save does not write.
const maxExtra = 1 << 20

// extraMember judges a member that torch.save does not write: harmless content is a finding,
// and what could be a pickle, an archive or a model refuses the file.
func (a *archive) extraMember(i int, found *tensor.Findings) error {
	m := &a.Members[i]
	if a.judged {
		return found.Add(a.b, format, tensor.Finding{Code: codeMember, Severity: tensor.Danger, Where: a.where(i), Off: m.HeaderOff, Text: "torch.jit.save writes no such member"})
	}
	if a.b.Policy().RefuseUnknownMembers {
		return a.fail(i, wire.ErrForbidden.WithRule("pth.member-refused").Errorf("the policy refuses unknown members"))
	}
	what := ""
	if m.Size <= maxExtra {
		r, _ := a.At(i)
		var err error
		if what, err = polyglot.Harmless(a.b, r, m.Size); err != nil {
			return a.fail(i, err)
		}
	}
	if what == "" {
		strange, err := limits.Append(a.b, a.unexplained, int32(i))
		if err != nil {
			return a.fail(i, err)
		}
		a.unexplained = strange
		return nil
	}
	return found.Add(a.b, format, tensor.Finding{Code: "pth.extra-member", Severity: tensor.Warning, Where: a.where(i), Off: m.HeaderOff,
		Text: "torch.save writes no such member: it is " + what})
}

// refuseUnexplained refuses an archive for its first member without a known purpose.
func (a *archive) refuseUnexplained() error {
	if len(a.unexplained) == 0 {
		return nil
	}
	i := int(a.unexplained[0])
	var buf [SniffLen]byte
	head := buf[:min(a.Members[i].Size, SniffLen)]
	r, _ := a.At(i)
	if err := wire.ReadFull(r, head, 0); err != nil {
		return a.fail(i, err)
	}
	return a.fail(i, wire.ErrUnsupported.WithRule("pth.member-loadable").Errorf("torch.save writes no such member, but it could be loaded: %s", polyglot.Name(head)))
}

// readSmall reads version, byte order, format version and alignment.
func (a *archive) readSmall() error {
	if a.small[smallVersion] >= 0 && a.small[smallVersion6] >= 0 {
		return a.fail(a.small[smallVersion6], wire.ErrDuplicate.WithRule("pth.version-twice").Errorf("records version and .data/version: readers differ in which they use"))
	}
	if a.small[smallVersion] < 0 && a.small[smallVersion6] < 0 {
		return fail("", wire.NoOffset, wire.ErrMissing.WithRule("pth.version-missing").Errorf("record version"))
	}
	for k, i := range a.small {
		if i < 0 {
			continue
		}
		text, err := a.text(i)
		if err != nil {
			return err
		}
		if err := a.smallRecord(k, text); err != nil {
			return a.fail(i, err)
		}
	}
	return nil
}

// text reads a small record and verifies its checksum.
func (a *archive) text(i int) (string, error) {
	var p [maxSmall]byte
	r, err := a.Open(a.b, i)
	if err != nil {
		return "", err
	}
	defer r.Close()
	n, err := io.ReadFull(r, p[:a.Members[i].Size])
	if err != nil {
		return "", a.fail(i, err)
	}
	return string(p[:n]), nil
}

func (a *archive) smallRecord(kind int, text string) error {
	switch kind {
	case smallOrder:
		switch text {
		case "little":
		case "big":
			a.order = tensor.Big
		default:
			return wire.ErrRange.WithRule("pth.byte-order").Errorf("byte order %s is neither little nor big", wire.Quote(text))
		}
		return nil
	case smallVersion, smallVersion6:
		n, err := number(strings.TrimSuffix(text, "\n"))
		if err == nil && (n < 1 || n > maxVersion) {
			err = wire.ErrUnsupported.WithRule("pth.version-unknown").Errorf("version %d of the format; 1 to %d are known", n, maxVersion)
		}
		return err
	case smallFormat:
		n, err := number(text)
		if err == nil && n > maxFormat {
			err = wire.ErrUnsupported.WithRule("pth.layout-unknown").Errorf("record layout %d; 0 to %d are known", n, maxFormat)
		}
		return err
	default:
		n, err := number(text)
		if err == nil && n == 0 {
			err = wire.ErrRange.WithRule("pth.alignment-zero").Errorf("alignment 0")
		}
		return err
	}
}

// number parses decimal digits and nothing else, because Python's int() and C++'s stoull
// differ on everything else.
func number(text string) (int64, error) {
	n, err := strconv.ParseUint(text, 10, 31)
	if err != nil || text != strconv.FormatUint(n, 10) {
		return 0, wire.ErrSyntax.WithRule("pth.record-number").Errorf("%s is not a number", wire.Quote(text))
	}
	return int64(n), nil
}

// checkAlignment adds a finding if storages are not where torch's writer puts them:
// loaders that map the file may compute offsets instead of reading them.
func (a *archive) checkAlignment(found *tensor.Findings) error {
	i, align := a.small[smallAlignment], int64(defaultAlignment)
	if i >= 0 {
		text, err := a.text(i)
		if err != nil {
			return err
		}
		if align, err = number(text); err != nil {
			return a.fail(i, err)
		}
	}
	for _, m := range a.data {
		if at := a.Members[m].DataOff; at%align != 0 {
			return found.Add(a.b, format, tensor.Finding{Code: "pth.alignment", Severity: tensor.Note, Where: a.where(int(m)), Off: at,
				Text: "storage is not aligned to " + strconv.FormatInt(align, 10) + " bytes: the archive was written or packed again by another program"})
		}
	}
	return nil
}

// key returns the key of the k-th storage record.
func (a *archive) key(k int) string {
	return a.Members[a.data[k]].Name[len(a.prefix)+len(a.dir):]
}

func (a *archive) where(i int) string {
	return "member " + strconv.Itoa(i) + " " + wire.Quote(a.Members[i].Name)
}

func (a *archive) fail(i int, cause error) error {
	return fail(a.where(i), a.Members[i].HeaderOff, cause)
}

func fail(where string, off int64, cause error) error { return wire.At(format, where, off, cause) }
