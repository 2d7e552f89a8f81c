package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// columns and rows of the pictures: wide enough for all that a view has to say.
const (
	columns = 110
	rows    = 32
)

func main() {
	out := flag.String("out", filepath.Join("docs", "img"), "directory to write to")
	command := flag.String("command", "go run ./test/demo", "what to run in the terminal")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, *out, *command); err != nil {
		fmt.Fprintln(os.Stderr, "picture:", err)
		os.Exit(1) //nolint:gocritic // nothing is deferred but the signal
	}
}

// run plays the demo and takes the pictures.
func run(ctx context.Context, out, command string) (err error) {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Minute)
	defer cancel()
	t, err := start(ctx, command)
	if err != nil {
		return err
	}
	defer func() {
		if closeErr := t.close(); err == nil {
			err = closeErr
		}
	}()
	take := func(name, title string) error {
		screen, err := t.capture(ctx)
		if err != nil {
			return err
		}
		file := filepath.Join(out, name+".svg")
		fmt.Println("writing", file)
		return os.WriteFile(file, []byte(svg(screen, title)), 0o644)
	}
	// the pull has ended by then, and one pod crashes
	if _, err := t.await(ctx, "CrashLoopBackOff", "image not on the node", " 0 starting"); err != nil {
		return err
	}
	if err := take("overview", "The Overview: seven pods, what is slow and why, what is in trouble"); err != nil {
		return err
	}
	if err := t.press(ctx, "6"); err != nil {
		return err
	}
	for range 20 { // through the pods, to the one whose image was pulled
		text, err := t.await(ctx, "why: ")
		if err != nil {
			return err
		}
		if lines := strings.Split(text, "\n"); len(lines) > 2 && strings.Contains(lines[2], "big-demo") {
			break
		}
		if err := t.press(ctx, "]"); err != nil {
			return err
		}
	}
	if _, err := t.await(ctx, "big-demo", "image pull is the critical path"); err != nil {
		return err
	}
	if err := take("pod", "A pod's start as a waterfall: the image pull is the critical path"); err != nil {
		return err
	}
	return t.press(ctx, "q")
}
