// Command vulncheck runs govulncheck on packages where the database of vulnerabilities can be had: $GOVULNDB, or Go's own. Where it
// cannot, as without the internet, it says so and is content; with a database, a vulnerability in code that is called is an error.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"os/signal"
	"time"
)

// tool is the program, at a version that the module proxy has.
const tool = "golang.org/x/vuln/cmd/govulncheck@v1.8.0"

// database is Go's own.
const database = "https://vuln.go.dev"

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Getenv("GOVULNDB"), os.Args[1:], os.Stdout); err != nil {
		if exit, ok := errors.AsType[*exec.ExitError](err); ok && exit.ExitCode() > 0 {
			os.Exit(exit.ExitCode()) //nolint:gocritic // nothing is deferred but the signal
		}
		fmt.Fprintln(os.Stderr, "vulncheck:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, db string, packages []string, out io.Writer) error {
	if db == "" {
		db = database
	}
	if err := reach(ctx, db); err != nil {
		_, err = fmt.Fprintf(out, "skipped: the database of vulnerabilities cannot be had here (GOVULNDB may name another): %v\n", err)
		return err
	}
	args := append([]string{"run", tool, "-db", db}, packages...)
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Stdout, cmd.Stderr = out, os.Stderr
	// The tool is of another module; what it runs, go list, gets the caller's flags by GOFLAGS too, and needs none.
	cmd.Env = append(os.Environ(), "GOFLAGS=")
	return cmd.Run()
}

// reach is nil where a database answers. One on disk is govulncheck's to judge.
func reach(ctx context.Context, db string) error {
	u, err := url.Parse(db)
	if err != nil || u.Scheme == "file" {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodHead, u.JoinPath("index/db.json").String(), nil)
	if err != nil {
		return err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	_ = resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("%s answers %s", req.URL, resp.Status)
	}
	return nil
}
