package pth

import (
	"fmt"
	"io"
	"strings"

	"github.com/anamnesis-go/anamnesis/internal/polyglot"
	"github.com/anamnesis-go/anamnesis/internal/torchcode"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
	"github.com/anamnesis-go/anamnesis/parser/zip"
	"github.com/anamnesis-go/anamnesis/vm"
)

// Findings about a program of TorchScript. Each says that torch.jit.load or a call of the program
// could do more than compute.
const (
	codeOperator = "pth.script-operator"
	codeClass    = "pth.script-class"
	codeState    = "pth.script-setstate"
	codeSyntax   = "pth.script-syntax"
	codeMember   = "pth.script-member"
	codeRuns     = "pth.script-runs" // if there is none of the others
)

// codes are the findings about each kind of problem of the code.
var codes = map[string]string{"operator": codeOperator, "name": codeOperator, "class": codeClass, "setstate": codeState, "syntax": codeSyntax}

// isProgram reports whether torch.load gives an archive to torch.jit.load: it has the constants of
// a program.
func (d *decoder) isProgram(z *zip.Archive) (bool, error) {
	if len(z.Members) == 0 {
		return false, nil
	}
	folder, _, _ := strings.Cut(z.Members[0].Name, "/")
	for i := range z.Members {
		if err := d.steps.Step(); err != nil {
			return false, err
		}
		if rest, ok := strings.CutPrefix(z.Members[i].Name, folder); ok && rest == "/"+recConstants {
			return true, nil
		}
	}
	return false, nil
}

// judgeProgram judges what torch.jit.load reads besides tensors: the code, which classes the objects
// of the pickles have, and the other members.
func (d *decoder) judgeProgram(a *archive) error {
	d.code = torchcode.New(d.b)
	for _, i := range a.code {
		if err := d.judgeMember(a, int(i), a.Members[i].Name[len(a.prefix):]); err != nil {
			return err
		}
	}
	problems, more, err := d.code.Problems()
	if err != nil {
		return err
	}
	for _, p := range problems {
		if err := d.danger(codes[p.Kind], fmt.Sprintf("%s, line %d", wire.Quote(p.File), p.Line), wire.NoOffset, p.Text); err != nil {
			return err
		}
	}
	if more > 0 {
		if err := d.danger(codeOperator, "code", wire.NoOffset, fmt.Sprintf("%d more problems of the code", more)); err != nil {
			return err
		}
	}
	root := d.out.graph.Root()
	if g := root.Global(); len(problems) == 0 && (root.Kind() != vm.KindObject || g == nil || !d.code.Defines(g.Module+"."+g.Name)) {
		return fail(recPickle, root.Off(), wire.ErrMismatch.WithRule("pth.script-root").Errorf("the root is not an object of a class of the program's code"))
	}
	if err := d.judgeGlobals(recPickle, d.out.graph); err != nil || d.endangered {
		return err
	}
	// Operators that only compute by their schemas read and write out of bounds all the same: with indices
	// that their kernels do not check, and addresses that a tensor holds.
	return d.danger(codeRuns, "code", wire.NoOffset, "its operators only compute, but torch does not check what all of them read and write")
}

func (d *decoder) danger(code, where string, off int64, said string) error {
	d.endangered = true
	return d.out.Found.Add(d.b, format, tensor.Finding{Code: code, Severity: tensor.Danger, Where: where, Off: off, Text: said})
}

// judgeMember judges a member of the program that has no tensors of it.
func (d *decoder) judgeMember(a *archive, i int, rest string) error {
	file, code := strings.CutPrefix(rest, "code/")
	switch module, py := strings.CutSuffix(file, ".py"); {
	case rest == recConstants, strings.HasPrefix(rest, recConstantsData), strings.HasPrefix(rest, "traced_inputs/"):
		return nil
	case code && py:
		src, err := a.content(i)
		if err != nil {
			return err
		}
		if err := d.code.Read(rest, strings.ReplaceAll(module, "/", "."), src); err != nil {
			return a.fail(i, err)
		}
		return nil
	case code && strings.HasSuffix(file, ".debug_pkl"), rest == "traced_inputs.pkl":
		return d.judgePickle(a, i, rest)
	}
	what := ""
	if m := &a.Members[i]; strings.HasPrefix(rest, "extra/") && m.Size <= maxExtra {
		text, err := a.content(i)
		if err == nil {
			what, err = polyglot.Harmless(d.b, strings.NewReader(text), m.Size)
		}
		if err != nil {
			return a.fail(i, err)
		}
	}
	if what != "" {
		return nil
	}
	return d.danger(codeMember, a.where(i), a.Members[i].HeaderOff, "a member that is not judged here")
}

// content reads a member as a text.
func (a *archive) content(i int) (string, error) {
	r, err := a.Open(a.b, i)
	if err != nil {
		return "", err
	}
	defer r.Close()
	buf, err := limits.Make[byte](a.b, int(a.Members[i].Size))
	if err == nil {
		_, err = io.ReadFull(r, buf)
	}
	if err != nil {
		return "", a.fail(i, err)
	}
	return limits.String(a.b, buf)
}

// judgePickle judges a pickle besides that of the model: it must be data.
func (d *decoder) judgePickle(a *archive, i int, rest string) error {
	src, err := a.content(i)
	if err != nil {
		return err
	}
	g, err := vm.LoadOpaque(d.b, strings.NewReader(src), 0, int64(len(src)))
	switch c := wire.ClassOf(err); {
	case c == wire.Limit || c == wire.Internal:
		return a.fail(i, err)
	case err != nil:
		return d.danger(codeMember, a.where(i), a.Members[i].HeaderOff, "a pickle that is not data: "+err.Error())
	case g.End() != int64(len(src)):
		return d.danger(codeMember, a.where(i), a.Members[i].HeaderOff, "bytes follow the pickle")
	}
	return d.judgeGlobals(rest, g)
}

// packed are the functions with which torch's pickler writes lists and the types of containers.
var packed = map[string]bool{"build_intlist": true, "build_tensorlist": true, "build_doublelist": true, "build_boollist": true, "restore_type_tag": true}

// judgeGlobals adds a finding for each class of a pickle that is neither data nor in the code.
func (d *decoder) judgeGlobals(name string, g *vm.Graph) error {
	more := 0
	for _, one := range g.Globals() {
		if one.Status == vm.Allowed || one.Module == "torch.jit._pickle" && packed[one.Name] || d.code.Defines(one.Module+"."+one.Name) {
			continue
		}
		if more++; more > maxUnread {
			continue
		}
		if err := d.danger(codeClass, name, one.Off, "the class "+wire.Quote(one.String())+" is not in the program's code"); err != nil {
			return err
		}
	}
	if more > maxUnread {
		return d.danger(codeClass, name, wire.NoOffset, fmt.Sprintf("%d more classes are not in the program's code", more-maxUnread))
	}
	return nil
}
