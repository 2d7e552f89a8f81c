// Command goreleasercheck checks .goreleaser.yaml: the file decodes strictly
// into goreleaser's own types, so an unknown or misspelt field is an error; the
// targets are those that we promise; main packages and archived files exist;
// templates of names are well-formed and give each artifact a name of its own.
//
// It does not build and does not replace `goreleaser check`: goreleaser's program
// wants Go 1.27 since v2.18, and v2.17 some 270 modules for all the places it can
// publish to, one of which a module proxy has refused us. That the targets compile is
// what `make cross-build` shows.
//
// It is a module apart, so that none of goreleaser's dependencies is ours.
package main

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/goreleaser/goreleaser/v2/pkg/config"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: goreleasercheck .goreleaser.yaml")
		os.Exit(2)
	}
	problems, err := run(os.Args[1])
	if err != nil {
		fmt.Fprintln(os.Stderr, "goreleasercheck:", err)
		os.Exit(1)
	}
	for _, p := range problems {
		fmt.Fprintf(os.Stderr, "%s: %s\n", os.Args[1], p)
	}
	if len(problems) > 0 {
		os.Exit(1)
	}
	fmt.Printf("%s: fine\n", os.Args[1])
}

func run(name string) ([]string, error) {
	project, err := config.Load(name)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return check(project, os.DirFS(filepath.Dir(name))), nil
}
