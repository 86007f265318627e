package serve_test

import (
	"context"
	"os"
	"os/exec"
	"testing"

	"github.com/anamnesis-go/anamnesis/cli"
	"github.com/anamnesis-go/anamnesis/cli/internal/serve"
)

// runAsProgram makes this test binary the program, for tests that need a service in a process.
const runAsProgram = "AMN_TEST_RUN"

func TestMain(m *testing.M) {
	io := cli.Stdio{In: os.Stdin, Out: os.Stdout, Err: os.Stderr}
	switch {
	case len(os.Args) > 1 && os.Args[1] == "judge-one": // a child of serve --isolate, with bugs
		serve.Misjudge()
		io.OwnProcess = true
		os.Exit(cli.Main(context.Background(), os.Args[1:], io))
	case os.Getenv(runAsProgram) != "":
		os.Exit(cli.Main(context.Background(), os.Args[1:], io))
	}
	os.Exit(m.Run())
}

// process returns a run of the program.
func process(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), self, args...)
	cmd.Env = append(os.Environ(), runAsProgram+"=1")
	return cmd
}

func write(t *testing.T, path, data string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(data), 0o600); err != nil {
		t.Fatal(err)
	}
}

const (
	// runsCode is a pickle that calls os.system.
	runsCode = "cos\nsystem\n(S'id'\ntR."
	// emptyTensor is a safetensors file without tensors.
	emptyTensor = "\x02\x00\x00\x00\x00\x00\x00\x00{}"
)
