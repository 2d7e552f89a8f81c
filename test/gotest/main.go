// Command gotest runs `go test -json` with its arguments and prints what a
// person or a CI wants of it: go test's line for each package, the whole output
// of what failed, what was skipped and why, and a last line that counts:
//
//	212 passed, 0 failed, 3 skipped
//
// Subtests count as tests. A package that fails without a failed test, for
// instance because it does not compile, counts as one failure. It exits as go
// test does. It runs no goroutines of its own.
package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
)

func main() {
	if err := run(os.Args[1:], os.Stdout); err != nil {
		var exit *exec.ExitError
		if errors.As(err, &exit) && exit.ExitCode() > 0 {
			os.Exit(exit.ExitCode())
		}
		fmt.Fprintln(os.Stderr, "gotest:", err)
		os.Exit(1)
	}
}

func run(args []string, out io.Writer) error {
	// An interrupt reaches go test too, which ends its tests; wait for that.
	signal.Notify(make(chan os.Signal, 1), os.Interrupt)
	cmd := exec.Command("go", append([]string{"test", "-json"}, args...)...)
	cmd.Stderr = os.Stderr
	events, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	s := newSummary(out)
	readErr := s.read(events)
	waitErr := cmd.Wait()
	if err := s.close(); err != nil {
		return err
	}
	switch {
	case waitErr != nil:
		return waitErr
	case readErr != nil:
		return readErr
	case s.failed > 0:
		return errors.New("tests failed, but go test did not say so")
	}
	return nil
}
