package nodelogs

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"time"
)

const (
	// program reads the journal.
	program = "journalctl"
	// maxUnits is how much of the list of units is read, in bytes.
	maxUnits = 4 << 20
	// maxErrors is how much of what journalctl prints as errors is returned, in bytes.
	maxErrors = 16 << 10
	// waitDelay is how long journalctl may take to end after it was killed.
	waitDelay = time.Second
)

// args returns the arguments of journalctl for some services. Each value is one argument with its option, so that no value is an option.
func (o *Options) args(services []string) []string {
	out := []string{"--utc", "--no-pager", "--output=short-precise"}
	if o.Since != nil {
		out = append(out, fmt.Sprintf("--since=@%d", o.Since.Unix())) // upstream has the time without its zone
	}
	if o.Until != nil {
		out = append(out, fmt.Sprintf("--until=@%d", o.Until.Unix()))
	}
	if o.Tail != nil {
		out = append(out, fmt.Sprintf("--lines=%d", *o.Tail))
	}
	for _, s := range services {
		out = append(out, "--unit="+s)
	}
	if o.Pattern != "" {
		out = append(out, "--grep="+o.Pattern)
	}
	if o.Boot != nil {
		out = append(out, fmt.Sprintf("--boot=%d", *o.Boot))
	}
	return out
}

// journaled reports which of some services have lines in the journal. None do on a node without journalctl.
func (h *Handler) journaled(ctx context.Context, services []string) map[string]bool {
	found := map[string]bool{}
	_ = h.run(ctx, []string{"--field=_SYSTEMD_UNIT"}, func(out io.Reader) error {
		lines := bufio.NewScanner(io.LimitReader(out, maxUnits))
		for lines.Scan() {
			for _, s := range services {
				if unit := lines.Text(); unit == s+".service" || unit == s {
					found[s] = true
				}
			}
		}
		return lines.Err()
	})
	return found
}

// run runs journalctl and has read read what it prints. An exit status other than 0 is no error: what it printed about that is returned by
// errors.
func (h *Handler) run(ctx context.Context, args []string, read func(io.Reader) error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	cmd := exec.CommandContext(ctx, h.cfg.Program, args...)
	cmd.Env = append(os.Environ(), "LC_ALL=C.UTF-8", "SYSTEMD_COLORS=0", "SYSTEMD_URLIFY=0")
	cmd.WaitDelay = waitDelay
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	failed := &head{left: maxErrors}
	cmd.Stderr = failed
	if err := cmd.Start(); err != nil {
		return err
	}
	err = read(out)
	if err != nil || ctx.Err() != nil {
		cancel()
	}
	_ = out.Close() // what was not read cannot be printed, and must not block it
	_ = cmd.Wait()  // its exit status says less than what it printed
	if err == nil && len(failed.text) > 0 {
		err = &printedError{string(failed.text)}
	}
	return err
}

// printedError is what journalctl printed as errors.
type printedError struct{ text string }

// Error implements error.
func (e *printedError) Error() string { return e.text }

// head keeps the first bytes that are written to it.
type head struct {
	text []byte
	left int
}

// Write implements io.Writer.
func (h *head) Write(p []byte) (int, error) {
	n := min(len(p), h.left)
	h.text, h.left = append(h.text, p[:n]...), h.left-n
	return len(p), nil
}
