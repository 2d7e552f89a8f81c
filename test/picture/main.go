package main

import (
	"context"
	"errors"
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
	only := flag.String("only", "", "write only pictures whose names begin with this")
	bin := flag.String("bin", "", "a kubeloupe that is built already; unless given, the one of this work tree")
	gallery := flag.String("gallery", "", "write pictures of all views in all sizes and themes to this directory, and a moving one, from recordings alone: no cluster")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	paint := func() error { return run(ctx, *bin, &album{dir: *out, only: *only}) }
	if *gallery != "" {
		paint = func() error { return hang(ctx, *bin, &album{dir: *gallery, only: *only}) }
	}
	if err := paint(); err != nil {
		fmt.Fprintln(os.Stderr, "picture:", err)
		os.Exit(1) //nolint:gocritic // nothing is deferred but the signal
	}
}

// run plays the session and takes the pictures.
func run(ctx context.Context, bin string, to *album) (err error) {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Minute)
	defer cancel()
	s, err := raise(ctx, bin)
	if s != nil {
		defer func() { err = errors.Join(err, s.close()) }()
	}
	if err != nil {
		return err
	}
	for _, part := range []func(context.Context, *stage, *album) error{scripted, live, attached, printed, replayed} {
		if err := part(ctx, s, to); err != nil {
			return err
		}
	}
	return nil
}

// album is where pictures go.
type album struct{ dir, only string }

// add writes a screen, or lines, as a picture.
func (a *album) add(name, title, screen string) error {
	return a.write(name, []byte(svg(screen, title, columns, dark)))
}

func (a *album) write(name string, picture []byte) error {
	if !strings.HasPrefix(name, a.only) {
		return nil
	}
	file := filepath.Join(a.dir, name+".svg")
	fmt.Println("writing", file)
	return os.WriteFile(file, picture, 0o644)
}
