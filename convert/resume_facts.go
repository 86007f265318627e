package convert

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/anamnesis-go/anamnesis/internal/journal"
	"github.com/anamnesis-go/anamnesis/internal/stamp"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser"
)

// otherJob is the error about the journal of another conversion: it says what differs.
func otherJob(d *journal.Differs) error {
	text := ""
	for i := 0; i < len(d.Was); i++ {
		if i == 3 {
			text += fmt.Sprintf("; and %d more", len(d.Was)-i)
			break
		}
		if d.Now[i].Name == layoutFact {
			text += "; the " + layoutFact + " is another"
			continue
		}
		now, was := factTexts(d.Now[i].Value, d.Was[i].Value)
		text += fmt.Sprintf("; %s is %s, and was %s", wire.Quote(d.Now[i].Name), now, was)
	}
	return wire.ErrUsage.Errorf("the unfinished output there belongs to another job%s: repeat that job to resume it, or leave out %s to remove it", text, wire.OptionResume)
}

// layoutFact names the digest of what the plan will do.
const layoutFact = "layout of the output"

// factTexts returns two values as the error quotes them. Where quotes end before the values differ, such
// as two times of one file, those are from the statement on that differs.
func factTexts(now, was string) (string, string) {
	if factText(now) != factText(was) {
		return factText(now), factText(was)
	}
	same := 0
	for same < min(len(now), len(was)) && now[same] == was[same] {
		same++
	}
	from := same
	if at := strings.LastIndex(now[:same], ", "); at >= 0 {
		from = at + len(", ")
	}
	return factText(now[from:]), factText(was[from:])
}

func factText(value string) string {
	if value == "" {
		return "not given"
	}
	return wire.Quote(value)
}

// facts returns all that the output depends on, in order.
func (p *Plan) facts() ([]journal.Fact, error) {
	var list []journal.Fact
	var failed error
	add := func(name, value string) {
		if failed == nil {
			failed = errors.Join(p.b.Step(1), p.b.Hold(int64(len(name)+len(value))))
		}
		if failed == nil {
			list, failed = limits.Append(p.b, list, journal.Fact{Name: name, Value: value})
		}
	}
	for name, value := range p.o.Resume.Job {
		if err := p.b.Step(1); err != nil {
			return nil, err
		}
		add(name, value)
	}
	seen := map[string]bool{} // files of the model, each of which is open
	parser.Stamps(p.m, stamp.Of, func(name, text string) {
		if text == "" && failed == nil {
			failed = wire.ErrUnsupported.Errorf("file %s: its source states nothing that identifies its content, so the job cannot be resumed: download it first, or leave %s out", wire.Quote(name), wire.OptionResume)
		}
		if key := name + "\n" + text; !seen[key] {
			seen[key] = true
			add("input "+name, text)
		}
	})
	if failed != nil {
		return nil, failed
	}
	slices.SortFunc(list, func(a, b journal.Fact) int { return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.Value, b.Value)) })
	layout, err := p.fingerprint()
	if err != nil {
		return nil, err
	}
	add(layoutFact, layout)
	return list, failed
}

// fingerprint digests what the plan will do: the files, where their tensors are, the known
// bytes around them, and the tasks with their ranges.
func (p *Plan) fingerprint() (string, error) {
	h := sha256.New()
	fmt.Fprintf(h, "%s %d %d\n", p.sink.Name(), p.tile, len(p.Files))
	for i := range p.Files {
		f := &p.Files[i]
		fmt.Fprintf(h, "file %q %d %d\n", f.Name, f.Size, len(f.layout.Head))
		for _, patch := range f.layout.Head {
			if err := p.b.Step(1); err != nil {
				return "", err
			}
			fmt.Fprintf(h, "%d %d\n", patch.Off, len(patch.Data))
			h.Write(patch.Data)
		}
	}
	for i := range p.Outs {
		o := &p.Outs[i]
		if err := p.b.Step(1); err != nil {
			return "", err
		}
		fmt.Fprintf(h, "out %q %v %v %d %d %d\n", o.Name, o.DType, o.Shape, o.Size, o.file, o.off)
	}
	for _, t := range p.tasks {
		if err := p.b.Step(1); err != nil {
			return "", err
		}
		out, off := t.first()
		fmt.Fprintf(h, "task %T %q %d %d %d %d\n", t, t.name(), t.units(), t.whole(), out, off)
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}
