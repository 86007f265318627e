package simulated

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// Verdicts counts what was said of a population.
type Verdicts struct {
	Repos, Files, Hostile, Accepted, Refused int
	Bytes                                    int64 // the sizes of all files
}

// Compare reads what amn-hub run --json prints. An error is a hostile repository that is accepted, or an
// honest one that is refused although it names no class of a library.
func (p *Population) Compare(r io.Reader) (out Verdicts, err error) {
	lines := bufio.NewReaderSize(r, 1<<20)
	for {
		line, err := lines.ReadBytes('\n')
		if err == io.EOF && len(line) == 0 {
			return out, nil
		}
		if err != nil {
			return out, err
		}
		var v struct {
			Repo     string `json:"repo"`
			Class    string `json:"class"`
			Accepted bool   `json:"accepted"`
		}
		if err := json.Unmarshal(line, &v); err != nil {
			return out, err
		}
		number, err := strconv.Atoi(strings.TrimPrefix(v.Repo, Owner+"/r"))
		if err != nil {
			return out, fmt.Errorf("%s is no repository of this hub", v.Repo)
		}
		repo := p.Repo(number)
		switch {
		case repo.Hostile && v.Accepted:
			return out, fmt.Errorf("%s is hostile and accepted", v.Repo)
		case repo.Hostile:
			out.Hostile++
		case !v.Accepted && repo.kind != picklesModel:
			return out, fmt.Errorf("%s is honest and refused: %s", v.Repo, v.Class)
		}
		if v.Accepted {
			out.Accepted++
		} else {
			out.Refused++
		}
		out.Repos++
		for _, f := range repo.Files() {
			out.Files++
			out.Bytes += f.Size()
		}
	}
}
